package session

import (
	"context"
	"encoding/json"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/files"
)

// restoreNote is the entry for the history in the journal of a restore: it is written when the
// files are as they shall be, by the process that gets them there.
type restoreNote struct {
	Agent id.Agent   `json:"agent"`
	After id.Message `json:"after"` // the agent's newest entry before
	// Rewind is the message that the conversation goes back to; nil: it stays.
	Rewind *history.Meta `json:"rewind,omitempty"`
	// Actor is the person who asked for it; nil: none did.
	Actor *history.Actor `json:"actor,omitempty"`
}

func (w Files) noteOf(ctx context.Context, r Restoring) ([]byte, error) {
	fresh, err := w.ws.Store.Agent(ctx, r.Agent.ID)
	if err != nil {
		return nil, err
	}
	n := restoreNote{Agent: r.Agent.ID, After: fresh.Head, Actor: history.ActorOf(ctx)}
	if r.Rewind != nil {
		n.Rewind = &r.Rewind.Meta
	}
	return json.Marshal(n)
}

// restored writes what the files are now, with the rewind that they belong to; nil: there was
// nothing to write.
func (w Files) restored(ctx context.Context, r Restoring, f *files.PastFolder, after files.Taken) (*history.Entry, error) {
	var drafts []history.Draft
	if r.Rewind != nil {
		drafts = append(drafts, *r.Rewind)
	}
	last, _, err := history.StateAt(ctx, w.ws.Store, r.Agent.ID, 0)
	if err != nil {
		return nil, err
	}
	// One that changed nothing is a restore too: undo must not take back the turn before it instead.
	if s, changed := w.stateOf(f, after, nil, last.State); changed || !r.Last {
		s.When = history.AfterRestore
		drafts = append(drafts, history.NewState(s))
	}
	if len(drafts) == 0 {
		return nil, nil
	}
	entries, err := w.ws.Store.Append(ctx, r.Agent.ID, agent.Passing(), drafts...)
	if err != nil {
		return nil, err
	}
	return &entries[0], nil
}

// RecoverFiles finishes the restores that processes which were killed left in the middle: the
// files, and what the history says of them.
func (w Files) RecoverFiles(ctx context.Context) ([]files.RestoreDone, error) {
	read := func(note []byte) (n restoreNote) {
		json.Unmarshal(note, &n) // of another form: nobody's
		return n
	}
	return w.Past().Recover(ctx, func(f *files.PastFolder, d files.RestoreDone, after files.Taken) error {
		return w.tellRestored(ctx, read(d.Note), f, after)
	})
}

// tellRestored writes what a restore that was interrupted had to tell, unless it did. An agent
// that is dead or at work by now is not told: its next state shows its files.
func (w Files) tellRestored(ctx context.Context, n restoreNote, f *files.PastFolder, after files.Taken) error {
	a, err := w.ws.Store.Agent(ctx, n.Agent)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if a.Head != n.After || a.Status != agent.Running {
		return nil // it is told already, or went on
	}
	ctx = history.Unattended(ctx) // who finishes it did not ask for it
	if n.Actor != nil {
		ctx = history.By(ctx, *n.Actor)
	}
	r := Restoring{Agent: a}
	if n.Rewind != nil {
		r.Rewind = &history.Draft{Kind: history.Rewind, Meta: *n.Rewind}
	}
	_, err = w.restored(ctx, r, f, after)
	if fault.Is(err, fault.Leased) {
		return nil
	}
	return err
}
