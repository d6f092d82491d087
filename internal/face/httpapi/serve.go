package httpapi

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"ramet/internal/base/fault"
)

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
	s := &Server{o: o, access: newAccess(o)}
	s.stop, s.stopped = context.WithCancel(context.Background())
	s.table = append(Parts{}.routes(), s.ownRoutes()...)
	s.router = newRouter(s.table)
	if s.addr = o.Addr; s.addr != nil {
		s.SetHosts(o.Hosts)
	}
	return s
}

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
	if s.addr == nil {
		s.addr = l.Addr()
		s.SetHosts(s.o.Hosts)
	}
	s.access.rememberAddress(l.Addr().String())
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

// SetHosts replaces the names by which users reach the server, in addition to those of loopback.
func (s *Server) SetHosts(names []string) {
	all := newHosts(s.addr, names)
	s.hosts.Store(&all)
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

// OpenAPI is the document of every server of a version.
func OpenAPI(version string) []byte { return New(Options{Version: version}).Document() }
