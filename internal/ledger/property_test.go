package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	_ "ramet/internal/testkit"
)

// model is the ledger as one would write it without thinking of speed or files: a list,
// and the sentences of the specification, one after the other.
type model struct {
	limit int
	list  []*modelEntry
}

type modelEntry struct {
	id, status, resumedBy, resumes string
	next                           *modelEntry // who goes on for it
}

func (m *model) find(id string) *modelEntry {
	var newest *modelEntry
	for _, e := range m.list {
		if e.id == id {
			newest = e
		}
	}
	for i := len(m.list) - 1; i >= 0; i-- {
		if e := m.list[i]; e.id == id && (e.status == "spawned" || e.status == "interrupted") {
			return e
		}
	}
	return newest
}

func (m *model) live(id string) bool {
	e := m.find(id)
	return e != nil && (e.status == "spawned" || e.status == "interrupted")
}

func (m *model) spawn(id string) fault.Code {
	if m.live(id) {
		return fault.Conflict
	}
	m.list = append(m.list, &modelEntry{id: id, status: "spawned"})
	m.prune()
	return ""
}

func (m *model) move(id, to string) fault.Code {
	e := m.find(id)
	switch {
	case e == nil:
		return fault.NotFound
	case e.status == to:
		return ""
	case e.status == "spawned", e.status == "interrupted" && to == "failed":
		e.status = to
		return ""
	}
	return fault.IllegalTransition
}

func (m *model) resume(old, id string, gone bool) fault.Code {
	e := m.find(old)
	switch {
	case e == nil:
		return fault.NotFound
	case e.status != "interrupted" && !(e.status == "spawned" && gone):
		return fault.IllegalTransition
	case id != old && m.live(id):
		return fault.Conflict
	}
	n := &modelEntry{id: id, status: "spawned", resumes: old}
	e.status, e.resumedBy, e.next = "resumed", id, n
	m.list = append(m.list, n)
	m.prune()
	return ""
}

// prune drops one task at a time.
func (m *model) prune() {
	for len(m.list) > m.limit {
		end := func(e *modelEntry) *modelEntry {
			for e.next != nil {
				e = e.next
			}
			return e
		}
		var victim *modelEntry
		for _, e := range m.list {
			if e.next == nil && (e.status == "completed" || e.status == "failed" || e.status == "timeout") {
				victim = e
				break
			}
		}
		if victim == nil {
			return
		}
		m.list = slices.DeleteFunc(m.list, func(e *modelEntry) bool { return end(e) == victim })
	}
}

func (m *model) String() string {
	out := ""
	for _, e := range m.list {
		out += fmt.Sprintf("%s:%s:%s:%s ", e.id, e.status, e.resumedBy, e.resumes)
	}
	return out
}

func TestRandomOperationsAgreeWithTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(rt, "limit")
		s, m, now := sheet(t, limit, ""), &model{limit: limit}, noon
		ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		statuses := rapid.SampledFrom([]string{"completed", "failed", "timeout", "interrupted"})
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-3, 5).Draw(rt, "seconds")) * time.Second)
			var got error
			var want fault.Code
			switch id := ids.Draw(rt, "id"); rapid.IntRange(0, 3).Draw(rt, "verb") {
			case 0:
				_, got = s.Spawn(Start{ID: id}, now)
				want = m.spawn(id)
			case 1, 2:
				to := statuses.Draw(rt, "to")
				_, got = s.Move(id, Status(to), "", now)
				want = m.move(id, to)
			case 3:
				other, gone := ids.Draw(rt, "new"), rapid.Bool().Draw(rt, "gone")
				_, got = s.Resume(id, Start{ID: other}, now, func(Entry) (string, bool) { return "gone", gone })
				want = m.resume(id, other, gone)
			}
			if (got == nil) != (want == "") || got != nil && fault.CodeOf(got) != want {
				rt.Fatalf("got %v, want %q; %s", got, want, m)
			}
			again, err := Parse(s.Format())
			if err != nil {
				rt.Fatal(err)
			}
			have := ""
			keys := map[string]bool{}
			for _, e := range again.Entries() {
				have += fmt.Sprintf("%s:%s:%s:%s ", e.ID, e.Status, e.ResumedBy, e.Resumes)
				key := e.ID + e.At.String()
				if keys[key] || !e.EndedAt.IsZero() && e.EndedAt.Before(e.At) {
					rt.Fatalf("a key twice, or an end before its beginning: %+v", e)
				}
				keys[key] = true
			}
			if have != m.String() {
				rt.Fatalf("the sheet holds\n     %s\nnot  %s", have, m)
			}
			if rapid.Bool().Draw(rt, "read again") {
				s = again
			}
		}
	})
}
