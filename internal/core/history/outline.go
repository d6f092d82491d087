package history

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strconv"

	"ramet/internal/base/id"
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
	short  *shortened // what is shown in a short form
	states []state    // after each rewind and compact behind the wall
	marks  []Label    // behind the wall, oldest first
	last   id.Message
}

// segment is an immutable run of ids, (start, end], or a summary for them. What a
// compact keeps of the messages that its summary stands for are segments of their
// own, before the summary.
type segment struct {
	start, end id.Message
	summary    *Entry
	prev       *segment
}

// shortened are messages that are in the context in a short form: those of one
// compact, and those of the ones before.
type shortened struct {
	ids  []id.Message
	prev *shortened
}

type state struct {
	at    id.Message
	tip   *segment
	open  id.Message
	short *shortened
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
		return damagedEntry(e, "is after message %d", o.last)
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
		return damagedEntry(e, "rewinds to %q, which is after the clear %d or ahead", m.Target, o.wall)
	}
	s := o.stateAt(target)
	if target > s.open {
		s.tip = &segment{start: s.open, end: target, prev: s.tip}
	}
	o.short = s.short
	o.enter(e.ID, s.tip, e.ID)
	return nil
}

// compact makes room: it puts a summary in the place of a segment of ids, of which some
// messages may stay, and has messages shown in a short form.
func (o *Outline) compact(e Entry, m Meta) error {
	keep, err := o.metaIDs(e, m.Keep)
	if err != nil {
		return err
	}
	short, err := o.metaIDs(e, m.Short)
	if err != nil {
		return err
	}
	tip, open := o.tip, o.open
	if m.StartID != "" || m.EndID != "" || len(short) == 0 {
		if tip, open, err = o.replace(e, m, keep); err != nil {
			return err
		}
	} else if len(keep) > 0 {
		return damagedEntry(e, "keeps messages and replaces none")
	}
	if len(short) > 0 {
		o.short = &shortened{short, o.short}
	}
	o.enter(e.ID, tip, open)
	return nil
}

// replace cuts the current segments around the replaced ids.
func (o *Outline) replace(e Entry, m Meta, keep []id.Message) (tip *segment, open id.Message, err error) {
	first, err1 := metaID(m.StartID)
	end, err2 := metaID(m.EndID)
	if err1 != nil || err2 != nil || first > end || first <= o.wall || end >= e.ID {
		return nil, 0, damagedEntry(e, "compacts %q to %q, which is not a stretch of its context", m.StartID, m.EndID)
	}
	var before, after []segment
	for s := (&segment{start: o.open, end: e.ID, prev: o.tip}); s != nil; s = s.prev {
		if s.summary != nil && s.start < end && s.end >= first && (s.start+1 < first || s.end > end) {
			return nil, 0, damagedEntry(e, "compacts a part of the summary for %d to %d", s.start+1, s.end)
		}
		if s.end > end {
			after = append(after, segment{start: max(s.start, end), end: s.end, summary: s.summary})
		}
		if s.start+1 < first {
			before = append(before, segment{start: s.start, end: min(s.end, first-1), summary: s.summary})
		}
	}
	push := func(s segment) { s.prev = tip; tip = &s }
	for _, s := range slices.Backward(before) {
		push(s)
	}
	for _, k := range keep {
		if k < first || k > end {
			return nil, 0, damagedEntry(e, "keeps message %d, which it does not replace", k)
		}
		push(segment{start: k - 1, end: k})
	}
	push(segment{start: first - 1, end: end, summary: &e})
	// The newest segment behind the summary is the open one again.
	open = after[0].start
	for _, s := range slices.Backward(after[1:]) {
		push(s)
	}
	return tip, open, nil
}

// metaIDs reads a list of messages, which must ascend and be in the context.
func (o *Outline) metaIDs(e Entry, list []string) ([]id.Message, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]id.Message, len(list))
	for i, s := range list {
		m, err := metaID(s)
		if err != nil || m >= e.ID || i > 0 && m <= out[i-1] {
			return nil, damagedEntry(e, "names message %q, which is none before it, or not in order", s)
		}
		out[i] = m
	}
	held := make([]segment, 0, 8)
	for s := (&segment{start: o.open, end: e.ID, prev: o.tip}); s != nil; s = s.prev {
		if s.summary == nil {
			held = append(held, *s)
		}
	}
	slices.Reverse(held) // kept messages and all others ascend
	for _, m := range out {
		i := sort.Search(len(held), func(i int) bool { return held[i].end >= m })
		if i == len(held) || m <= held[i].start {
			return nil, damagedEntry(e, "names message %d, which is not in its context", m)
		}
	}
	return out, nil
}

func (o *Outline) enter(at id.Message, tip *segment, open id.Message) {
	o.tip, o.open = tip, open
	o.states = append(slices.Clip(o.states), state{at, tip, open, o.short})
}

// stateAt returns the state as it was just after a message.
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

// Short lists the messages that are in the context in a short form. Those that are
// not in the context any more may be among them.
func (o *Outline) Short() map[id.Message]bool {
	if o.short == nil {
		return nil
	}
	out := map[id.Message]bool{}
	for s := o.short; s != nil; s = s.prev {
		for _, m := range s.ids {
			out[m] = true
		}
	}
	return out
}

// Shaped returns the newest clear, rewind or compact; 0 if there is none.
func (o *Outline) Shaped() id.Message {
	if n := len(o.states); n > 0 {
		return o.states[n-1].at
	}
	return o.wall
}

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

// lookBack limits how many entries are read at once to find the last final one.
const lookBack = 64

// LastFinal returns the newest own entry of an agent behind which no call of a tool waits for
// its result: the point at which the agent can be forked while another process lets it work.
func LastFinal(ctx context.Context, log Log, a id.Agent) (id.Message, error) {
	answered := map[string]bool{}
	var head id.Message // newest of all
	var spoken *Entry   // newest message with calls, and whether one of them is open
	var open bool       //
	end := NoLimit
	for {
		n := 0
		var last id.Message
		for e, err := range log.QueryRange(ctx, Range{Agent: a, End: end}, Selection{Newest: lookBack, Any: true}) {
			if err != nil {
				return 0, err
			}
			n, last = n+1, e.ID
			head = cmp.Or(head, e.ID)
			if spoken != nil { // this one stands before it
				return e.ID, nil
			}
			calls, err := callsOf(e, answered)
			if err != nil {
				return 0, err
			}
			if len(calls) == 0 {
				continue
			}
			for _, call := range calls {
				open = open || !answered[call]
			}
			if !open {
				return head, nil
			}
			spoken = &e
		}
		if n < lookBack || last <= 1 {
			return head, nil
		}
		end = UpTo(last - 1)
	}
}

// callsOf returns the calls that an entry makes; results that it holds are noted.
func callsOf(e Entry, answered map[string]bool) ([]string, error) {
	if e.Kind != Assistant && e.Kind != ToolResult && e.Kind != Interrupted {
		return nil, nil
	}
	parts, err := e.Parts()
	if err != nil {
		return nil, err
	}
	var calls []string
	for _, p := range parts {
		switch {
		case p.Type == ToolCall:
			calls = append(calls, p.CallID)
		case p.CallID != "":
			answered[p.CallID] = true
		}
	}
	return calls, nil
}
