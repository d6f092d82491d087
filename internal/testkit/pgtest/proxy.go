package pgtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/testkit"
)

// Proxy is a network between ramet and the server that fails as it is told to. It knows
// just enough of the protocol to see a commit pass.
type Proxy struct {
	URL string // of the database, through the proxy

	listener        net.Listener
	network, server string
	direct          *pgx.ConnConfig // past the proxy
	all             sync.WaitGroup

	mu     sync.Mutex // guards what follows
	pairs  map[*pair]bool
	over   bool
	down   bool
	refuse int           // so many of the next connections are not let in
	stall  chan struct{} // closed: nothing is held; see Stall
	delay  time.Duration
	passed int // commits seen
	lost   int // of these, lost
	barred int // connections that were not let in
	asked  int // messages of clients, each with all that was sent at once
	lose   func(commit int) (Fate, bool)
	cuts   []CutPoint // still to come
}

// CutPoint is a cut to come: at the next message of a client that contains a word.
type CutPoint struct {
	Word string
	Sent bool // the server receives the message, and its answer is lost
}

// Fate selects what the proxy does with a commit.
type Fate int

// What can become of a commit.
const (
	Before Fate = iota + 1 // the connection ends before the server hears of it
	During                 // the server hears of it, and the connection ends at once
	After                  // the server has answered; the answer is lost with the connection
)

// pair is a connection on both sides of the proxy.
type pair struct {
	client, server net.Conn
	doomed         Fate // what becomes of the commit that is under way
	backend        int  // the server's process; 0: it has not said
}

func (p *pair) end() {
	p.client.Close()
	p.server.Close()
}

// Through puts a proxy before the database of a postgres:// URL. It ends with the test.
func Through(tb testing.TB, address string) *Proxy {
	tb.Helper()
	p := testkit.Must(NewProxy(address))(tb)
	tb.Cleanup(p.Close)
	return p
}

// NewProxy is Through, for who has no test.
func NewProxy(address string) (*Proxy, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	schema := query.Get("schema")
	query.Del("schema")
	u.RawQuery = query.Encode()
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	p := &Proxy{direct: config, network: "tcp", server: net.JoinHostPort(config.Host, fmt.Sprint(config.Port)), pairs: map[*pair]bool{}, stall: make(chan struct{})}
	close(p.stall)
	if strings.HasPrefix(config.Host, "/") {
		p.network, p.server = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", config.Host, config.Port)
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	through := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: p.listener.Addr().String(), Path: "/" + config.Database,
		RawQuery: url.Values{"schema": {schema}, "sslmode": {"disable"}}.Encode()}
	p.URL = through.String()
	p.all.Go(p.accept)
	return p, nil
}

// Close ends the proxy, with all connections.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.listener.Close()
	p.Stall(false)
	p.Cut()
	p.all.Wait()
}

// Cut ends every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for one := range p.pairs {
		one.end()
	}
}

// Down ends every connection and refuses new ones, until it is told that it is over.
func (p *Proxy) Down(down bool) {
	p.mu.Lock()
	p.down = down
	p.mu.Unlock()
	if down {
		p.Cut()
	}
}

// DownFor ends every connection and refuses the next ones, as many as it is told.
func (p *Proxy) DownFor(refusals int) {
	p.mu.Lock()
	p.refuse = refusals
	p.mu.Unlock()
	p.Cut()
}

// Stall accepts whatever comes and hands on nothing, until it is told that it is over.
func (p *Proxy) Stall(stall bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.stall:
		if stall {
			p.stall = make(chan struct{})
		}
	default:
		if !stall {
			close(p.stall)
		}
	}
}

// Delay hands on everything, in each direction, so much later.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Lose decides what becomes of commits, counted from 1; false: they pass. fate must not call
// the proxy.
func (p *Proxy) Lose(fate func(commit int) (Fate, bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed, p.lose = 0, fate
}

// LoseAndFall has one fate for the next commit; from then on no connection is let in, until Down
// says that it is over. also is called at that moment; it must not call the proxy.
func (p *Proxy) LoseAndFall(fate Fate, also ...func()) {
	p.Lose(func(commit int) (Fate, bool) {
		if commit == 1 {
			p.down = true // mu is held
			for _, f := range also {
				f()
			}
		}
		return fate, commit == 1
	})
}

// LoseNext has one fate for the next commit, and none for others.
func (p *Proxy) LoseNext(fate Fate) {
	p.Lose(func(commit int) (Fate, bool) { return fate, commit == 1 })
}

// CutAt plans cuts, one after the other, in place of those that are still to come.
func (p *Proxy) CutAt(cuts ...CutPoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = cuts
}

// CutsLeft returns how many planned cuts have not been made.
func (p *Proxy) CutsLeft() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.cuts)
}

