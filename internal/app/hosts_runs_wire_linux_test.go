package app_test

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	pg "ramet/internal/store/database"
)

// wire is the network between a host and PostgreSQL, which fails.
type wire struct {
	listener        net.Listener
	network, server string
	all             sync.WaitGroup

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]bool
	cuts  []snip
	down  bool
}

// snip is a cut to come: at the next message of the host that holds a word.
type snip struct {
	word string
	sent bool // the server gets the message still; its answer is lost
}

// through lets a host reach the server over a wire of its own.
func (s *site) through() *wire {
	s.t.Helper()
	to, err := pg.ParsePostgres(s.db)
	if err != nil {
		s.t.Fatal(err)
	}
	w := &wire{network: "tcp", server: net.JoinHostPort(to.Config.Host, fmt.Sprint(to.Config.Port)), conns: map[net.Conn]bool{}}
	if strings.HasPrefix(to.Config.Host, "/") {
		w.network, w.server = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", to.Config.Host, to.Config.Port)
	}
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		s.t.Fatal(err)
	}
	w.all.Go(w.accept)
	s.t.Cleanup(func() {
		w.listener.Close()
		w.fall(true)
		w.all.Wait()
	})
	u := url.URL{Scheme: "postgres", User: url.UserPassword(to.Config.User, to.Config.Password), Host: w.listener.Addr().String(), Path: "/" + to.Config.Database,
		RawQuery: url.Values{"schema": {to.Schema}, "sslmode": {"disable"}}.Encode()}
	s.db = u.String()
	return w
}

func (w *wire) accept() {
	for {
		host, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.join(host)
	}
}

func (w *wire) join(host net.Conn) {
	server, err := net.Dial(w.network, w.server)
	if err != nil {
		host.Close()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		host.Close()
		server.Close()
		return
	}
	w.conns[host], w.conns[server] = true, true
	w.all.Go(func() { w.carry(server, host, true) })
	w.all.Go(func() { w.carry(host, server, false) })
}

func (w *wire) carry(to, from net.Conn, said bool) {
	defer func() {
		to.Close()
		from.Close()
		w.mu.Lock()
		delete(w.conns, from)
		w.mu.Unlock()
	}()
	for buffer := make([]byte, 64<<10); ; {
		n, err := from.Read(buffer)
		cut, sent := said && w.snip(buffer[:n]), true
		if cut {
			sent = w.take()
		}
		if n > 0 && sent {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil || cut {
			return
		}
	}
}

// snip says whether it is time for the next cut.
func (w *wire) snip(message []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.cuts) > 0 && bytes.Contains(message, []byte(w.cuts[0].word))
}

func (w *wire) take() (sent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent = w.cuts[0].sent
	w.cuts = w.cuts[1:]
	return sent
}

// plan are cuts to come, one after the other.
func (w *wire) plan(cuts ...snip) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts = cuts
}

func (w *wire) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.cuts)
}

func (w *wire) up() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns) > 0
}

// fall cuts all connections; down: there are no new ones either.
func (w *wire) fall(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	for c := range w.conns {
		c.Close()
	}
}

func (w *wire) rise() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

// swift has items that take no time.
const swift = `
name: swift
description: for tests
states:
  DRAFTING: [draft]
workers:
  draft:
    each: [i01, i02, i03, i04, i05, i06]
    prompt: 'write {{scope}}'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

func TestNothingIsLostWithTheConnectionsOfAHost(t *testing.T) {
	t.Parallel()
	f := newFleet(t, swift)
	s := f.site("far")
	wire := s.through()
	w := s.work()
	w.says(t, "waits for items")
	eventually(t, "it is connected", wire.up)
	wire.fall(false)
	wire.plan(snip{"claim", false}, snip{"claim", true}, snip{"deliver", false}, snip{"deliver", true}, snip{"LLM_CALL_FINISHED", true}, snip{"queue_name", true})
	f.done(f.start())
	for i := 1; i <= 6; i++ {
		if got, want := f.file(fmt.Sprintf("drafts/i%02d.txt", i)), fmt.Sprintf("page i%02d", i); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
	if n := wire.left(); n > 1 { // the last one may come after the end
		t.Errorf("%d cuts were not made", n)
	}
	wire.plan()
	w.leaves()
	w.quiet()
}

func TestAHostThatIsCutOffLosesItsItem(t *testing.T) {
	t.Parallel()
	f := newFleet(t, signed)
	s := f.site("far")
	wire := s.through()
	far := s.work()
	k := f.start()
	eventually(t, "it works", far.waits)
	wire.fall(true)
	f.giveUp(far)
	far.open(1) // it goes on, and has nobody to tell
	near := f.worker("near")
	near.open(4)
	all := f.done(k)
	if count(all, "WORK_ITEM_FINISHED", "r:draft:1:i01") != 0 || f.file("drafts/i01.txt") != "signed by near" {
		t.Error("the late result counted")
	}
	// Connected again it goes on with what there is.
	near.leaves()
	wire.rise()
	f.run = "next"
	far.open(8)
	all = f.done(f.start())
	if n := count(all, "WORK_ITEM_FAILED", ""); n != 0 {
		t.Errorf("%d failed", n)
	}
	far.leaves()
	far.quiet()
}
