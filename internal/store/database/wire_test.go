package database

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// asked returns a wire over which something is asked, and the server's end of it.
func asked(t *testing.T, m *manner) (*wire, net.Conn) {
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	w := &wire{Conn: client}
	w.ask(m)
	return w, server
}

func TestASilentWireIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var told time.Duration
		w, _ := asked(t, &manner{silence: 15 * time.Second, tell: func() { told = time.Since(began) }})
		_, err := w.Read(make([]byte, 1))
		if took := time.Since(began); !errors.Is(err, ErrSilent) || took != 15*time.Second {
			t.Errorf("%v after %s", err, took)
		}
		if told != 2*time.Second {
			t.Errorf("told after %s", told)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, ErrSilent) {
			t.Errorf("write: %v", err)
		}
	})
}

// Bytes that keep coming are waited for, however long all of them take.
func TestProgressCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, server := asked(t, &manner{silence: 10 * time.Second})
		go func() {
			for range 10 {
				time.Sleep(9 * time.Second)
				server.Write([]byte("x"))
			}
		}()
		if n, err := io.ReadFull(w, make([]byte, 10)); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	})
}

// A server that says it is busy may be silent for longer, until it says that it is not.
func TestABusyWireIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, times := time.Now(), 0
		w, _ := asked(t, &manner{silence: 10 * time.Second, working: func() bool { times++; return times < 4 }})
		_, err := w.Read(make([]byte, 1))
		if took := time.Since(began); !errors.Is(err, ErrSilent) || took < 40*time.Second || took > 50*time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}
