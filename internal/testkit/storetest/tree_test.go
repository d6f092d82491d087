package storetest

import (
	"strings"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

func TestADrawingGivesIdsForksAndOrder(t *testing.T) {
	tree := testkit.Must(ParseTree(`
		root ─ m1 ─ mark(x) ─ m3 ─ m9
		│           │         ├─ rewind(x) ─ m11 (a)
		│           │         &─ m12=clear (b)
		│           └─ (c) ─ compact(m1..m1)
		└─ m20 ─ kill (d)`))(t)
	var got []string
	for _, a := range tree.Agents {
		line := a.Name + "@" + a.ForkID().String()
		if a.Twin {
			line += " twin"
		}
		for _, s := range a.Steps {
			line += " " + s.ID.String() + ":" + string(s.Kind)
			if s.Kind == history.Rewind {
				line += "->" + s.Target.String()
			}
		}
		got = append(got, line)
	}
	want := `root@0 1:user 2:mark 3:user 9:user
a@3 10:rewind->2 11:user
b@3 twin 12:clear
c@2 13:compact
d@0 20:user 21:killed`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func TestBadDrawingsAreRefused(t *testing.T) {
	for _, c := range []struct{ drawing, want string }{
		{"", "empty"},
		{"root ─ m1\n └─ m2", "no name"},
		{"root ─ m1\n          └─ m2 (c)", "nothing stands above"},
		{"root ─ m1 ─ m1", "twice"},
		{"root ─ m2 ─ m1", "ascend"},
		{"root ─ m2\n       └─ m1 (c)", "ascend"},
		{"root ─ m1\n       └─ m2 (root)", "two agents"},
		{"root ─ hello", "no such entry"},
		{"root ─ m1 m2", "not an entry"},
		{"root ─ rewind(x)", "no mark"},
		{"root ─ mark(x) ─ clear ─ rewind(x)", "behind the clear"},
		{"root ─ compact(3)", "compact wants"},
		{"root ─ m1\n&─ m2 (c)", "joins a fork"},
		{"root ─ m1\nm2 (c)", "want └─"},
		{"root ─ note(x)", "no argument"},
		{"root ─ m1\n       └─ (a) ─ m2 (b)", "two names"},
	} {
		if _, err := ParseTree(c.drawing); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.drawing, err, c.want)
		}
	}
}
