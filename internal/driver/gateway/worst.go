package gateway

import (
	"sort"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
)

// Call is what a call of a model may come to.
type Call struct {
	Agent  id.Agent
	Model  string // for people
	Input  int64  // tokens that are read, at most
	Output int64  // tokens that are written, at most, if nothing binds
	Least  int64  // what Output may be lowered to
	Price  llm.Price
	Priced bool  // Price is known; it may be nothing
	Search int64 // searches of the web at the vendor, at most
}

// Worst is the most that a call with that output can come to.
func (c Call) Worst(output int64) agent.Spending {
	// What is read may go into a cache, which costs more.
	plain := c.Price.Cost(llm.Usage{Input: c.Input, Output: output, Searches: c.Search})
	kept := c.Price.Cost(llm.Usage{CacheWrite: c.Input, CacheHour: c.Input, Output: output, Searches: c.Search})
	return agent.Spending{Tokens: c.Input + output, Cost: int64(max(plain, kept))}
}

// fits is the most output whose worst case is within tokens and cost; less than 0: none is.
func (c Call) fits(tokens, cost int64, bound, priced bool) int64 {
	out := c.Output
	if bound {
		out = min(out, tokens-c.Input)
	}
	if !priced || out < 0 || c.Worst(out).Cost <= cost {
		return out
	}
	// The first that is too much, less one.
	return int64(sort.Search(int(out)+1, func(n int) bool { return c.Worst(int64(n)).Cost > cost })) - 1
}
