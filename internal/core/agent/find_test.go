package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/testkit"
)

// people is a Directory in memory.
type people []Agent

func (p people) Agent(_ context.Context, a id.Agent) (Agent, error) {
	for _, o := range p {
		if o.ID == a {
			return o, nil
		}
	}
	return Agent{}, fault.New(fault.NotFound, "no agent %q", a)
}

func (p people) Zero(context.Context) (Agent, error) { return p[0], nil }

func (p people) Agents(context.Context, Filter) ([]Agent, error) { return p, nil }

func (p people) Named(_ context.Context, name string) (Agent, bool, error) {
	var best Agent
	for _, o := range p {
		if o.Name == name && (o.Status == Running || best.ID == "" || best.Status == Dead && o.EndedAt.After(best.EndedAt)) {
			best = o
		}
	}
	return best, best.ID != "", nil
}

func (p people) Prefixed(_ context.Context, prefix string, limit int) ([]Agent, error) {
	var out []Agent
	for _, o := range p {
		if strings.HasPrefix(string(o.ID), prefix) && len(out) < limit {
			out = append(out, o)
		}
	}
	return out, nil
}

func (p people) Names(context.Context) ([]string, error) {
	var out []string
	for _, o := range p {
		if o.Name != "" && o.Status == Running {
			out = append(out, o.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// uuid pads a beginning to a well-formed identity.
func uuid(begin string) id.Agent { return id.Agent(begin + strings.Repeat("A", 22-len(begin))) }

func crowd() people {
	at := func(h int) time.Time { return time.Date(2026, 1, 1, h, 0, 0, 0, time.UTC) }
	dead := func(begin, name string, h int) Agent {
		return Agent{ID: uuid(begin), Name: name, Parent: uuid("zero"), Status: Dead, EndedAt: at(h)}
	}
	live := func(begin, name string) Agent {
		return Agent{ID: uuid(begin), Name: name, Parent: uuid("zero"), Status: Running}
	}
	return people{
		{ID: uuid("zero"), Status: Running},
		dead("old1", "worker", 1), live("live", "worker"), dead("old2", "worker", 3),
		dead("gone1", "ghost", 5), dead("gone2", "ghost", 7), dead("gone3", "ghost", 6),
		live("twin1", "left"), live("twin2", ""),
		live("beef1", "feed"), live("feed2", "x"), // a name that is also the beginning of another's uuid
		live("long1", string(uuid("name"))), // a name as long as a uuid
	}
}

func TestFindInItsOrder(t *testing.T) {
	for _, c := range []struct{ what, ref, want string }{
		{"0 is agent 0", "0", "zero"},
		{"a full uuid", string(uuid("old1")), "old1"},
		{"the living name before any dead one", "worker", "live"},
		{"the newest dead name", "ghost", "gone2"},
		{"a unique prefix of four", "twin1", "twin1"},
		{"a unique prefix of exactly four", "beef", "beef1"},
		{"a name shadows a prefix", "feed", "beef1"},
		{"a longer prefix reaches behind the shadow", "feed2", "feed2"},
		{"all but the last character", string(uuid("twin2"))[:21], "twin2"},
	} {
		t.Run(c.what, func(t *testing.T) {
			a, err := Find(t.Context(), crowd(), c.ref)
			if err != nil || a.ID != uuid(c.want) {
				t.Errorf("%s: %s, %v, want %s", c.ref, a.ID, err, uuid(c.want))
			}
		})
	}
	t.Run("a name as long as a uuid", func(t *testing.T) {
		// Its capitals make this one no name: it stays a uuid that nobody has.
		if _, err := Find(t.Context(), crowd(), string(uuid("name"))); !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
	})
}

func TestFindRefuses(t *testing.T) {
	for _, c := range []struct {
		what, ref string
		code      fault.Code
		says      string
	}{
		{"an ambiguous prefix lists them", "twin", fault.Ambiguous, string(uuid("twin1")) + " (left), " + string(uuid("twin2")) + ": give more"},
		{"a prefix under four", "twi", fault.InvalidID, "too short"},
		{"the nearest name is suggested", "wroker", fault.NotFound, `did you mean "worker"?`},
		{"also for a short word", "lef", fault.NotFound, `did you mean "left"?`},
		{"the dead are not suggested", "gost", fault.NotFound, "ramet ps --all"},
		{"an unknown prefix", "nobody", fault.NotFound, `no agent "nobody"`},
		{"an unknown uuid", string(uuid("none")), fault.NotFound, "no agent"},
		{"nothing", "", fault.NotFound, `no agent ""`},
		{"something that is not a prefix", "-rf", fault.NotFound, "no agent"},
		{"escape codes", "a\x1b[2Jb", fault.NotFound, "no agent"},
		{"far too long", strings.Repeat("a", 1000), fault.NotFound, "…"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := Find(t.Context(), crowd(), c.ref)
			if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%.40q: %s: %v", c.ref, fault.CodeOf(err), err)
			}
			if strings.Contains(err.Error(), "\x1b") {
				t.Errorf("escape codes get through: %q", err)
			}
		})
	}
}

func TestAmbiguousListsAFewOnly(t *testing.T) {
	var many people
	for i := range 50 {
		many = append(many, Agent{ID: uuid(fmt.Sprintf("same%02d", i)), Status: Running})
	}
	_, err := Find(t.Context(), many, "same")
	if !fault.Is(err, fault.Ambiguous) || strings.Count(err.Error(), "same") != 1+maxListed || !strings.Contains(err.Error(), ", …") {
		t.Error(err)
	}
}

func TestNamesFollowTheRule(t *testing.T) {
	for _, good := range []string{"a", "z9", "review.the_api-2", "a" + strings.Repeat("b", 62), "running", "a.", "a-"} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "9a", "A", "aB", "-a", "_a", ".a", "a b", " a", "a ", "a\n", "\na", "a\x00", "ä", "aä",
		"a/b", "a\xff", "a" + strings.Repeat("b", 63)} {
		err := CheckName(bad)
		if !fault.Is(err, fault.InvalidName) || !strings.Contains(err.Error(), "begins with a-z") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, word := range []string{"you", "parent", "kernel", "0"} {
		if err := CheckName(word); !fault.Is(err, fault.InvalidName) || !strings.Contains(err.Error(), "the word has another meaning") {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestTheDeadAreRefusedWithTimeAndReason(t *testing.T) {
	testkit.OK(t, NeedLiving(Agent{Status: Running}))
	err := NeedLiving(Agent{ID: "abcdefghijklmnopqrstuv", Parent: "p", Status: Dead, EndReason: "done",
		EndedAt: time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("x", 3600))})
	if !fault.Is(err, fault.DeadAgent) || !strings.Contains(err.Error(), "agent abcdefgh is dead since 2026-05-01T11:00:00Z (done)") {
		t.Error(err)
	}
}

func TestLabels(t *testing.T) {
	for want, a := range map[string]Agent{
		"0":        {ID: "abcdefghijklmnopqrstuv"},
		"boss":     {ID: "abcdefghijklmnopqrstuv", Name: "boss"},
		"abcdefgh": {ID: "abcdefghijklmnopqrstuv", Parent: "p"},
		"kid":      {ID: "abcdefghijklmnopqrstuv", Parent: "p", Name: "kid"},
	} {
		if a.Label() != want {
			t.Errorf("%q, want %q", a.Label(), want)
		}
	}
}

func TestSpendingAddsUpToWhatCanBeTold(t *testing.T) {
	for _, c := range []struct{ a, b, want Spending }{
		{Spending{}, Spending{}, Spending{}},
		{Spending{1, 2}, Spending{10, 20}, Spending{11, 22}},
		{Spending{most, 1}, Spending{1, 1}, Spending{most, 2}},
		{Spending{most, most}, Spending{most, most}, Spending{most, most}},
	} {
		if got := c.a.Plus(c.b); got != c.want {
			t.Errorf("%+v plus %+v is %+v, want %+v", c.a, c.b, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	five := int64(5)
	for _, c := range []struct {
		what        string
		limit       Limit
		spent, left int64
		limited     bool
	}{
		{"none", Limit{}, 7, 0, false},
		{"none, of nil", MaybeAtMost(nil), 7, 0, false},
		{"nothing allowed", AtMost(0), 0, 0, true},
		{"some left", MaybeAtMost(&five), 3, 2, true},
		{"all spent", AtMost(5), 5, 0, true},
		{"overspent", AtMost(5), 9, 0, true},
	} {
		if left, ok := c.limit.Left(c.spent); ok != c.limited || ok && left != c.left {
			t.Errorf("%s: %d %v left, want %d %v", c.what, left, ok, c.left, c.limited)
		}
	}
	if !(Budget{}).IsZero() || (Budget{Cost: AtMost(0)}).IsZero() || (Budget{Tokens: AtMost(1)}).IsZero() {
		t.Error("a budget without limits is the zero one, and no other")
	}
	if AtMost(5) != MaybeAtMost(&five) || AtMost(0) == (Limit{}) {
		t.Error("limits are compared by what they say")
	}
}

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
