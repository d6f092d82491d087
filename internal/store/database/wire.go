package database

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// second returns the unit of the waits for a server; nil: a real second. Tests shorten it.
var second atomic.Pointer[func() time.Duration]

// seconds returns n units of the waits for a server.
func seconds(n int64) time.Duration {
	if unit := second.Load(); unit != nil {
		return time.Duration(n) * (*unit)()
	}
	return time.Duration(n) * time.Second
}

// tellAfter returns how long a caller waits before it is told for whom.
func tellAfter() time.Duration { return seconds(2) }

// ErrSilent is the cause where a server did not say anything for too long.
var ErrSilent = errors.New("the server does not answer")

// manner describes how long a server may be silent while something is asked of it.
type manner struct {
	silence time.Duration
	// working asks, on another connection, whether the server is still busy with what was
	// asked on this one; then it may go on being silent. nil: silence is the end.
	working func() bool
	tell    func() // reports that a caller waits; nil: not wanted
}

// wire is the network below a connection. A caller that reads from it while something was asked
// does not wait without end: what counts is progress, not length, so each byte that comes
// begins a new wait.
type wire struct {
	net.Conn

	mu      sync.Mutex // guards what follows
	until   time.Time  // the deadline that was set from outside; zero: none
	manner  *manner    // nil: nothing is asked now
	limited bool       // writes have a deadline
}

// ask sets what is asked from now on; nil: nothing.
func (w *wire) ask(m *manner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.manner = m
}

// arm sets the deadline of the next look, and says how things stand.
func (w *wire) arm(look time.Time) (m *manner, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.until.IsZero() && w.until.Before(look) {
		look = w.until
	}
	return w.manner, w.Conn.SetReadDeadline(look)
}

// SetDeadline and its like are the driver's: it ends what was cancelled with them.
func (w *wire) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until, w.limited = t, !t.IsZero()
	return w.Conn.SetDeadline(t)
}

// SetReadDeadline does for reads what SetDeadline does.
func (w *wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = t
	return w.Conn.SetReadDeadline(t)
}

// ended reports whether the deadline from outside has passed.
func (w *wire) ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.until.IsZero() && !time.Now().Before(w.until)
}

// Read waits as long as the server may be silent.
func (w *wire) Read(b []byte) (int, error) {
	wait := silence{began: time.Now()}
	for {
		m, err := w.arm(wait.look())
		if err != nil {
			return 0, err
		}
		n, err := w.Conn.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || w.ended() {
			return n, err
		}
		if err := wait.judge(m); err != nil {
			return 0, err
		}
	}
}

// silence is one wait for an answer, looked at from time to time.
type silence struct {
	began time.Time
	told  bool
	asked <-chan bool // gets the answer of manner.working
	whose *manner     // that the wait is judged by
}

// look returns when it is looked at next.
func (s *silence) look() time.Time {
	if !s.told {
		return s.began.Add(tellAfter())
	}
	return time.Now().Add(seconds(1))
}

// judge returns an error if the server was silent for too long.
func (s *silence) judge(m *manner) error {
	if m == nil || m != s.whose && s.whose != nil { // nothing is asked, or something else
		*s = silence{began: time.Now(), whose: m}
		return nil
	}
	s.whose = m
	silent := time.Since(s.began)
	if silent < tellAfter() {
		return nil
	}
	if !s.told && m.tell != nil {
		m.tell()
	}
	s.told = true
	if m.working != nil && s.asked == nil && silent >= m.silence-probeTime {
		answer := make(chan bool, 1)
		s.asked = answer
		go func() { answer <- m.working() }()
	}
	if silent < m.silence {
		return nil
	}
	if s.asked != nil && <-s.asked {
		*s = silence{began: time.Now(), told: true, whose: m}
		return nil
	}
	return fmt.Errorf("%w for %s", ErrSilent, m.silence.Round(time.Second))
}

// probeTime limits how long it may take to ask whether a server is still busy for us.
const probeTime = 5 * time.Second

// Write gives up where the other side takes nothing for as long as it may be silent.
func (w *wire) Write(b []byte) (int, error) {
	began, all := time.Now(), 0
	for {
		m, err := w.armWrite(began)
		if err != nil {
			return all, err
		}
		n, err := w.Conn.Write(b[all:])
		all += n
		switch {
		case m == nil || !errors.Is(err, os.ErrDeadlineExceeded) || w.ended():
			return all, err
		case n > 0:
			began = time.Now()
		case time.Since(began) >= m.silence:
			return all, fmt.Errorf("%w for %s", ErrSilent, m.silence.Round(time.Second))
		}
	}
}

// armWrite sets the deadline of a write that began at a time; nil: it has none of ours.
func (w *wire) armWrite(began time.Time) (*manner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.until.IsZero() || w.manner == nil && !w.limited:
		return nil, nil
	case w.manner == nil:
		w.limited = false
		return nil, w.Conn.SetWriteDeadline(time.Time{})
	}
	w.limited = true
	return w.manner, w.Conn.SetWriteDeadline(began.Add(w.manner.silence))
}
