// Package proxy lets a confined command reach the hosts that are permitted for it, by name.
//
// It is an HTTP proxy (CONNECT, and requests with a whole URL) behind a listener in the command's own network
// (sandbox.Box.Listen). It promises:
//
//   - Nothing is resolved or dialled before Options.Permit said yes to the host and port. Requests for one host wait
//     for one answer, which holds as long as the command runs.
//   - A name is resolved once for each connection, and exactly the checked addresses are dialled: those that are not
//     public only if Options.Named says so, whatever the name resolves to the next time.
//   - Only requests with the password of the command are answered.
//   - What passes is neither kept nor changed, but for the headers of a proxy. Hosts, ports and failures are (Close).
//   - Connections, bytes and the time without any are bounded. Nothing is open after Close.
package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/text"
)

// The bounds of one command.
const (
	maxConnections = 256
	maxBytes       = 16 << 30 // both ways, together
	maxHosts       = 200      // that are asked about or noted
	maxNotes       = 10
	idleTime       = 10 * time.Minute
	headerTime     = 30 * time.Second
	dialTime       = 20 * time.Second
)

// Options connect a proxy to what decides, and to the network.
type Options struct {
	// Permit permits a host and port (HOST:PORT), or says why not in a sentence. It may take long; ctx ends with the proxy.
	Permit func(ctx context.Context, to string) error
	// Named reports whether a rule names exactly this address, which then need not be public. nil: none does.
	Named func(ctx context.Context, to netip.AddrPort) bool
	// Resolve and Dial are for tests; nil: those of the machine.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// Proxy serves one command.
type Proxy struct {
	o        Options
	password string
	server   *http.Server
	onward   *http.Transport
	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	work     sync.WaitGroup
	room     chan struct{} // has an element for each connection
	bytes    atomic.Int64

	mu      sync.Mutex
	asked   map[string]*answer
	reached []string
	failed  []string
	closed  bool
}

// answer holds the decision about a host; err counts when decided is closed.
type answer struct {
	decided chan struct{}
	err     error
}

// New returns a proxy that serves nothing yet. Questions and connections end with ctx, too.
func New(ctx context.Context, o Options) *Proxy {
	p := &Proxy{o: o, password: rand.Text(), asked: map[string]*answer{}, room: make(chan struct{}, maxConnections)}
	p.ctx, p.stop = context.WithCancel(ctx)
	p.onward = &http.Transport{DialContext: func(ctx context.Context, _, to string) (net.Conn, error) { return p.dial(ctx, to) },
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 1 << 20}
	quiet := log.New(io.Discard, "", 0)
	forward := &httputil.ReverseProxy{Transport: p.onward, ErrorLog: quiet, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			if _, named := r.In.Header["User-Agent"]; !named {
				r.Out.Header["User-Agent"] = nil // or the library would add its own
			}
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { p.fail(w, r.URL.Host, err) }}
	p.server = &http.Server{ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10, ErrorLog: quiet,
		BaseContext: func(net.Listener) context.Context { return p.ctx },
		Handler:     http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, forward) })}
	return p
}

// Serve answers the connections of a listener, and returns at once.
func (p *Proxy) Serve(l net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.Close()
		return
	}
	p.work.Go(func() { _ = p.server.Serve(&bounded{Listener: l, proxy: p}) })
}

// Close ends all connections and questions, and returns what is to be said about them, in lines. A nil Proxy has none.
func (p *Proxy) Close() (notes []string) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	_ = p.server.Close()
	p.onward.CloseIdleConnections()
	p.work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.reached) > 0 {
		notes = append(notes, "network: "+listHosts(p.reached))
	}
	notes = append(notes, p.failed[:min(len(p.failed), maxNotes)]...)
	if n := len(p.failed) - maxNotes; n > 0 {
		notes = append(notes, fmt.Sprintf("and %d more failures of the network", n))
	}
	return notes
}

