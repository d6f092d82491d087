package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ramet/internal/testkit"
)

// stage is a proxy with a network of its own: names resolve as the test says, and every dialled address leads to
// one server.
type stage struct {
	*testing.T
	proxy   *Proxy
	at      string // of the proxy
	mu      sync.Mutex
	names   map[string][]string // to addresses; those after "then" at later lookups
	dialled []string
	asked   []string
	refuse  string // a part of hosts that are not permitted
	seen    chan *http.Request
}

func newStage(t *testing.T) *stage {
	s := &stage{T: t, names: map[string][]string{"a.test": {"8.8.8.8"}}, refuse: "refused", seen: make(chan *http.Request, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seen <- r
		io.Copy(w, r.Body)
		io.WriteString(w, "hello from "+r.Host)
	}))
	t.Cleanup(server.Close)
	s.proxy = New(t.Context(), Options{
		Permit: func(_ context.Context, to string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked = append(s.asked, to)
			if strings.Contains(to, s.refuse) {
				return errors.New("network to " + to + " was not permitted")
			}
			return nil
		},
		Named: func(_ context.Context, to netip.AddrPort) bool { return to.String() == "10.0.0.5:8080" },
		Resolve: func(_ context.Context, host string) (out []netip.Addr, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for i, a := range s.names[host] {
				if a == "then" {
					s.names[host] = s.names[host][i+1:]
					return out, nil
				}
				out = append(out, netip.MustParseAddr(a))
			}
			if out == nil {
				err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return out, err
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			s.mu.Lock()
			s.dialled = append(s.dialled, to.String())
			s.mu.Unlock()
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}})
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.at = l.Addr().String()
	s.proxy.Serve(l)
	t.Cleanup(func() { s.proxy.Close() })
	return s
}

// client uses the proxy as programs do.
func (s *stage) client(password string) *http.Client {
	through := &url.URL{Scheme: "http", Host: s.at, User: url.UserPassword("ramet", password)}
	t := &http.Transport{Proxy: http.ProxyURL(through)}
	s.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}