// Lost returns the number of lost commits.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Asked returns the number of requests to the server, which is the number of round trips if every answer is awaited.
func (p *Proxy) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Barred returns the number of refused connections.
func (p *Proxy) Barred() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.barred
}

// Open returns the number of open connections.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.join(client) })
	}
}

func (p *Proxy) join(client net.Conn) {
	if p.held(); !p.take(nil) {
		client.Close()
		return
	}
	server, err := net.Dial(p.network, p.server)
	if err != nil {
		client.Close()
		return
	}
	one := &pair{client: client, server: server}
	if !p.take(one) {
		one.end()
		return
	}
	p.all.Go(func() { p.carry(one, server, client, p.said) })
	p.carry(one, client, server, p.answered)
	p.mu.Lock()
	delete(p.pairs, one)
	p.mu.Unlock()
}

// take lets a connection in, if any is let in now.
func (p *Proxy) take(one *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse > 0 && one == nil {
		p.refuse--
		p.barred++
		return false
	}
	if p.over || p.down {
		p.barred++
		return false
	}
	if one != nil {
		p.pairs[one] = true
	}
	return true
}

// held waits while everything stalls.
func (p *Proxy) held() (delay time.Duration) {
	for {
		p.mu.Lock()
		stall, delay := p.stall, p.delay
		p.mu.Unlock()
		select {
		case <-stall:
			return delay
		default:
		}
		<-stall
	}
}

// carry copies one direction until it ends, or until what passes is the end of both.
func (p *Proxy) carry(one *pair, to, from net.Conn, sees func(*pair, []byte) (pass, end bool)) {
	defer one.end()
	for buffer := make([]byte, 64<<10); ; {
		n, err := from.Read(buffer)
		if n > 0 {
			time.Sleep(p.held())
			pass, end := sees(one, buffer[:n])
			if pass {
				if _, err := to.Write(buffer[:n]); err != nil {
					return
				}
			}
			if end {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// commits are the messages that commit: the plain one, and one that binds the prepared
// statement as the driver names it.
var commits = func() [][]byte {
	sum := sha256.Sum256([]byte("commit"))
	return [][]byte{[]byte("Q\x00\x00\x00\x0bcommit\x00"), []byte("\x00stmtcache_" + hex.EncodeToString(sum[:24]) + "\x00")}
}()

// said looks at what a client says.
func (p *Proxy) said(one *pair, message []byte) (pass, end bool) {
	p.mu.Lock()
	p.asked++
	if len(p.cuts) > 0 && bytes.Contains(message, []byte(p.cuts[0].Word)) {
		sent := p.cuts[0].Sent
		p.cuts = p.cuts[1:]
		p.mu.Unlock()
		return sent, true
	}
	p.mu.Unlock()
	if !slices.ContainsFunc(commits, func(c []byte) bool { return bytes.Contains(message, c) }) {
		return true, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.passed++; p.lose == nil {
		return true, false
	}
	fate, lost := p.lose(p.passed)
	if !lost {
		return true, false
	}
	p.lost++
	one.doomed = fate
	return fate != Before, fate != After
}

// answered looks at what the server says.
func (p *Proxy) answered(one *pair, message []byte) (pass, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one.backend == 0 {
		one.backend = backendOf(message)
	}
	return one.doomed == 0, one.doomed != 0
}

// Terminate has the server end the sessions of all connections, as an administrator does, and
// says how many.
func (p *Proxy) Terminate(ctx context.Context) (n int, err error) {
	var backends []int
	p.mu.Lock()
	for one := range p.pairs {
		if one.backend != 0 {
			backends = append(backends, one.backend)
		}
	}
	p.mu.Unlock()
	conn, err := pgx.ConnectConfig(ctx, p.direct.Copy())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	err = conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE ended) FROM (SELECT pg_terminate_backend(pid) AS ended FROM unnest($1::int[]) AS pid) AS all_of_them`, backends).Scan(&n)
	return n, err
}

// backendOf finds the message in which a server says which of its processes it is; 0: it is
// not there.
func backendOf(message []byte) int {
	_, rest, found := bytes.Cut(message, []byte("K\x00\x00\x00\x0c"))
	if !found || len(rest) < 8 {
		return 0
	}
	return int(binary.BigEndian.Uint32(rest))
}
