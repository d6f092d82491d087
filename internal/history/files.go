package history

import (
	"context"

	"ramet/internal/id"
)

// State is what a files entry tells: what the files of the agent's folder were. Numbers are
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

// When is what a state was taken for.
type When string

// The moments at which states are taken.
const (
	BeforeCalls  When = "before"   // the first call of a turn that may write
	AfterCalls   When = "after"    // calls that may have written
	AfterRestore When = "restored" // files were restored
)

// Partial says that the state does not hold everything.
func (s State) Partial() bool { return s.Seen < s.Of }

// NewState drafts a files entry.
func NewState(s State) Draft { return Draft{Kind: Files, Meta: Meta{Files: &s}} }

// Stated is a state and the entry that tells it.
type Stated struct {
	State
	Entry
}

// StateAt is the state of an agent's files when a message was written; 0: the newest. It is
// that of the newest entry up to there, or of the next one where nothing was written between:
// one that was taken before the first call, or behind the result of a call. false: there is
// none.
func StateAt(ctx context.Context, log Log, leaf id.Agent, at id.Message) (Stated, bool, error) {
	lineage, err := log.Lineage(ctx, leaf)
	if err != nil {
		return Stated{}, false, err
	}
	end := NoLimit
	if at != 0 {
		if next, ok, err := nextState(ctx, log, lineage, at); err != nil || ok {
			return next, ok, err
		}
		end = UpTo(at)
	}
	return newestIn(ctx, log, lineage, end)
}

// newestIn is the newest state of a lineage up to a bound.
func newestIn(ctx context.Context, log Log, lineage []Ancestor, end Bound) (Stated, bool, error) {
	for _, step := range lineage {
		if found, ok, err := newestState(ctx, log, Range{Agent: step.Agent, End: end}); err != nil || ok {
			return found, ok, err
		}
		end = end.Min(UpTo(step.ForkMessage))
	}
	return Stated{}, false, nil
}

// nextState is the first state behind an entry, if it tells what the files were there.
func nextState(ctx context.Context, log Log, lineage []Ancestor, at id.Message) (Stated, bool, error) {
	asked, err := log.Entry(ctx, at)
	if err != nil {
		return Stated{}, false, err
	}
	if asked.Kind == Files {
		return Stated{}, false, nil // it tells its own
	}
	for i := len(lineage) - 1; i >= 0; i-- { // the oldest first
		r := Range{Agent: lineage[i].Agent, Start: at}
		if i > 0 {
			r.End = UpTo(lineage[i-1].ForkMessage)
		}
		next, ok, err := firstState(ctx, log, r)
		if err != nil || !ok {
			if err != nil {
				return next, false, err
			}
			continue
		}
		switch {
		case next.Root == "" || next.Agent != asked.Agent: // a parent may have gone on meanwhile
			return next, false, nil
		case next.When == BeforeCalls:
			return next, true, nil
		case next.When != AfterCalls || asked.Kind != ToolResult:
			return next, false, nil
		}
		// The state after the calls stands before the model's next message.
		for e, err := range log.QueryRange(ctx, Range{Agent: asked.Agent, Start: at, End: UpTo(next.ID)}, Selection{}) {
			if err != nil || e.Kind == Assistant {
				return next, false, err
			}
		}
		return next, true, nil
	}
	return Stated{}, false, nil
}

// StateBefore is the state that an agent's history tells before an entry.
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
		s, err := stated(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// newestState is the newest state of a range that is one.
func newestState(ctx context.Context, log Log, r Range) (Stated, bool, error) {
	for {
		var last id.Message
		for e, err := range log.QueryRange(ctx, r, Selection{States: true, Newest: 8}) {
			if err != nil {
				return Stated{}, false, err
			}
			s, err := stated(e)
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

// firstState is the oldest state of a range.
func firstState(ctx context.Context, log Log, r Range) (Stated, bool, error) {
	for e, err := range log.QueryRange(ctx, r, Selection{States: true}) {
		if err != nil {
			return Stated{}, false, err
		}
		s, err := stated(e)
		return s, err == nil, err
	}
	return Stated{}, false, nil
}

func stated(e Entry) (Stated, error) {
	m, err := e.Decode()
	if err == nil && m.Files == nil {
		err = damaged(e, "tells no state")
	}
	if err != nil {
		return Stated{Entry: e}, err
	}
	return Stated{*m.Files, e}, nil
}
