package agent

// Spending describes what calls of models used, from birth on: an agent's own, or
// those of a whole subtree.
type Spending struct {
	Tokens int64
	Cost   int64 // in billionths of a US dollar
}

// most bounds counts: the largest number that the JSON of a history
// keeps exactly. No process can spend it; a server that lies about usage can.
const most = 1<<53 - 1

// Plus adds, and stops at the largest number that can be told exactly.
func (s Spending) Plus(o Spending) Spending {
	return Spending{Tokens: min(s.Tokens+o.Tokens, most), Cost: min(s.Cost+o.Cost, most)}
}

// Budget describes what an agent and everything below it, the dead included, may spend
// in all. The zero Budget limits nothing.
type Budget struct {
	Tokens Limit
	Cost   Limit // in billionths of a US dollar
}

// IsZero reports whether nothing is limited.
func (b Budget) IsZero() bool { return b == Budget{} }

// Limit is an upper limit, or none at all. The zero Limit is none; AtMost(0)
// allows nothing.
type Limit struct {
	at  int64
	set bool
}

// AtMost returns a limit.
func AtMost(n int64) Limit { return Limit{n, true} }

// MaybeAtMost returns a limit, or none for nil.
func MaybeAtMost(n *int64) Limit {
	if n == nil {
		return Limit{}
	}
	return AtMost(*n)
}

// Get returns the number, and whether there is a limit.
func (l Limit) Get() (int64, bool) { return l.at, l.set }

// Left returns what remains of a limit after spending, never less than 0; ok is
// false where there is no limit.
func (l Limit) Left(spent int64) (n int64, ok bool) { return max(0, l.at-spent), l.set }
