package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// testManyWriters appends, forks and sends from many goroutines, to one agent
// and to many: nothing is lost and every history ascends.
func testManyWriters(t *testing.T, w *Workspace) {
	d := open(t, w)
	const writers = 8
	each := 25
	if !testkit.SoakOn() {
		each = 8
	}
	kids := d.fork(d.zero, "a", "b", "c")
	ids := []id.Agent{d.zero, kids[0].ID, kids[1].ID, kids[2].ID}
	other := testkit.Must(w.Open())(t) // half of them through another handle
	defer other.Close()
	var group sync.WaitGroup
	for n := range writers {
		s := d.s
		if n%2 == 1 {
			s = other
		}
		group.Go(func() {
			for i := range each {
				a := ids[i%2*(1+(n+i)%3)] // every second one to agent 0
				if _, err := s.Append(background, a, agent.Passing(), says(fmt.Sprint(n, ".", i), "second")...); err != nil {
					t.Errorf("append: %v", err)
				}
				from, to := ids[rand.IntN(4)], ids[rand.IntN(4)]
				if _, err := s.Send(background, registry.Send{From: from, To: to, Body: "hello"}); err != nil {
					t.Errorf("send: %v", err)
				}
				if i%8 == 0 {
					if _, err := s.Fork(background, registry.Fork{Parent: a, Children: children("", "")}); err != nil {
						t.Errorf("fork: %v", err)
					}
				}
			}
		})
	}
	group.Wait()
	seen := map[string]int{}
	letters := 0
	for _, a := range ids {
		last := id.Message(0)
		entries := d.own(a)
		for i, e := range entries {
			if e.ID <= last {
				t.Errorf("message %d follows %d", e.ID, last)
			}
			last = e.ID
			if e.Kind == history.User {
				s := history.Plain(testkit.Must(e.Parts())(t))
				seen[s]++
				if s != "second" && (i+1 == len(entries) || history.Plain(testkit.Must(entries[i+1].Parts())(t)) != "second") {
					t.Errorf("the entries of one append are not together")
				}
			}
			if e.Kind == history.Mail {
				letters++
			}
		}
	}
	for n := range writers {
		for i := range each {
			equal(t, "append", seen[fmt.Sprint(n, ".", i)], 1)
		}
	}
	equal(t, "letters", letters, writers*each)
	report := d.audit()
	equal(t, "letters in mailboxes", report.Letters, writers*each)

	// Of many who decided by what they read, one goes on.
	head := d.agent(d.zero).Head
	var won, lost sync.Map
	for n := range writers {
		group.Go(func() {
			_, err := d.s.Append(background, d.zero, agent.Passing().At(head), says("me")...)
			switch {
			case err == nil:
				won.Store(n, true)
			case fault.Is(err, fault.Conflict):
				lost.Store(n, true)
			default:
				t.Errorf("append at a head: %v", err)
			}
		})
	}
	group.Wait()
	equal(t, "winners", size(&won), 1)
	equal(t, "losers", size(&lost), writers-1)

	// Of many who want one name, one gets it.
	won.Clear()
	for n := range writers {
		group.Go(func() {
			_, err := d.s.Fork(background, registry.Fork{Parent: ids[n%4], Children: children("wanted")})
			if err == nil {
				won.Store(n, true)
			} else if !fault.Is(err, fault.Conflict) {
				t.Errorf("fork: %v", err)
			}
		})
	}
	group.Wait()
	equal(t, "called so", size(&won), 1)
}

func size(m *sync.Map) int {
	n := 0
	m.Range(func(any, any) bool { n++; return true })
	return n
}
