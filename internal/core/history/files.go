package history

import (
	"context"

	"ramet/internal/base/id"
)

// State describes what a files entry tells: what the files of the agent's folder were. Numbers are
// below 2^53, which RFC 8785 keeps as they are.
type State struct {
	Root    string `json:"root,omitempty"` // of the tree of folders (package files), in hex; empty: there is none
	Changed int64  `json:"changed"`        // files that differ from the agent's state before
	Bytes   int64  `json:"bytes"`          // and how large they are
	When    When   `json:"when,omitempty"`
	Folder  string `json:"folder,omitempty"` // whose state it is
	Step    int64  `json:"step,omitempty"`   // which of the folder's states
	Seen    int64  `json:"seen,omitempty"`   // of a partial state: names that are known,
	Of      int64  `json:"of,omitempty"`     // of how many
	None    string `json:"none,omitempty"`   // why there is no state
	Head    string `json:"head,omitempty"`   // of the repository: commit,
	Branch  string `json:"branch,omitempty"`
	Index   string `json:"index,omitempty"` // and SHA-256 of its index
}

// When describes what a state was taken for.
type When string

// The moments at which states are taken.
const (
	BeforeCalls  When = "before"   // the first call of a turn that may write
	AfterCalls   When = "after"    // calls that may have written
	AfterRestore When = "restored" // files were restored
	OnRequest    When = "kept"     // a person set a mark, or is about to restore files
)

// Partial reports whether the state does not hold everything.
func (s State) Partial() bool { return s.Seen < s.Of }

// NewState drafts a files entry.
func NewState(s State) Draft { return Draft{Kind: Files, Meta: Meta{Files: &s}} }

// Stated is a state and the entry that tells it.
type Stated struct {
	State
	Entry
}

// StateAt returns the state of an agent's files when a message was written; 0: the newest. That
// is the newest state up to the message, unless a later one is closer to it: the state taken
// before the calls of the same turn, or, for the result of a call, the one taken after it.
// Where there is no earlier state, the first one taken before a call has to do. StateAt reports
// false if there is none.
func StateAt(ctx context.Context, log Log, leaf id.Agent, at id.Message) (Stated, bool, error) {
	lineage, err := log.Lineage(ctx, leaf)
	if err != nil {
		return Stated{}, false, err
	}
	if at == 0 {
		return newestIn(ctx, log, lineage, NoLimit)
	}
	next, closer, err := nextState(ctx, log, lineage, at)
	if err != nil || closer {
		return next, closer, err
	}
	found, ok, err := newestIn(ctx, log, lineage, UpTo(at))
	if err == nil && !ok && next.Root != "" && next.When == BeforeCalls {
		return next, true, nil
	}
	return found, ok, err
}

// newestIn returns the newest state of a lineage up to a bound.
func newestIn(ctx context.Context, log Log, lineage []Ancestor, end Bound) (Stated, bool, error) {
	for _, step := range lineage {
		if found, ok, err := newestState(ctx, log, Range{Agent: step.Agent, End: end}); err != nil || ok {
			return found, ok, err
		}
		end = end.Min(UpTo(step.ForkMessage))
	}
	return Stated{}, false, nil
}

// nextState returns the first state after an entry that the same agent wrote, and reports whether
// it was taken closer to that entry than any state before it.
func nextState(ctx context.Context, log Log, lineage []Ancestor, at id.Message) (next Stated, closer bool, err error) {
	asked, err := log.Entry(ctx, at)
	if err != nil || asked.Kind == Files { // a state is its own
		return Stated{}, false, err
	}
	r := Range{Agent: asked.Agent, Start: at}
	for i, step := range lineage {
		if step.Agent == asked.Agent && i > 0 { // what a parent did after the fork is not the child's
			r.End = UpTo(lineage[i-1].ForkMessage)
		}
	}
	next, ok, err := firstState(ctx, log, r)
	if err != nil || !ok {
		return Stated{}, false, err
	}
	if next.Root == "" || next.When != BeforeCalls && !(next.When == AfterCalls && asked.Kind == ToolResult) {
		return next, false, nil
	}
	if asked.Kind != User && endsTurn(asked) {
		return next, false, nil
	}
	r.End = UpTo(next.ID)
	for e, err := range log.QueryRange(ctx, r, Selection{}) {
		if err != nil || endsTurn(e) || e.Kind == Assistant && next.When == AfterCalls { // which may have called further tools
			return next, false, err
		}
	}
	return next, true, nil
}

// endsTurn reports whether a turn ends with an entry, or before it: a person may have changed files
// until the next one.
func endsTurn(e Entry) bool {
	switch e.Kind {
	case User, Interrupted, Killed, Mark, Rewind, Clear:
		return true
	case Assistant:
		calls, err := callsOf(e, map[string]bool{})
		return err != nil || len(calls) == 0
	}
	return false
}

// StateBefore returns the state that an agent's history tells before an entry.
func StateBefore(ctx context.Context, log Log, leaf id.Agent, entry id.Message) (Stated, bool, error) {
	lineage, err := log.Lineage(ctx, leaf)
	if err != nil {
		return Stated{}, false, err
	}
	return newestIn(ctx, log, lineage, UpTo(entry-1))
}

// States reads the own states of an agent, oldest first.
func States(ctx context.Context, log Log, a id.Agent) ([]Stated, error) {
	var out []Stated
	for e, err := range log.QueryRange(ctx, Range{Agent: a}, Selection{States: true}) {
		if err != nil {
			return nil, err
		}
		s, err := newStated(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// newestState returns the newest state of a range that is one.
func newestState(ctx context.Context, log Log, r Range) (Stated, bool, error) {
	for {
		var last id.Message
		for e, err := range log.QueryRange(ctx, r, Selection{States: true, Newest: 8}) {
			if err != nil {
				return Stated{}, false, err
			}
			s, err := newStated(e)
			if err != nil || s.Root != "" {
				return s, err == nil, err
			}
			last = e.ID
		}
		if last == 0 {
			return Stated{}, false, nil
		}
		r.End = UpTo(last - 1)
	}
}

// firstState returns the oldest state of a range.
func firstState(ctx context.Context, log Log, r Range) (Stated, bool, error) {
	for e, err := range log.QueryRange(ctx, r, Selection{States: true}) {
		if err != nil {
			return Stated{}, false, err
		}
		s, err := newStated(e)
		return s, err == nil, err
	}
	return Stated{}, false, nil
}

func newStated(e Entry) (Stated, error) {
	m, err := e.Decode()
	if err == nil && m.Files == nil {
		err = damagedEntry(e, "tells no state")
	}
	if err != nil {
		return Stated{Entry: e}, err
	}
	return Stated{*m.Files, e}, nil
}
