package history

import (
	"slices"
	"sort"
	"strconv"

	"ramet/internal/id"
)

// Outline is the one reducer: what the shaping entries of a lineage (clear,
// mark, rewind, compact) make of the rest. Fed with entries in order, it knows
// at any time which messages are in the context, without holding them.
//
// The zero Outline is an empty history. Copies are independent.
type Outline struct {
	tip    *segment   // closed segments, newest first; shared between states
	open   id.Message // everything after this one is in the context too
	wall   id.Message // the most recent clear; 0: none
	states []state    // after each rewind and compact behind the wall
	marks  []Label    // behind the wall, oldest first
	last   id.Message
}

// segment is an immutable run of ids, (start, end], or a summary for them.
type segment struct {
	start, end id.Message
	summary    *Entry
	prev       *segment
}

type state struct {
	at   id.Message
	tip  *segment
	open id.Message
}

// Label is a mark in the lineage.
type Label struct {
	ID    id.Message
	Label string // may be empty
}

// Span is a segment of the context in ids of the lineage: (Start, End], or a
// summary that stands for them.
type Span struct {
	Start   id.Message
	End     Bound
	Summary *Entry
}

// Apply takes the next entry. Entries that do not shape change nothing, so
// that feeding all entries or only the shaping ones gives the same outline.
// An entry that cannot be applied is damage; the outline stays as it was.
func (o *Outline) Apply(e Entry) error {
	if !e.Kind.Shapes() {
		return nil
	}
	if e.ID <= o.last {
		return damaged(e, "stands after message %d", o.last)
	}
	m, err := e.Decode()
	if err != nil {
		return err
	}
	switch e.Kind {
	case Clear:
		*o = Outline{wall: e.ID, open: e.ID}
	case Mark:
		o.marks = append(slices.Clip(o.marks), Label{e.ID, m.Label})
	case Rewind:
		err = o.rewind(e, m)
	case Compact:
		err = o.compact(e, m)
	}
	if err == nil {
		o.last = e.ID
	}
	return err
}

func (o *Outline) rewind(e Entry, m Meta) error {
	target, err := metaID(m.Target)
	if err != nil || target >= e.ID || target < o.wall {
		return damaged(e, "rewinds to %q, which lies behind the clear %d or ahead", m.Target, o.wall)
	}
	s := o.stateAt(target)
	if target > s.open {
		s.tip = &segment{start: s.open, end: target, prev: s.tip}
	}
	o.enter(e.ID, s.tip, e.ID)
	return nil
}

// compact cuts the current segments around the replaced ids.
func (o *Outline) compact(e Entry, m Meta) error {
	first, err1 := metaID(m.StartID)
	end, err2 := metaID(m.EndID)
	if err1 != nil || err2 != nil || first > end || first <= o.wall || end >= e.ID {
		return damaged(e, "compacts %q to %q, which is no stretch of its context", m.StartID, m.EndID)
	}
	var before, after []segment
	for s := (&segment{start: o.open, end: e.ID, prev: o.tip}); s != nil; s = s.prev {
		if s.summary != nil && s.start < end && s.end >= first && (s.start+1 < first || s.end > end) {
			return damaged(e, "compacts a part of the summary for %d to %d", s.start+1, s.end)
		}
		if s.end > end {
			after = append(after, segment{start: max(s.start, end), end: s.end, summary: s.summary})
		}
		if s.start+1 < first {
			before = append(before, segment{start: s.start, end: min(s.end, first-1), summary: s.summary})
		}
	}
	var tip *segment
	push := func(s segment) { s.prev = tip; tip = &s }
	for _, s := range slices.Backward(before) {
		push(s)
	}
	push(segment{start: first - 1, end: end, summary: &e})
	// The newest segment behind the summary is the open one again.
	open := after[0].start
	for _, s := range slices.Backward(after[1:]) {
		push(s)
	}
	o.enter(e.ID, tip, open)
	return nil
}

func (o *Outline) enter(at id.Message, tip *segment, open id.Message) {
	o.tip, o.open = tip, open
	o.states = append(slices.Clip(o.states), state{at, tip, open})
}

// stateAt is the state as it was just after a message.
func (o *Outline) stateAt(m id.Message) state {
	i := sort.Search(len(o.states), func(i int) bool { return o.states[i].at > m })
	if i == 0 {
		return state{at: o.wall, open: o.wall}
	}
	return o.states[i-1]
}

// Spans returns the context in order, the open end last.
func (o *Outline) Spans() []Span {
	spans := []Span{{Start: o.open, End: NoLimit}}
	for s := o.tip; s != nil; s = s.prev {
		spans = append(spans, Span{s.start, UpTo(s.end), s.summary})
	}
	slices.Reverse(spans)
	return spans
}

// Wall is the most recent clear; 0 if there is none.
func (o *Outline) Wall() id.Message { return o.wall }

// Marks lists the marks behind the wall, oldest first.
func (o *Outline) Marks() []Label { return slices.Clone(o.marks) }

// Mark finds a mark by label, the newest of that name; the newest of all for
// the empty label.
func (o *Outline) Mark(label string) (Label, bool) {
	for _, m := range slices.Backward(o.marks) {
		if label == "" || m.Label == label {
			return m, true
		}
	}
	return Label{}, false
}

func metaID(s string) (id.Message, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	return id.Message(n), err
}
