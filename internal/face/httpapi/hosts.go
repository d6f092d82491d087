package httpapi

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
)

// hosts are the names under which this server is asked. A page elsewhere can give our
// address a name of its own (DNS rebinding); then the Host header has that name.
type hosts map[string]host

// host says by which schemes a name is reached: a name of the user's may stand before a
// proxy that speaks TLS.
type host struct{ given bool }

func newHosts(addr net.Addr, given []string) hosts {
	out, port := hosts{}, portOf(addr)
	add := func(name string, h host) {
		out[strings.ToLower(net.JoinHostPort(name, port))] = h
		if port == "80" {
			out[strings.ToLower(bracket(name))] = h
		}
	}
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		add(name, host{})
	}
	if own, _, err := net.SplitHostPort(addr.String()); err == nil {
		if ip := net.ParseIP(own); ip != nil && !ip.IsUnspecified() {
			add(own, host{})
		}
	}
	for _, name := range given {
		if _, _, err := net.SplitHostPort(name); err == nil {
			out[strings.ToLower(name)] = host{true}
			continue
		}
		name = strings.Trim(name, "[]")
		add(name, host{true})
		out[strings.ToLower(bracket(name))] = host{true}
	}
	return out
}

func bracket(name string) string {
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}

// CheckHost refuses what cannot be a name in a Host header.
func CheckHost(name string) error {
	u, err := url.Parse("http://" + name)
	if err != nil || u.Host != name || name == "" || strings.ContainsAny(name, "*@ /\\") {
		return fault.New(fault.Usage, "%.80q is not a name of a host", name).WithHint("write NAME or NAME:PORT, as browsers will")
	}
	return nil
}

// check refuses a request that is meant for another host, or comes from a page of
// another origin.
func (h hosts) check(r *http.Request) error {
	at, ok := h[strings.ToLower(r.Host)]
	if !ok {
		return Refuse(http.StatusForbidden, codeForeignHost,
			"the Host of the request is not one of this server: add it with `ramet serve --host`")
	}
	crossed := Refuse(http.StatusForbidden, codeCrossOrigin, "requests of pages of another origin are refused")
	// A browser says where a request comes from; same-site is not enough, because all
	// ports of one host are one site.
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return crossed
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		own := strings.EqualFold(origin, "http://"+r.Host) || at.given && strings.EqualFold(origin, "https://"+r.Host)
		if !own {
			return crossed
		}
	}
	return nil
}

// checkChange refuses a change that a browser asks for without saying from where.
func (h hosts) checkChange(r *http.Request, by sender) error {
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	if safe || by == holder || by == process || r.Header.Get("Origin") != "" {
		return nil
	}
	return Refuse(http.StatusForbidden, codeCrossOrigin, "a change with a session needs an Origin")
}

func portOf(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return strconv.Itoa(tcp.Port)
	}
	_, port, _ := net.SplitHostPort(addr.String())
	return port
}