// say sends bytes and returns the first line of the answer.
func (s *stage) say(request string) string {
	s.Helper()
	conn := testkit.Must(net.Dial("tcp", s.at))(s)
	defer conn.Close()
	testkit.Must(io.WriteString(conn, request))(s)
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

func (s *stage) authority() string {
	r, _ := http.NewRequest("GET", "http://x", nil)
	r.SetBasicAuth("ramet", s.proxy.password)
	return "Proxy-Authorization: " + r.Header.Get("Authorization") + "\r\n"
}

// connect asks for a tunnel.
func (s *stage) connect(to string) string {
	s.Helper()
	return s.say("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n" + s.authority() + "\r\n")
}

func TestRequestsReachTheHostThatWasPermitted(t *testing.T) {
	s := newStage(t)
	answer := testkit.Must(s.client(s.proxy.password).Post("http://A.test./path?q", "text/plain", strings.NewReader("body, ")))(t)
	defer answer.Body.Close()
	if body := testkit.Must(io.ReadAll(answer.Body))(t); !strings.HasPrefix(string(body), "body, hello from A.test") {
		t.Errorf("%q", body)
	}
	r := <-s.seen
	if r.RequestURI != "/path?q" || r.Header.Get("Proxy-Authorization") != "" || r.Header.Get("X-Forwarded-For") != "" {
		t.Errorf("%s %v", r.RequestURI, r.Header)
	}
	// The URL decides, not the header.
	if got := s.say("GET http://a.test/x HTTP/1.1\r\nHost: refused.test\r\n" + s.authority() + "Connection: close\r\n\r\n"); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	if r := <-s.seen; r.Host != "a.test" {
		t.Errorf("the server was asked for %s", r.Host)
	}
	testkit.Attack(t, "network", "proxy: a Host header that differs")
	if got := s.connect("a.test:443"); got != "HTTP/1.1 200 Connection established" {
		t.Error(got)
	}
	if strings.Join(s.asked, " ") != "a.test:80" { // one question for both of the usual ports
		t.Error(s.asked)
	}
	if notes := s.proxy.Close(); strings.Join(notes, "; ") != "network: a.test" {
		t.Errorf("%q", notes)
	}
}

func TestATunnelCarriesBothWays(t *testing.T) {
	s := newStage(t)
	conn := testkit.Must(net.Dial("tcp", s.at))(t)
	defer conn.Close()
	// What is sent together with the request is not lost.
	testkit.Must(io.WriteString(conn, "CONNECT a.test:80 HTTP/1.1\r\n"+s.authority()+"\r\nPOST / HTTP/1.1\r\nHost: inner\r\nConnection: close\r\nContent-Length: 300000\r\n\r\n"))(t)
	go conn.Write(bytes.Repeat([]byte("x"), 300000))
	got := testkit.Must(io.ReadAll(conn))(t)
	if !bytes.HasPrefix(got, []byte("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\n")) || bytes.Count(got, []byte("x")) < 300000 || !bytes.Contains(got, []byte("hello from inner")) {
		t.Errorf("%d bytes: %.200q", len(got), got)
	}
}

func TestOnlyPublicAddressesAreDialled(t *testing.T) {
	for name, c := range map[string]struct {
		to      string
		found   []string
		dialled string // at all requests; empty: none
	}{
		"public":                         {"a.test:443", []string{"8.8.8.8"}, "8.8.8.8:443 8.8.8.8:443"},
		"loopback":                       {"a.test:443", []string{"127.0.0.1"}, ""},
		"loopback as IPv6":               {"a.test:443", []string{"::ffff:127.0.0.1", "::1"}, ""},
		"private":                        {"a.test:443", []string{"10.0.0.5", "192.168.0.1", "fd00::1"}, ""},
		"link-local, metadata":           {"a.test:80", []string{"169.254.169.254", "fe80::1"}, ""},
		"multicast":                      {"a.test:80", []string{"224.0.0.1", "ff02::1"}, ""},
		"both":                           {"a.test:443", []string{"127.0.0.1", "8.8.4.4", "10.0.0.1"}, "8.8.4.4:443 8.8.4.4:443"},
		"the second answer is private":   {"a.test:443", []string{"8.8.8.8", "then", "127.0.0.1"}, "8.8.8.8:443"},
		"an address that is not public":  {"127.0.0.1:443", nil, ""},
		"the metadata service":           {"169.254.169.254:80", nil, ""},
		"an IPv6 address":                {"[::1]:443", nil, ""},
		"a rule for the address":         {"10.0.0.5:8080", nil, "10.0.0.5:8080 10.0.0.5:8080"},
		"a rule, and another port":       {"10.0.0.5:8081", nil, ""},
		"a rule for what a name means":   {"a.test:8080", []string{"10.0.0.5"}, "10.0.0.5:8080 10.0.0.5:8080"},
		"an IPv4 address of fewer parts": {"127.1:443", []string{"8.8.8.8"}, ""},
		"one in other notations":         {"0x7f000001:443", []string{"8.8.8.8"}, ""},
		"a name that is none":            {"a_b..test:443", []string{"8.8.8.8"}, ""},
		"a port that is none":            {"a.test:0", []string{"8.8.8.8"}, ""},
		"a port with zeros":              {"a.test:0443", []string{"8.8.8.8"}, "8.8.8.8:443 8.8.8.8:443"},
		"a zone":                         {"[fe80::1%25lo]:443", nil, ""},
	} {
		s := newStage(t)
		s.names["a.test"] = c.found
		for range 2 {
			if got := s.connect(c.to); strings.Contains(got, "200") && c.dialled == "" || got == "" {
				t.Errorf("%s: %s", name, got)
			}
		}
		if got := strings.Join(s.dialled, " "); got != c.dialled {
			t.Errorf("%s: dialled %q, want %q", name, got, c.dialled)
		}
		if c.dialled == "" || name == "both" || strings.Contains(name, "second") {
			testkit.Attack(t, "network", "proxy: "+name)
		}
	}
}

func TestNothingIsResolvedBeforeItIsPermitted(t *testing.T) {
	s := newStage(t)
	for range 3 {
		if got := s.connect("refused.test:443"); got != "HTTP/1.1 403 Forbidden" {
			t.Error(got)
		}
	}
	if len(s.dialled) > 0 || len(s.asked) != 1 {
		t.Error(s.dialled, s.asked)
	}
	testkit.Attack(t, "network", "proxy: resolve a name that is not permitted")
	if got := s.connect("none.test:443"); got != "HTTP/1.1 502 Bad Gateway" {
		t.Error(got)
	}
	notes := s.proxy.Close()
	if len(notes) != 3 || notes[0] != "network: none.test" || notes[1] != "network to refused.test:443 was not permitted" || !strings.Contains(notes[2], "network to none.test:443 failed: lookup none.test: no such host") {
		t.Errorf("%q", notes)
	}
}

// Another command's password, none, and what is no request for a proxy.
func TestOnlyTheCommandIsServed(t *testing.T) {
	s, other := newStage(t), newStage(t)
	theirs := other.authority()
	for request, want := range map[string]string{
		"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n":                                           "HTTP/1.1 407 Proxy Authentication Required",
		"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n" + theirs + "\r\n":                             "HTTP/1.1 407 Proxy Authentication Required",
		"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n" + theirs + "\r\n":                             "HTTP/1.1 407 Proxy Authentication Required",
		"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nProxy-Authorization: Basic !\r\n\r\n":           "HTTP/1.1 407 Proxy Authentication Required",
		"GET / HTTP/1.1\r\nHost: a.test\r\n" + s.authority() + "\r\n":                                   "HTTP/1.1 400 Bad Request",
		"GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n" + s.authority() + "\r\n":                     "HTTP/1.1 400 Bad Request",
		"GET file:///etc/passwd HTTP/1.1\r\nHost: a.test\r\n" + s.authority() + "\r\n":                  "HTTP/1.1 400 Bad Request",
		"CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n" + s.authority() + "\r\n":                          "HTTP/1.1 502 Bad Gateway",
		"\x16\x03\x01\x02\x00\r\n\r\n":                                                                  "HTTP/1.1 400 Bad Request",
		"GET http://a.test/ HTTP/1.1\r\nX: " + strings.Repeat("x", 80<<10) + s.authority() + "\r\n\r\n": "HTTP/1.1 431 Request Header Fields Too Large",
	} {
		if got := s.say(request); got != want {
			t.Errorf("%.60q: %q, want %q", request, got, want)
		}
		line, _, _ := strings.Cut(request, "\r\n")
		testkit.Attack(t, "network", fmt.Sprintf("proxy: %s (%s)", line, want[9:]))
	}
	if len(s.dialled)+len(s.asked) > 0 {
		t.Error(s.dialled, s.asked)
	}
}

// Connections for one host wait for one answer, beside those for others. Close withdraws the question.
func TestAQuestionIsAskedOnceAndWithdrawn(t *testing.T) {
	s := newStage(t)
	asked, withdrawn := make(chan string, 10), make(chan error, 10)
	next := s.proxy.o.Permit
	s.proxy.o.Permit = func(ctx context.Context, to string) error {
		if to != "slow.test:443" {
			return next(ctx, to)
		}
		asked <- to
		<-ctx.Done()
		withdrawn <- ctx.Err()
		return ctx.Err()
	}
	var conns []net.Conn
	for range 5 {
		conn := testkit.Must(net.Dial("tcp", s.at))(t)
		defer conn.Close()
		fmt.Fprintf(conn, "CONNECT slow.test:443 HTTP/1.1\r\n%s\r\n", s.authority())
		conns = append(conns, conn)
	}
	<-asked
	if got := s.connect("a.test:443"); !strings.Contains(got, "200") {
		t.Error(got)
	}
	if notes := s.proxy.Close(); strings.Join(notes, "; ") != "network: a.test" {
		t.Errorf("%q", notes)
	}
	<-withdrawn
	for _, conn := range conns {
		io.Copy(io.Discard, conn) // ends
	}
	if len(asked) > 0 || len(withdrawn) > 0 {
		t.Error("it was asked more than once")
	}
}

// A flood of connections waits for room, and everything is closed in the end: tunnels, idle ones, silent ones.
func TestAFloodIsBoundedAndEnds(t *testing.T) {
	s := newStage(t)
	var open atomic.Int64
	dial := s.proxy.o.Dial
	s.proxy.o.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		open.Add(1)
		return dial(ctx, to)
	}
	const many = maxConnections + 50
	conns := make([]net.Conn, many)
	for i := range conns {
		conns[i] = testkit.Must(net.Dial("tcp", s.at))(t)
		fmt.Fprintf(conns[i], "CONNECT a.test:443 HTTP/1.1\r\n%s\r\n", s.authority())
	}
	testkit.WaitUntil(t, "as many tunnels as there may be", func() bool { return open.Load() == maxConnections })
	conns[0].Close()
	testkit.WaitUntil(t, "one that waited", func() bool { return open.Load() == maxConnections+1 })
	s.proxy.Close()
	for _, conn := range conns[1:] {
		io.Copy(io.Discard, conn) // ends
		conn.Close()
	}
	if n := len(s.proxy.room); n != 0 {
		t.Errorf("%d connections are open", n)
	}
	if _, err := net.Dial("tcp", s.at); err == nil {
		t.Error("it still listens")
	}
	testkit.Attack(t, "network", "proxy: a flood of tunnels")
}

func TestTheEnvironmentHasOneProxy(t *testing.T) {
	p := New(t.Context(), Options{})
	defer p.Close()
	got := p.Environment([]string{"PATH=/bin", "https_proxy=http://theirs", "NO_PROXY=*", "X=HTTP_PROXY=1"}, "127.0.0.1:1")
	all := "\n" + strings.Join(got, "\n") + "\n"
	for _, want := range []string{"PATH=/bin", "X=HTTP_PROXY=1", "HTTP_PROXY=http://ramet:" + p.password + "@127.0.0.1:1", "NO_PROXY=localhost,127.0.0.1,::1", "https_proxy=http://ramet:" + p.password + "@127.0.0.1:1"} {
		if strings.Count(all, "\n"+want+"\n") != 1 {
			t.Errorf("%s is not there once: %s", want, all)
		}
	}
	if strings.Contains(all, "theirs") || len(p.password) < 20 {
		t.Error(all)
	}
}
