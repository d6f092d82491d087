package agent

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/id"
)

func living(a *Agent) bool { return a.Status == Running }

func anybody(*Agent) bool { return true }

// drawn prints a tree as ps does, with the home of each.
func drawn(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "%s%s<%s\n", strings.Repeat(" ", n.Indent), n.ID, n.Home)
	}
	return b.String()
}

func TestOrphansHangUnderTheirNearestLivingAncestor(t *testing.T) {
	all := []Agent{
		{ID: "0", Status: Running},
		{ID: "a", Parent: "0", Status: Dead},
		{ID: "b", Parent: "0", Status: Running},
		{ID: "c", Parent: "a", Status: Dead},
		{ID: "d", Parent: "c", Status: Running}, // two dead above
		{ID: "e", Parent: "b", Status: Running},
		{ID: "f", Parent: "d", Status: Running},
		{ID: "g", Parent: "b", Status: Dead},
		{ID: "h", Parent: "0", Status: Running},
	}
	if got, want := drawn(Tree(all, living)), "0<\n b<0\n  e<b\n d<0\n  f<d\n h<0\n"; got != want {
		t.Errorf("the living:\n%swant\n%s", got, want)
	}
	if got, want := drawn(Tree(all, anybody)), "0<\n a<0\n  c<a\n   d<c\n    f<d\n b<0\n  e<b\n  g<b\n h<0\n"; got != want {
		t.Errorf("all:\n%swant\n%s", got, want)
	}
	if got := Tree(nil, anybody); len(got) != 0 {
		t.Error(got)
	}
}

func TestATree1000Deep(t *testing.T) {
	all := []Agent{{ID: "a0", Status: Running}}
	for i := 1; i <= 1000; i++ {
		all = append(all, Agent{ID: id.Agent(fmt.Sprintf("a%d", i)), Parent: id.Agent(fmt.Sprintf("a%d", i-1)), Status: Dead})
	}
	all[1000].Status = Running
	if nodes := Tree(all, anybody); len(nodes) != 1001 || nodes[1000].Indent != 1000 || nodes[1000].Home != "a999" {
		t.Errorf("%d nodes", len(nodes))
	}
	if got, want := drawn(Tree(all, living)), "a0<\n a1000<a0\n"; got != want {
		t.Errorf("%q", got)
	}
}
