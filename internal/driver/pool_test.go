package driver

import (
	"context"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

// idleSession is a program that does nothing.
type idleSession struct {
	about  About
	chosen Wish
	deaf   bool // it cannot be made to work by another wish
	ended  chan struct{}
}

func newIdle(session string) *idleSession {
	return &idleSession{about: About{Session: session}, ended: make(chan struct{})}
}

func (s *idleSession) About() About { return s.about }
func (s *idleSession) Offer() Offer { return Offer{} }
func (s *idleSession) Choose(_ context.Context, w Wish) (bool, error) {
	s.chosen = w
	return !s.deaf, nil
}
func (s *idleSession) Prompt(context.Context, []llm.Part, func(Update)) (Stop, error) {
	return Stop{}, nil
}
func (s *idleSession) End() {
	if !s.over() {
		close(s.ended)
	}
}
func (s *idleSession) Ended() <-chan struct{} { return s.ended }

func (s *idleSession) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// A session is given out to who ends where it ended, once; any other one ends.
func TestPoolGivesOutWhatFits(t *testing.T) {
	a := id.NewAgent()
	for _, c := range []struct {
		what    string
		change  func(*idleSession)
		session string
		mark    id.Message
		wish    Wish
		fits    bool
	}{
		{"the same", nil, "s", 7, Wish{}, true},
		{"the history went on without it", nil, "s", 8, Wish{}, false},
		{"another session", nil, "other", 7, Wish{}, false},
		{"no session", nil, "", 7, Wish{}, false},
		{"another wish", nil, "s", 7, Wish{Model: "m"}, true},
		{"another wish that it cannot hear", func(s *idleSession) { s.deaf = true }, "s", 7, Wish{Model: "m"}, false},
		{"it died", func(s *idleSession) { s.End() }, "s", 7, Wish{}, false},
	} {
		var p Pool
		s := newIdle("s")
		p.use(a, s)
		p.put(a, s, 7)
		if c.change != nil {
			c.change(s)
		}
		got := p.take(t.Context(), a, c.session, c.mark, c.wish)
		if (got != nil) != c.fits || s.over() == c.fits || s.chosen != c.wish && c.fits {
			t.Errorf("%s: given out: %v, ended: %v, by the wish %+v", c.what, got != nil, s.over(), s.chosen)
		}
		if p.take(t.Context(), a, "s", 7, Wish{}) != nil {
			t.Errorf("%s: it was given out twice", c.what)
		}
	}
}

// So many are kept, the newest; who is not asked for long ends; End and Close find all.
func TestPoolEnds(t *testing.T) {
	p := Pool{Most: 2}
	var all []*idleSession
	var who []id.Agent
	for range 3 {
		all, who = append(all, newIdle("s")), append(who, id.NewAgent())
		p.put(who[len(who)-1], all[len(all)-1], 1)
	}
	if !all[0].over() || all[1].over() || all[2].over() {
		t.Error("not the oldest ended")
	}
	p.End(who[1])
	busy, late := newIdle("s"), newIdle("s")
	p.use(who[0], busy)
	p.Close()
	p.put(who[1], late, 1)
	for i, s := range []*idleSession{all[1], all[2], busy, late} {
		if !s.over() {
			t.Errorf("%d lives", i)
		}
	}
	short := Pool{Rest: time.Millisecond}
	s := newIdle("s")
	short.put(who[0], s, 1)
	testkit.Receive(t, "an idle program ends", s.ended)
}
