package agent

import (
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

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
