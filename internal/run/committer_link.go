package run

import (
	"fmt"

	"ramet/internal/base/fault"
)

// write links the drafts of a batch and has them written. It returns where the
// log ends then; after an error, where it ended before.
func (c *Committer) write(state CommitState, batch []*call) (CommitState, error) {
	l := linker{place: c.place, state: state, entries: c.entries[:0]}
	if state.Chain != nil {
		l.runID, l.prev = state.Chain.RunID(), state.Chain.Prev()
	}
	for _, one := range batch {
		one.err = l.link(one)
	}
	c.entries = l.entries
	if len(l.entries) == 0 {
		return state, nil
	}
	if err := c.sink(l.entries); err != nil {
		clear(l.entries)
		return state, err
	}
	chain := state.Chain
	if chain == nil {
		chain = NewChain(l.runID, l.entries[0].PrevHash)
	}
	for i := range l.entries {
		if err := chain.Follow(l.entries[i].Event); err != nil {
			return state, &FatalError{fmt.Errorf("%s: what was just written does not follow: %w", c.place, err)}
		}
	}
	last := l.entries[len(l.entries)-1]
	clear(l.entries) // so that payloads are not kept
	return CommitState{Chain: chain, Count: last.Line, Last: last}, nil
}

// linker puts drafts behind each other.
type linker struct {
	place   string
	state   CommitState
	runID   string // empty: the next draft names it
	prev    string
	entries []Entry
	ids     map[string]struct{} // of the batch
}

// link adds the drafts of one call, all or none.
func (l *linker) link(one *call) error {
	before := *l
	if err := l.add(one); err != nil {
		for _, e := range l.entries[len(before.entries):] {
			delete(l.ids, e.ID)
		}
		before.ids = l.ids
		*l = before
		return err
	}
	return nil
}

func (l *linker) add(one *call) error {
	if l.ids == nil {
		l.ids = map[string]struct{}{}
	}
	one.events = make([]Event, 0, len(one.drafts))
	for _, d := range one.drafts {
		if err := l.fits(d); err != nil {
			return err
		}
		e := d.Link(l.prev)
		l.prev = e.Hash
		l.ids[e.ID] = struct{}{}
		one.events = append(one.events, e)
		l.entries = append(l.entries, Entry{Event: e, Line: l.state.Count + int64(len(l.entries)) + 1, Raw: e.Line()})
	}
	return nil
}

func (l *linker) fits(d Draft) error {
	if l.runID == "" {
		root, err := RootHash(d.Type, d.Payload)
		if err != nil {
			return fault.New(fault.InvalidEvent, "%s: %w", l.place, err)
		}
		l.runID, l.prev = d.RunID, root
	}
	_, inBatch := l.ids[d.ID]
	switch {
	case d.RunID != l.runID:
		return fault.New(fault.InvalidEvent, "%s: event %s is one of run %s, the log is that of run %s", l.place, d.ID, d.RunID, l.runID)
	case inBatch || l.state.Chain != nil && l.state.Chain.Has(d.ID):
		return fault.New(fault.Conflict, "%s: event %s is in the log already", l.place, d.ID).
			WithHint("every event has an id of its own")
	}
	return nil
}
