package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/model/llm"
)

// Gate offers foreign programs the vendors' endpoints on loopback, each agent on a path of its
// own that nobody can guess. What goes through is counted and set aside; nothing else goes
// through.
type Gate struct {
	o        Options
	listener net.Listener
	server   *http.Server

	mu    sync.Mutex
	doors map[[sha256.Size]byte]*Door // by the hash of their secrets; guarded by mu
}

// Options are what a gate is made of.
type Options struct {
	Reserver *Reserver
	// Record writes what a call came to, before what was set aside for it is given back. An
	// error leaves it set aside.
	Record func(context.Context, Record) error
	// Upstream is where a vendor is; nil: the usual addresses.
	Upstream map[string]*url.URL
	// MCP answers what is asked below /mcp of an agent's path; nil: nothing does.
	MCP func(w http.ResponseWriter, r *http.Request, by id.Agent)
	// Clamp lowers what requests may have written to what is left of a budget, rather than refuse
	// them. Bodies keeps what is sent and answered, for Record.
	Clamp, Bodies bool
	// Client sends requests on; nil: one without proxies and redirects.
	Client *http.Client
}

// Record is one call as it went over the wire. It holds nothing of what was said, unless bodies are
// kept, and nothing of a login.
type Record struct {
	Agent    id.Agent
	Driver   string
	Vendor   string
	Model    string
	Path     string
	Request  string // SHA-256 of the body as it was sent on, in hex
	Response string // and of the answer
	Status   int
	Usage    llm.Usage
	Counted  bool // Usage is what the vendor said; else nobody knows, and the worst case stays set aside
	Cost     llm.Money
	Priced   bool
	Began    time.Time
	First    time.Duration // to the first byte of the answer
	Took     time.Duration
	Asked    int64  // what the program wanted to have written at most, where that was lowered; 0: it was not
	Sent     []byte // the request, unpacked, and the answer; nil: they are not kept, or too long
	Received []byte
}

// Open starts a gate.
func Open(o Options) (*Gate, error) {
	for vendor, to := range o.Upstream {
		if err := checkAddress(vendor, to); err != nil {
			return nil, err
		}
	}
	if o.Client == nil {
		o.Client = &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, DisableCompression: true,
			IdleConnTimeout: 90 * time.Second},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fault.New(fault.Failed, "listen for agents' programs: %w", err)
	}
	g := &Gate{o: o, listener: l, doors: map[[sha256.Size]byte]*Door{}}
	g.server = &http.Server{Handler: http.HandlerFunc(g.serve), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go g.server.Serve(l)
	return g, nil
}

// checkAddress refuses an address on whose way others could read.
func checkAddress(vendor string, to *url.URL) error {
	if to.Scheme == "https" && to.Host != "" || to.Scheme == "http" && isLoopback(to.Hostname()) {
		return nil
	}
	return fault.New(fault.InvalidConfig, "the address of %s is neither https nor on this machine: %.200s", vendor, to.Redacted()).
		WithHint("give an https address, or one on loopback")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close ends all that goes through.
func (g *Gate) Close() error {
	g.mu.Lock()
	for _, d := range g.doors {
		d.cut()
	}
	clear(g.doors)
	g.mu.Unlock()
	return g.server.Close()
}

// Way is how the program of one agent goes through.
type Way struct {
	Agent  id.Agent
	Driver string // its name, for the history
	// Upstream is where its vendors are, where its user says so; it counts more than the gate's.
	Upstream map[string]Upstream
	// Keys are of ours and are put in, by vendor, in the place of whatever the program sends. None:
	// its own login goes on as it is.
	Keys map[string]string
}

// Upstream is an address of a vendor, in the place of its own.
type Upstream struct {
	URL   *url.URL
	Strip string // what programs ask before the paths that this address has; /v1
}

// Door is the way of one agent.
type Door struct {
	Way
	base string
	key  [sha256.Size]byte
	gate *Gate
	life context.Context
	cut  context.CancelFunc
	counter
}

// Door opens a way for an agent's program.
func (g *Gate) Door(w Way) (*Door, error) {
	for vendor, to := range w.Upstream {
		if err := checkAddress(vendor, to.URL); err != nil {
			return nil, err
		}
	}
	secret := rand.Text() + rand.Text()
	d := &Door{Way: w, gate: g, key: sha256.Sum256([]byte(secret)), base: "http://" + g.listener.Addr().String() + "/a/" + secret}
	d.life, d.cut = context.WithCancel(context.Background())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.doors[d.key] = d
	return d, nil
}

// Base is the address at which a program finds a vendor; false: it is not offered.
func (d *Door) Base(vendor string) (string, bool) {
	_, ok := vendors[vendor]
	return d.base + "/" + vendor, ok
}

// MCP is the address of ramet's own tools, for this agent; false: they are not offered.
func (d *Door) MCP() (string, bool) { return d.base + "/mcp", d.gate.o.MCP != nil }

// Secrets are the texts of its address that are nobody's but the program's: whoever knows them spends
// and acts as its agent.
func (d *Door) Secrets() []string {
	secret := d.base[strings.LastIndexByte(d.base, '/')+1:]
	return []string{d.base, secret, d.gate.listener.Addr().String()}
}

// Close cuts the way: what goes through ends at once, and nothing goes through any more.
func (d *Door) Close() {
	d.gate.mu.Lock()
	delete(d.gate.doors, d.key)
	d.gate.mu.Unlock()
	d.cut()
}

// Cut closes the ways of agents.
func (g *Gate) Cut(agents ...id.Agent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, d := range g.doors {
		if slices.Contains(agents, d.Agent) {
			delete(g.doors, key)
			d.cut()
		}
	}
}

// find is the door of a path, and what comes behind it. Hashes are looked up, so that how long
// it takes says nothing of the secret.
func (g *Gate) find(path string) (d *Door, vendor, rest string) {
	rest, ok := strings.CutPrefix(path, "/a/")
	if !ok {
		return nil, "", ""
	}
	secret, rest, _ := strings.Cut(rest, "/")
	g.mu.Lock()
	d = g.doors[sha256.Sum256([]byte(secret))]
	g.mu.Unlock()
	vendor, rest, _ = strings.Cut(rest, "/")
	return d, vendor, "/" + rest
}

func hexOf(sum []byte) string { return hex.EncodeToString(sum) }
