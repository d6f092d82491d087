package loop

import (
	"context"
	"fmt"

	"ramet/internal/model/catalog"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
)

const (
	// longAnswer is the limit of an answer where it is unknown how much the model may
	// write nor how much it may read.
	longAnswer = 32_000
	// answerLeast is the least that an answer is given room for.
	answerLeast = 1024
)

// longest returns how long the next answer may be at most: the model's limit, or what
// its window leaves where that is less. It is always sent, so that what is
// recorded of a call is what was asked.
func (r *turn) longest() int64 {
	most := r.Model.Output
	if window := r.window(); window > 0 {
		if most <= 0 {
			most = window / 2
		}
		// What was counted is an estimate, which some servers hold us to: there is a margin.
		filled := r.tokens()
		left := window - filled - filled/32 - window/64
		most = min(most, max(left, window/16))
	}
	if most <= 0 {
		most = longAnswer
	}
	if r.brief > 0 {
		most = min(most, r.brief)
	}
	return most
}

// fewest is the lowest limit of an answer.
const fewest = 4096

// mostSearches limits how often a model may search the web in one call.
const mostSearches = 16

// allowed returns the limit of the next answer in tokens. What the call may come to is set aside
// until what it came to is written (spent).
func (r *turn) allowed(ctx context.Context) (int64, error) {
	longest := r.longest()
	price, priced := r.price("")
	w := Worst{Model: r.Ref, Input: r.atMost(), Output: longest, Least: min(longest, fewest), Price: price, Priced: priced}
	if r.Search {
		w.Search = mostSearches
	}
	got, err := r.Budget.Reserve(ctx, w)
	if err != nil {
		return 0, err
	}
	r.bound, r.settle, r.worst = got.Bound, got.Settle, w.Input
	return max(1, got.Output), nil
}

// uncounted returns a call with what it can have taken at most, where a budget binds and the vendor did
// not say what it took, or not all of it: else an agent that is never told could spend forever. No token
// has less than a byte; came is how many of the answer did, whole says that it came to its end.
func (r *turn) uncounted(c decorate.RecordedCall, came int64, whole bool) decorate.RecordedCall {
	u := &c.Usage
	told := u.Total() > 0
	if !r.bound || whole && told || !whole && c.First == 0 { // what was refused took nothing
		return c
	}
	if u.Input+u.CacheRead+u.CacheWrite == 0 {
		u.Input = r.worst
	}
	u.Output = max(u.Output, came)
	if price, known := r.price(""); known {
		c.Cost = price.Cost(*u)
	}
	if whole && !r.silent {
		r.silent = true
		r.emit(Event{Type: Note, Text: fmt.Sprintf("the server of %s doesn't report the tokens of its answers: they count against the budget at their maximum, a token for each byte", r.Ref)})
	}
	return c
}

// atMost returns how much the next request can be: no token has less than a byte; and what the
// vendor counted before is known.
func (r *turn) atMost() int64 {
	bytes := r.fixed + r.c.state.size
	if m := &r.meter; m.tokens > 0 {
		return min(bytes, m.tokens+m.tokens/8+max(0, r.c.state.size-m.size)) + aside
	}
	return bytes + aside
}

// aside estimates the tokens that vendors add to a request: the words around tools and roles.
const aside = 1024

// price returns what is known of the price: a model without one costs nothing where its
// vendor is this machine, and an unknown amount elsewhere.
func (r *turn) price(string) (llm.Price, bool) {
	if r.Model.Price != (llm.Price{}) {
		return r.Model.Price, true
	}
	return llm.Price{}, r.Ref.Vendor == "offline" || r.Ref.Vendor == "script" || catalog.IsLocal(r.Ref.Vendor)
}

// full reports whether room should be made.
func (r *turn) full() bool {
	window := r.window()
	return window > 0 && r.tokens() > window/100*int64(r.Limits.Fill)
}

// spent counts and tells what a call cost, which was just written.
func (r *turn) spent(c decorate.RecordedCall) {
	if r.settle != nil {
		r.settle(context.Background()) // although the caller may be gone
		r.settle = nil
	}
	r.out.Usage = r.out.Usage.Plus(c.Usage)
	r.out.Cost += c.Cost
	r.emit(Event{Type: Spent, Usage: c.Usage, Cost: c.Cost})
}

// window returns how much the model reads and writes, in tokens; 0 if unknown.
func (r *turn) window() int64 {
	out := r.Model.Context
	for _, n := range []int64{r.Learnt.get(), r.narrow} {
		if n > 0 && (out == 0 || n < out) {
			out = n
		}
	}
	return out
}

// tokens returns how much the next request would be, about.
func (r *turn) tokens() int64 {
	m := &r.meter
	if m.tokens > 0 {
		return m.tokens + m.tokensOf(max(0, r.c.state.size-m.size))
	}
	return m.tokensOf(r.fixed + r.c.state.size)
}
