package history

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// Bound is an upper limit: up to and including a message, or none at all. The
// zero Bound is no limit; UpTo(0) is a limit that nothing satisfies.
type Bound struct {
	at  id.Message
	set bool
}

// NoLimit is the bound of a leaf.
var NoLimit = Bound{}

// UpTo bounds at a message, inclusive.
func UpTo(m id.Message) Bound { return Bound{m, true} }

// Limit returns the message, and whether there is a limit.
func (b Bound) Limit() (id.Message, bool) { return b.at, b.set }

// Admits reports whether a message lies within the bound.
func (b Bound) Admits(m id.Message) bool { return !b.set || m <= b.at }

// Min returns the tighter of two bounds.
func (b Bound) Min(o Bound) Bound {
	if !b.set || o.set && o.at < b.at {
		return o
	}
	return b
}

// MarshalJSON prints null for no limit.
func (b Bound) MarshalJSON() ([]byte, error) {
	if !b.set {
		return []byte("null"), nil
	}
	return []byte(b.at.String()), nil
}

// UnmarshalJSON reads what MarshalJSON prints.
func (b *Bound) UnmarshalJSON(text []byte) error {
	*b = Bound{}
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	b.set = true
	return json.Unmarshal(text, &b.at)
}

// Range is a segment of one agent's own entries.
type Range struct {
	Agent id.Agent   `json:"agent_uuid"`
	Start id.Message `json:"start_id"` // exclusive; 0 is from the beginning
	End   Bound      `json:"end_id"`   // inclusive; null is no limit
}

// Holds reports whether an entry id lies in the range.
func (r Range) Holds(m id.Message) bool { return m > r.Start && r.End.Admits(m) }

// Ancestor is one step of a lineage.
type Ancestor struct {
	Agent       id.Agent
	Parent      id.Agent   // empty at the root
	ForkMessage id.Message // last entry of the parent that this agent inherits
}

// Selection narrows what QueryRange returns.
type Selection struct {
	Shaping bool // only kinds that shape (Kind.Shapes); with Newest: from the newest backwards
	Orders  bool // only commands: what a person ordered; not those that each turn of a driver begins with
	States  bool // only states of files; with Newest: from the newest backwards
	Told    bool // only what other programs told of calls of models, here or before they were imported
	Newest  int  // from the newest backwards, at most this many that reach the model; 0: all, oldest first
	Any     bool // with Newest: whether they reach the model or not
	Words   bool // only those that reach the model, and of them only ID, Agent, Kind and Content; not with the others
}

// Log is the stored histories of a workspace, as a reader sees them. It never
// changes anything and is safe for concurrent use.
type Log interface {
	// Lineage returns the agent and its ancestors, the agent first, whatever
	// their status. Unknown agent: NOT_FOUND.
	Lineage(ctx context.Context, leaf id.Agent) ([]Ancestor, error)
	// FindClear returns the most recent clear of an agent within a bound.
	FindClear(ctx context.Context, a id.Agent, within Bound) (id.Message, bool, error)
	// QueryRange streams the entries of a range in ascending order of id. The
	// entries belong to the caller.
	QueryRange(ctx context.Context, r Range, s Selection) iter.Seq2[Entry, error]
	// Entry reads one entry. Unknown: NOT_FOUND.
	Entry(ctx context.Context, m id.Message) (Entry, error)
	// Blob reads a large content. Missing: HISTORY_DAMAGED.
	Blob(ctx context.Context, h chain.Hash) ([]byte, error)
}

// Viewer shows histories as they are at one moment. A caller that reads a context in
// several steps needs that: a clear between the steps would tear it.
type Viewer interface {
	// View calls look with a log that does not change. One query of it is read to
	// its end before the next one begins.
	View(ctx context.Context, look func(Log) error) error
}

// Proofs is a log whose entries can be read with what proves them.
type Proofs interface {
	Log
	// Records streams the records of a range in ascending order of id.
	Records(ctx context.Context, r Range) iter.Seq2[Record, error]
}

// BuildRanges walks from the leaf to the root, or to the most recent clear on
// the way, and returns what to read, root first.
func BuildRanges(ctx context.Context, log Log, leaf id.Agent) ([]Range, error) {
	return rangesUntil(ctx, log, leaf, NoLimit)
}

// rangesUntil does what BuildRanges does as it was when the leaf ended with an entry.
func rangesUntil(ctx context.Context, log Log, leaf id.Agent, end Bound) ([]Range, error) {
	lineage, err := log.Lineage(ctx, leaf)
	if err != nil {
		return nil, err
	}
	var ranges []Range
	for _, current := range lineage {
		clear, found, err := log.FindClear(ctx, current.Agent, end)
		if err != nil {
			return nil, err
		}
		if found {
			ranges = append(ranges, Range{current.Agent, clear, end})
			break
		}
		ranges = append(ranges, Range{current.Agent, 0, end})
		end = UpTo(current.ForkMessage)
	}
	slices.Reverse(ranges)
	return ranges, nil
}

func damagedEntry(e Entry, format string, args ...any) error {
	return fault.New(fault.HistoryDamaged, "agent %s message %d: "+format, append([]any{e.Agent, e.ID}, args...)...)
}

// String returns a range as people read it.
func (r Range) String() string {
	end := "no limit"
	if m, set := r.End.Limit(); set {
		end = fmt.Sprintf("up to %d", m)
	}
	return fmt.Sprintf("%s after %d, %s", r.Agent.Short(), r.Start, end)
}

// FirstAfter returns at most so many entries of some ranges after a message, oldest first, and reports whether there
// are more. The ranges are in order.
func FirstAfter(ctx context.Context, log Log, ranges []Range, after id.Message, limit int) (found []Entry, more bool, err error) {
	for _, r := range ranges {
		if r.Start = max(r.Start, after); !r.End.Admits(r.Start + 1) {
			continue
		}
		for e, err := range log.QueryRange(ctx, r, Selection{}) {
			if err != nil || len(found) == limit {
				return found, err == nil, err
			}
			found = append(found, e)
		}
	}
	return found, false, nil
}

// LastBefore returns at most so many entries of some ranges before a message (0: the last of all), newest first, and
// reports whether there are more. The ranges are in order.
func LastBefore(ctx context.Context, log Log, ranges []Range, before id.Message, limit int) (found []Entry, more bool, err error) {
	for _, r := range slices.Backward(ranges) {
		if before > 0 {
			r.End = r.End.Min(UpTo(before - 1))
		}
		if !r.End.Admits(r.Start + 1) {
			continue
		}
		for e, err := range log.QueryRange(ctx, r, Selection{Newest: limit + 1 - len(found), Any: true}) {
			if err != nil {
				return found, false, err
			}
			found = append(found, e)
		}
		if len(found) > limit {
			return found[:limit], true, nil
		}
	}
	return found, false, nil
}

// Newest returns the last entries of one range, newest first.
func Newest(ctx context.Context, log Log, r Range, most int) ([]Entry, error) {
	found, _, err := LastBefore(ctx, log, []Range{r}, 0, most)
	return found, err
}
