package mailbox_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ramet/internal/store/database"
)

// proxy stands between a client and the server, and cuts connections.
type proxy struct {
	tb       testing.TB
	listener net.Listener
	network  string
	server   string
	// every n-th answer of the server is lost with its connection; 0: none
	every atomic.Int64
	count atomic.Int64
	lost  atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
	all   sync.WaitGroup
	over  bool
}

// through returns the address of a database behind a proxy.
func through(tb testing.TB, address string) (*proxy, string) {
	tb.Helper()
	pg, err := database.ParsePostgres(address)
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{tb: tb, network: "tcp", server: net.JoinHostPort(pg.Config.Host, fmt.Sprint(pg.Config.Port)), conns: map[net.Conn]bool{}}
	if strings.HasPrefix(pg.Config.Host, "/") {
		p.network, p.server = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", pg.Config.Host, pg.Config.Port)
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	p.all.Go(p.accept)
	tb.Cleanup(p.close)
	u := url.URL{Scheme: "postgres", User: url.UserPassword(pg.Config.User, pg.Config.Password), Host: p.listener.Addr().String(), Path: "/" + pg.Config.Database,
		RawQuery: url.Values{"schema": {pg.Schema}, "sslmode": {"disable"}}.Encode()}
	return p, u.String()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		if p.over {
			client.Close()
			server.Close()
		} else {
			p.conns[client], p.conns[server] = true, true
			p.all.Go(func() { p.copy(server, client, false) })
			p.all.Go(func() { p.copy(client, server, true) })
		}
		p.mu.Unlock()
	}
}

func (p *proxy) copy(to, from net.Conn, answers bool) {
	defer func() {
		to.Close()
		from.Close()
		p.mu.Lock()
		delete(p.conns, from)
		p.mu.Unlock()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if answers && n > 0 {
			if every := p.every.Load(); every > 0 && p.count.Add(1)%every == 0 {
				p.lost.Add(1)
				return
			}
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) close() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.listener.Close()
	p.cut()
	p.all.Wait()
}
