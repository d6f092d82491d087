package loop

import (
	"context"

	"ramet/internal/chain"
	"ramet/internal/llm"
	"ramet/internal/llm/catalog"
)

// longAnswer is the limit of an answer where nobody knows how much the model may
// write nor how much it may read.
const longAnswer = 32_000

// longest is how long the next answer may be at most: the model's limit, or what
// its window leaves where that is less. It is always sent, so that what is
// recorded of a call is what was asked.
func (r *turn) longest() int64 {
	most := r.Model.Output
	if window := r.Model.Context; window > 0 {
		// What was counted is an estimate: near its end the vendor knows better.
		left := max(window-r.tokens(), window/16)
		if most <= 0 || left < most {
			most = left
		}
	}
	if most <= 0 {
		most = longAnswer
	}
	return most
}

// allowed is the limit of the next answer in tokens. A limit on money becomes one
// on tokens by the price of what is written.
func (r *turn) allowed(ctx context.Context) (int64, error) {
	left, err := r.Budget.Left(ctx)
	if err != nil {
		return 0, err
	}
	limit := r.longest()
	if left.Tokens != nil {
		limit = min(limit, *left.Tokens)
	}
	if price := r.Model.Price.Output; left.Cost != nil && price > 0 {
		// A price is in thousandths of Money.
		if tokens := float64(*left.Cost) * 1000 / float64(price); tokens < float64(limit) {
			limit = int64(tokens)
		}
	}
	return max(1, limit), nil
}

// price is what is known of the price: a model without one costs nothing where its
// vendor is this machine, and an unknown amount elsewhere.
func (r *turn) price(string) (llm.Price, bool) {
	free := r.Ref.Vendor == "offline" || r.Ref.Vendor == "script"
	for _, v := range catalog.Vendors() {
		free = free || v.Local && v.Name == r.Ref.Vendor
	}
	return r.Model.Price, free || r.Model.Price != llm.Price{}
}

// filling is what is known of the size of the context: the tokens of the last
// call, and the bytes of the conversation then.
type filling struct{ tokens, size int64 }

// bytesPerToken is 3.5; models differ, and this is on the safe side.
func tokensOf(bytes int64) int64 { return bytes * 2 / 7 }

// tokens is how much the next request would be, about.
func (r *turn) tokens() int64 {
	if r.filled.tokens > 0 {
		return r.filled.tokens + tokensOf(max(0, r.c.state.size-r.filled.size))
	}
	size := r.c.state.size
	for _, m := range r.System {
		size += sizeOf(m)
	}
	for _, t := range r.offer {
		size += int64(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	return tokensOf(size)
}

// full says that the conversation should be compacted.
func (r *turn) full() bool {
	return r.Model.Context > 0 && r.tokens() > r.Model.Context/100*int64(r.Limits.Fill)
}

// repeats counts how often the same call failed in a row.
type repeats struct {
	key   string
	tool  string
	count int
}

func (r *repeats) note(call llm.Part, failed bool) {
	if !failed {
		*r = repeats{}
		return
	}
	args := call.Args
	if same, err := chain.Canonical(call.Args); err == nil {
		args = same
	}
	key := call.Name + "\x00" + string(args) + "\x00" + call.Malformed
	if key != r.key {
		*r = repeats{key: key, tool: word(call.Name)}
	}
	r.count++
}
