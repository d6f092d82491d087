// Package llm defines how ramet talks to models of all vendors: Message, Request, the stream of Events that
// answers it, and Provider, the port that every vendor implements. It also makes images and documents fit
// for a model.
//
// # The stream
//
// A call is an iterator. Everything that happens comes through it, failures included, and it ends with
// exactly one terminal event: Finish, or Failed. A stream that stops without one was cut, which is a
// failure (STREAM_CUT) and never an answer: none of its tool calls is passed on.
//
// Deltas are for screens. Done brings one whole part, in the order of the message, with its signature. The
// message is the list of its Done parts; Collect makes it.
//
// # Thinking, and what vendors keep in it
//
// Vendors sign or encrypt what a model thought and demand it back unchanged. A Part keeps that in Signature
// and Opaque, with Origin, the protocol that can read it. An adapter sends both back byte for byte where the
// origin is its own, and leaves foreign thinking out, so that a history can move from one vendor to another.
//
// # Tokens and money
//
// Usage counts each token once: Input is what was read neither from nor into a cache. Vendors count
// otherwise, and adapters convert. Totals are computed here. Money is whole nano-dollars, so that sums do not
// drift.
//
// # Pictures
//
// The type of a file follows from its first bytes. FitPicture returns PNG, JPEG or WebP within the size that
// every vendor accepts; what fits already is unchanged. An image is decoded whole, because a vendor that
// refuses a damaged one would refuse the conversation from then on. A GIF becomes its first frame, a photo is
// rotated as its camera says, and memory is bounded whatever a header claims.
package llm

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"ramet/internal/base/fault"
)

// Provider answers requests. Adapters and decorators implement it.
type Provider interface {
	// Stream asks a model and yields what happens, as it happens.
	//
	// The call is made when the iterator is ranged over, once for each time. The
	// last event is Finished or Failed, there is exactly one of these, and nothing
	// follows it; only a consumer that breaks off sees none. Before it, Done
	// brings every part of the message in order; the deltas of a part, joined, are
	// its text or, for a call, its arguments. Each Used replaces the one before.
	// The first event of a call that left this process is Sent, again for each
	// attempt.
	//
	// Err of Failed is a fault: PROVIDER_…, STREAM_CUT, or CANCELLED or TIMEOUT
	// when ctx ended. A Failure in its chain says whether the call may be
	// repeated. When ctx ends or the consumer breaks off, the connection is shut
	// at once, and nothing of the call runs on.
	//
	// The request is not changed, and must not be while the stream runs. Calls may
	// run concurrently.
	Stream(ctx context.Context, r Request) iter.Seq[Event]
}

// Func makes a provider of a function.
type Func func(ctx context.Context, r Request) iter.Seq[Event]

// Stream calls f.
func (f Func) Stream(ctx context.Context, r Request) iter.Seq[Event] { return f(ctx, r) }

// MissingKey is the cause of a fault: a vendor needs a key, and none is known.
type MissingKey struct {
	Vendor   string
	Variable string // of the environment, that would hold it
}

// Error implements error.
func (m *MissingKey) Error() string { return "there is no key for " + m.Vendor }

// Ref names a model: the vendor it is asked at, and the vendor's name for it.
type Ref struct{ Vendor, Name string }

// String returns vendor/name.
func (r Ref) String() string { return r.Vendor + "/" + r.Name }

// ParseRef reads vendor/name. The name may hold further slashes.
func ParseRef(s string) (Ref, error) {
	vendor, name, ok := strings.Cut(s, "/")
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if !ok || vendor == "" || name == "" || strings.ContainsFunc(s, odd) {
		return Ref{}, fault.New(fault.InvalidConfig, "%.80q names no model", s).
			WithHint("write vendor/name; `ramet models` lists them")
	}
	return Ref{strings.ToLower(vendor), name}, nil
}

// Model describes a model.
type Model struct {
	Name    string   `json:"name"`              // the vendor's name for it
	Title   string   `json:"title"`             // for people
	Price   Price    `json:"price"`             // zero where it costs nothing or it is unknown
	Context int64    `json:"context"`           // tokens it can read and write in all; 0: unknown
	Output  int64    `json:"output"`            // tokens of one answer; 0: unknown
	Thinks  bool     `json:"thinks"`            // it can be told to think
	Efforts []string `json:"efforts,omitempty"` // the vendor's words for how hard
	Images  bool     `json:"images"`            // it can read images
	PDF     bool     `json:"-"`                 // it is asked in a protocol that has a place for documents, and can read them
	Effort  Effort   `json:"effort,omitempty"`  // how hard it is to think by default
	Quiet   bool     `json:"quiet,omitempty"`   // it shows its thinking only when told to
	Steady  bool     `json:"steady,omitempty"`  // it takes no temperature
	Search  bool     `json:"search,omitempty"`  // its vendor searches the web for it
	Known   bool     `json:"-"`                 // it is in the table: what is false here is false
}

// Think returns the word that asks a model to think as hard as e, or "" where it is
// not asked: no effort is given, or it is known not to think. An unknown model
// is asked: the user who named an effort knows it.
func (m Model) Think(e Effort) string {
	switch {
	case e == "", m.Known && !m.Thinks:
		return ""
	case len(m.Efforts) > 0:
		return m.Nearest(e)
	}
	return string(e)
}

// Nearest returns the model's own word for an effort: the same, else the one that is
// least far from it, the harder of two. "" where it has none.
func (m Model) Nearest(e Effort) string {
	asked := slices.Index(ladder, e)
	if asked < 0 {
		return ""
	}
	best, away := "", len(ladder)
	for i, step := range ladder {
		if !slices.Contains(m.Efforts, string(step)) || step == Off && e != Off {
			continue
		}
		if d := max(i-asked, asked-i); d <= away {
			best, away = string(step), d
		}
	}
	return best
}

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
