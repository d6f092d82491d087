package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// follower reads a feed and checks that nothing comes twice, and that entries
// of one history come in order.
type follower struct {
	d      *bench
	cursor registry.Cursor
	seen   map[string]bool
	heads  map[id.Agent]id.Message
	boxes  map[id.Agent]int64
}

func (d *bench) follow() *follower {
	return &follower{d: d, seen: map[string]bool{}, heads: map[id.Agent]id.Message{}, boxes: map[id.Agent]int64{}}
}

// page reads once.
func (f *follower) page(limit int) int {
	f.d.t.Helper()
	changes, next, err := f.d.s.Changes(background, f.cursor, limit)
	if err != nil {
		f.d.t.Fatalf("changes: %v", err)
	}
	if len(changes) > limit {
		f.d.t.Errorf("%d changes, at most %d were asked for", len(changes), limit)
	}
	for _, c := range changes {
		name := ""
		switch {
		case c.Entry != nil && c.Letter == nil:
			name = "message " + c.Entry.ID.String()
			if c.Entry.ID <= f.heads[c.Entry.Agent] {
				f.d.t.Errorf("%s of %s comes after %d", name, c.Entry.Agent, f.heads[c.Entry.Agent])
			}
			f.heads[c.Entry.Agent] = c.Entry.ID
		case c.Letter != nil && c.Entry == nil:
			name = fmt.Sprint("letter ", c.Letter.ID)
			if c.Letter.Number <= f.boxes[c.Letter.To] {
				f.d.t.Errorf("%s comes after a later one of its mailbox", name)
			}
			f.boxes[c.Letter.To] = c.Letter.Number
		default:
			f.d.t.Errorf("a change is one thing: %+v", c)
		}
		if f.seen[name] {
			f.d.t.Errorf("%s comes twice", name)
		}
		f.seen[name] = true
	}
	f.cursor = next
	return len(changes)
}

// drain reads until nothing more comes.
func (f *follower) drain(limit int) int {
	f.d.t.Helper()
	n := 0
	for {
		got := f.page(limit)
		if n += got; got == 0 {
			return n
		}
	}
}

func testFeed(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0].ID // three entries so far
	d.say(kid, "a", "b", "c")
	d.send("", kid, "dear") // one letter
	d.send(kid, d.zero, "sir")
	for limit := 1; limit <= 4; limit++ {
		f := d.follow()
		equal(t, fmt.Sprintf("from the beginning by %d", limit), f.drain(limit), 3+3+2+1)
		equal(t, "nothing new", f.page(limit), 0)
	}
	f := d.follow()
	f.drain(100)
	d.say(kid, "d")
	equal(t, "one more", f.page(100), 1)
	equal(t, "and no more", f.page(100), 0)
	// A page that is exactly full must not hide what comes after it.
	d.say(kid, "e", "f")
	equal(t, "a full page", f.page(2), 2)
	d.say(kid, "g")
	equal(t, "the next", f.page(2), 1)
	d.send("", kid, "dear again")
	equal(t, "a letter", f.page(2), 1)
	other := d.follow()
	other.cursor = f.cursor
	d.say(kid, "h")
	equal(t, "cursors can be shared", other.page(1)+f.page(1), 2)
	late := d.follow()
	late.cursor = testkit.Must(d.s.Latest(background))(t)
	equal(t, "nothing behind the latest", late.page(10), 0)
	d.say(kid, "i")
	d.send("", kid, "and again")
	equal(t, "what comes behind it", late.drain(1), 2)
	for _, bad := range []registry.Cursor{"x", "!!", registry.Cursor(strings.Repeat("A", 500)), "c3FsaXRlIHggeQ", "eyJzIjoieCIsInQiOiIiLCJwIjp7fX0", "e30"} {
		_, _, err := d.s.Changes(background, bad, 10)
		refused(t, "cursor "+string(bad[:min(len(bad), 20)]), err, fault.InvalidID)
	}
}

func testFeedUnderWriters(t *testing.T, w *Workspace) {
	d := open(t, w)
	kids := d.fork(d.zero, "a", "b", "c", "d")
	each := 40
	if !testkit.SoakOn() {
		each = 12
	}
	var group sync.WaitGroup
	for _, k := range kids {
		group.Go(func() {
			for i := range each {
				if _, err := d.s.Append(background, k.ID, agent.Passing(), says(fmt.Sprint(i))...); err != nil {
					t.Errorf("append: %v", err)
				}
				if i%5 == 0 {
					if _, err := d.s.Send(background, registry.Send{From: k.ID, To: d.zero, Body: "x"}); err != nil {
						t.Errorf("send: %v", err)
					}
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { group.Wait(); close(over) }()
	followers := []*follower{d.follow(), d.follow(), d.follow()}
	for writing := true; writing; {
		select {
		case <-over:
			writing = false
		default:
		}
		for i, f := range followers {
			f.page(1 + i*3)
		}
	}
	report := d.audit()
	for i, f := range followers {
		f.drain(1 + i*3)
		equal(t, fmt.Sprintf("follower %d saw", i), len(f.seen), report.Messages+report.Letters)
	}
}
