package llm

import (
	"cmp"
	"fmt"
	"strings"
)

// Price is the price of one token, in pico-dollars (10⁻¹² USD), which is the
// price of a million tokens in micro-dollars.
type Price struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`           // 0: as Input
	CacheWrite int64 `json:"cache_write"`          // 0: as Input
	CacheHour  int64 `json:"cache_hour,omitempty"` // into a cache that lasts an hour; 0: twice Input
	Long       Long  `json:"long,omitzero"`
	Search     int64 `json:"search,omitempty"` // of one search of the web, in pico-dollars too
}

// Long is the charge for a whole call whose context is long, in percent of
// the usual price.
type Long struct {
	Above  int64 `json:"above"` // tokens read, from a cache or not; 0: there is no such price
	Input  int64 `json:"input"` // also of what goes into or comes from a cache
	Output int64 `json:"output"`
}

// Cost returns what a usage costs, rounded up to whole nano-dollars: what the vendor
// billed, or else its price.
func (p Price) Cost(u Usage) Money {
	if u.Billed > 0 {
		return u.Billed
	}
	read, write, hour := p.CacheRead, p.CacheWrite, p.CacheHour
	read = cmp.Or(read, p.Input)
	write = cmp.Or(write, p.Input)
	hour = cmp.Or(hour, 2*p.Input)
	kept := min(u.CacheHour, u.CacheWrite)
	in := u.Input*p.Input + u.CacheRead*read + (u.CacheWrite-kept)*write + kept*hour
	out := u.Output * p.Output
	if l := p.Long; l.Above > 0 && u.Input+u.CacheRead+u.CacheWrite > l.Above {
		in, out = in/100*l.Input, out/100*l.Output
	}
	return Money((in + out + u.Searches*p.Search + 999) / 1000)
}

// Usage is the tokens of a call.
type Usage struct {
	Input      int64 `json:"input"`                // read, and neither from nor into a cache
	Output     int64 `json:"output"`               // written, thinking included
	CacheRead  int64 `json:"cache_read"`           // read from a cache
	CacheWrite int64 `json:"cache_write"`          // read, and put into a cache
	Reasoning  int64 `json:"reasoning"`            // of Output, what was thinking, where the vendor says so
	CacheHour  int64 `json:"cache_hour,omitempty"` // of CacheWrite, what is kept for an hour
	Billed     Money `json:"billed,omitempty"`     // what the vendor says it charged; 0 where it does not say
	Searches   int64 `json:"searches,omitempty"`   // of the web, at the vendor
}

// Total returns all tokens, each counted once.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Plus returns the sum of two.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead,
		u.CacheWrite + v.CacheWrite, u.Reasoning + v.Reasoning, u.CacheHour + v.CacheHour, u.Billed + v.Billed, u.Searches + v.Searches}
}

// Money is an amount in nano-dollars (10⁻⁹ USD).
type Money int64

// String returns the amount in dollars with at least two decimals: $0.0123.
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	cents := strings.TrimRight(fmt.Sprintf("%09d", m%1e9), "0")
	return fmt.Sprintf("%s$%d.%s", sign, m/1e9, cents+strings.Repeat("0", max(0, 2-len(cents))))
}