func listHosts(hosts []string) string {
	if n := len(hosts) - maxNotes; n > 0 {
		return strings.Join(hosts[:maxNotes], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(hosts, ", ")
}

// Environment returns an environment in which programs use the proxy.
func (p *Proxy) Environment(env []string, at string) []string {
	to := "http://ramet:" + p.password + "@" + at
	set := map[string]string{"NODE_USE_ENV_PROXY": "1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		set[name], set[strings.ToLower(name)] = to, to
	}
	// These programs have settings that count more than the variables above.
	for _, name := range []string{"npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "PIP_PROXY", "CARGO_HTTP_PROXY"} {
		set[name] = to
	}
	const own = "localhost,127.0.0.1,::1"
	set["NO_PROXY"], set["no_proxy"], set["npm_config_noproxy"] = own, own, own
	out := slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, ours := set[name]
		return ours
	})
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	slices.Sort(out[len(out)-len(set):])
	return out
}

// begin counts work that Close waits for; false: it is too late.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Add(1)
	}
	return !p.closed
}

// serve answers one request.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if !p.begin() {
		return
	}
	defer p.work.Done()
	if !p.hasPassword(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="ramet"`)
		http.Error(w, "this proxy is for one command of ramet, which has its password in HTTP_PROXY", http.StatusProxyAuthRequired)
		return
	}
	connect := r.Method == http.MethodConnect
	if !connect && (r.URL.Scheme != "http" || r.URL.Host == "") {
		http.Error(w, "ramet's proxy takes CONNECT, and requests with a whole http:// URL", http.StatusBadRequest)
		return
	}
	to, err := destination(r, connect)
	if err != nil {
		p.fail(w, r.Host, err)
		return
	}
	if err := p.permit(r.Context(), to); err != nil {
		p.refuse(w, err)
		return
	}
	if !connect {
		r.URL.Host = to
		forward.ServeHTTP(w, r)
		return
	}
	onward, err := p.dial(r.Context(), to)
	if err != nil {
		p.fail(w, to, err)
		return
	}
	defer onward.Close()
	inward, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer inward.Close()
	// Close of the server knows nothing of this connection any more.
	defer context.AfterFunc(p.ctx, func() { inward.Close(); onward.Close() })()
	if _, err := io.WriteString(inward, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	join(onward, inward, buffered.Reader)
}

// join copies both ways until both ends are over, or one failed.
func join(onward, inward net.Conn, read io.Reader) {
	var both sync.WaitGroup
	pipe := func(to, from net.Conn, read io.Reader) {
		if _, err := io.Copy(to, read); err != nil {
			to.Close()
			from.Close()
			return
		}
		if half, ok := to.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
			to.Close()
		}
	}
	both.Go(func() { pipe(onward, inward, read) })
	both.Go(func() { pipe(inward, onward, onward) })
	both.Wait()
}

func (p *Proxy) hasPassword(r *http.Request) bool {
	kind, said, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	got, err := base64.StdEncoding.DecodeString(strings.TrimSpace(said))
	return strings.EqualFold(kind, "Basic") && err == nil && subtle.ConstantTimeCompare(got, []byte("ramet:"+p.password)) == 1
}

// destination returns the host and port of a request: of its URL, whatever a Host header says.
func destination(r *http.Request, connect bool) (string, error) {
	u := r.URL
	if connect {
		u = &url.URL{Host: r.RequestURI}
		if u.Port() == "" {
			return "", errors.New("CONNECT needs a host and a port")
		}
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return "", errors.New("an address with a zone is not reached")
		}
		host = a.Unmap().String()
	} else if !IsHostName(host) {
		return "", errors.New("this is no name of a host")
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16)
	if err != nil || port == 0 {
		return "", errors.New("this is no number of a port")
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}

// permit waits for the decision about a host and port; that about the usual ports is one.
func (p *Proxy) permit(ctx context.Context, to string) error {
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		return err
	}
	key := to
	if port == "80" || port == "443" {
		key = host
	}
	p.mu.Lock()
	a, known := p.asked[key]
	if !known {
		if len(p.asked) >= maxHosts {
			p.mu.Unlock()
			return fmt.Errorf("network to %s was refused: the command wanted more than %d hosts", to, maxHosts)
		}
		a = &answer{decided: make(chan struct{})}
		p.asked[key] = a
		// Not with the context of this connection: the program may give up and try again.
		p.work.Go(func() { p.decide(a, to, key) })
	}
	p.mu.Unlock()
	select {
	case <-a.decided:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Proxy) decide(a *answer, to, key string) {
	defer close(a.decided)
	a.err = p.o.Permit(p.ctx, to)
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.err == nil {
		p.reached = append(p.reached, key)
	} else if p.ctx.Err() == nil {
		p.note(a.err.Error())
	}
}

// note keeps a line, once. The lock is held.
func (p *Proxy) note(said string) {
	if said = text.Line(said, 400); !slices.Contains(p.failed, said) && len(p.failed) < maxHosts {
		p.failed = append(p.failed, said)
	}
}

// errPrivate refuses an address.
type errPrivate struct{ to netip.AddrPort }

func (e errPrivate) Error() string {
	return fmt.Sprintf("it leads to %s, which is not public, and no rule net(%s) names it", e.to.Addr(), e.to)
}

// dial resolves a permitted host, and connects to the first address that may be reached and answers.
func (p *Proxy) dial(ctx context.Context, to string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	host, service, err := net.SplitHostPort(to)
	if err != nil {
		return nil, err
	}
	var found []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{a}
	} else if found, err = p.resolve(ctx, host); err != nil {
		return nil, err
	}
	var failed error
	for _, a := range found {
		at, err := netip.ParseAddrPort(net.JoinHostPort(a.Unmap().String(), service))
		if err != nil {
			return nil, err
		}
		if !IsPublic(at.Addr()) && (p.o.Named == nil || !p.o.Named(ctx, at)) {
			failed = cmp.Or[error](failed, errPrivate{at})
			continue
		}
		conn, err := p.connect(ctx, at)
		if err == nil {
			return &counted{Conn: conn, proxy: p}, nil
		}
		failed = err
	}
	return nil, cmp.Or(failed, errors.New("it has no address"))
}

func (p *Proxy) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if p.o.Resolve != nil {
		return p.o.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func (p *Proxy) connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	if p.o.Dial != nil {
		return p.o.Dial(ctx, to)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime/2) // the next address has time, too
	defer cancel()
	return new(net.Dialer).DialContext(ctx, "tcp", to.String())
}

// refuse answers that a host was not permitted.
func (p *Proxy) refuse(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusForbidden)
}

// fail answers that a host could not be reached, and notes it.
func (p *Proxy) fail(w http.ResponseWriter, to string, err error) {
	if p.ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		p.mu.Lock()
		p.note(fmt.Sprintf("network to %s failed: %v", to, err))
		p.mu.Unlock()
	}
	status := http.StatusBadGateway
	if errors.As(err, new(errPrivate)) {
		status = http.StatusForbidden
	}
	http.Error(w, "ramet: "+err.Error(), status)
}

// bounded accepts connections only while there is room.
type bounded struct {
	net.Listener
	proxy *Proxy
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.proxy.room <- struct{}{}:
	case <-b.proxy.ctx.Done():
		return nil, net.ErrClosed
	}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.proxy.room
		return nil, err
	}
	return &inner{Conn: conn, proxy: b.proxy}, nil
}

// inner is a connection of the command.
type inner struct {
	net.Conn
	proxy *Proxy
	once  sync.Once
}

func (c *inner) Close() error {
	defer c.once.Do(func() { <-c.proxy.room })
	return c.Conn.Close()
}

func (c *inner) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Conn.Close()
}

// counted is a connection to a host. What passes is counted, and one on which nothing does for long is closed.
type counted struct {
	net.Conn
	proxy *Proxy
}

var errTooMuch = fmt.Errorf("the command moved more than %d GiB", maxBytes>>30)

func (c *counted) count(n int) error {
	if c.proxy.bytes.Add(int64(n)) > maxBytes {
		return errTooMuch
	}
	return c.SetDeadline(time.Now().Add(idleTime))
}

func (c *counted) Read(b []byte) (int, error) {
	if err := c.count(0); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	return n, cmp.Or(err, c.count(n))
}

func (c *counted) Write(b []byte) (int, error) {
	if err := c.count(len(b)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// CloseWrite ends one direction.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Conn.Close()
}
