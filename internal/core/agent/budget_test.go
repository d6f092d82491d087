package agent

import "testing"

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
