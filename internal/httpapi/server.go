package httpapi

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"ramet/internal/fault"
	"ramet/internal/telemetry"
)

// Options are what a server is made of. The table of routes is the same whatever is
// missing: a part that is not there answers NOT_FOUND.
type Options struct {
	Version string
	Token   Token
	Hosts   []string // names by which users reach it, besides those of loopback: NAME or NAME:PORT

	Telemetry telemetry.Store
	RunLogs   RunLogs
	Ledger    Ledger
	Usage     Usage
	Agents    Agents
	Gate      Gate
	Page      http.Handler // answers GET / and /assets/…

	Now func() time.Time
	// Panicked is told of a route that panicked, with its stack, which holds no
	// request data. May be nil.
	Panicked func(route string, stack []byte)
	// HeaderTime and BodyTime are how long a client may take to send; 5 and 30 s.
	HeaderTime, BodyTime time.Duration
}

// Server answers. It is safe for concurrent use.
type Server struct {
	o       Options
	table   []Route
	tree    *node
	access  *access
	hosts   hosts // set by Serve, before the first request
	counts  counts
	sums    sums
	stop    context.Context // ends when streams have to
	stopped context.CancelFunc
	serving sync.Once
}

// New makes a server. Nothing listens yet.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HeaderTime == 0 {
		o.HeaderTime = 5 * time.Second
	}
	if o.BodyTime == 0 {
		o.BodyTime = 30 * time.Second
	}
	s := &Server{o: o, access: newAccess(o.Token, o.Now)}
	s.stop, s.stopped = context.WithCancel(context.Background())
	s.table = s.routes()
	s.tree = plant(s.table)
	return s
}

// Routes is the table.
func (s *Server) Routes() []Route { return s.table }

func (s *Server) routes() []Route {
	table := s.ownRoutes()
	table = append(table, s.telemetryRoutes()...)
	table = append(table, s.runLogRoutes()...)
	table = append(table, s.trackRoutes()...)
	table = append(table, s.usageRoutes()...)
	table = append(table, s.trustRoutes()...)
	return append(table, agentRoutes(s.o.Agents, s)...)
}

// Times of connections.
const (
	idleTime  = 2 * time.Minute
	stopTime  = 10 * time.Second
	maxHeader = 32 << 10
)

// Serve answers what comes to l until ctx ends, then lets requests that have begun end,
// for a bounded time. It closes l, and can be called once. nil: it was ctx.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	first := false
	s.serving.Do(func() { first = true })
	if !first {
		return errors.Join(errors.New("httpapi: a server serves once"), l.Close())
	}
	s.hosts = newHosts(l.Addr(), s.o.Hosts)
	server := &http.Server{
		Handler:           http.HandlerFunc(s.gate),
		ReadHeaderTimeout: s.o.HeaderTime,
		ReadTimeout:       s.o.HeaderTime + s.o.BodyTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // it would name requests
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		s.stopped()
		return fault.New(fault.Failed, "serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.stopped() // streams would keep Shutdown waiting
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := server.Shutdown(patience)
	if err != nil {
		err = server.Close() // what is still there does not end by itself
	}
	<-ended
	return err
}

// URL is the address of the page.
func URL(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// counts is what /metrics says of HTTP.
type counts struct {
	mu       sync.Mutex
	requests map[counted]int64
	panics   int64
	streams  int64
}

type counted struct {
	route  string
	status int
}

func (c *counts) answered(route string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[counted]int64{}
	}
	c.requests[counted{route, status}]++
}

func (c *counts) stream(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams += n
}

func (c *counts) panicked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.panics++
}

func portOf(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return strconv.Itoa(tcp.Port)
	}
	_, port, _ := net.SplitHostPort(addr.String())
	return port
}
