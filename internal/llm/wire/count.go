package wire

import "ramet/internal/llm"

// Rest is what is left of a total that a vendor counted without some parts of it, which
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

// counted passes on what is in the protocol: an answer that used less than no tokens is
// not, and would be booked as a gain.
func (c *Client) counted(yield func(llm.Event) bool) func(llm.Event) bool {
	return func(e llm.Event) bool {
		if e.Type == llm.Used {
			u := e.Usage
			if least := min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning); least < 0 {
				yield(llm.Fail(c.garbled("it says that the answer took %d tokens", least)))
				return false
			}
		}
		return yield(e)
	}
}
