package wire

import "ramet/internal/model/llm"

// Rest returns what is left of a total that a vendor counted without some parts of it, which
// some vendors count apart and some within. A total below zero stays one: it is no count,
// and refused as such.
func Rest(total int64, parts ...int64) int64 {
	if total < 0 {
		return total
	}
	for _, n := range parts {
		total -= n
	}
	return max(0, total)
}

// mostTokens is more than any call takes. What it would cost is still a number.
const mostTokens = 1 << 32

// Plausible reports whether what a vendor counted can be a count: less than nothing would be booked as a
// gain, and more than can be booked ends a turn whose answer is there. wrong is the number that cannot.
func Plausible(u llm.Usage) (wrong int64, ok bool) {
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n < 0 || n > mostTokens {
			return n, false
		}
	}
	return 0, true
}

// counted passes on what is in the protocol: an impossible count is not.
func (c *Client) counted(yield func(llm.Event) bool) func(llm.Event) bool {
	return func(e llm.Event) bool {
		if e.Type == llm.Used {
			if wrong, ok := Plausible(*e.Usage); !ok {
				yield(llm.Fail(c.garbled("it says that the answer took %d tokens", wrong)))
				return false
			}
		}
		return yield(e)
	}
}
