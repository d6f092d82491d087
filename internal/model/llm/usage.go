package llm

import (
	"fmt"
	"strings"
)

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
