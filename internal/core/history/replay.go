package history

import (
	"context"
	"iter"
	"slices"
	"sort"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// Context describes what a model and a screen see of an agent: the messages in order,
// and summaries in the place of what they replace.
type Context struct {
	Messages []Entry
	Outline  Outline
}

// Replay reconstructs the context of an agent.
func Replay(ctx context.Context, log Log, leaf id.Agent) (*Context, error) {
	return replay(ctx, log, leaf, Selection{})
}

// Recall does what Replay does for a model: of each message only ID, Agent, Kind and Content are read, which takes half the
// time. Summaries are whole.
func Recall(ctx context.Context, log Log, leaf id.Agent) (*Context, error) {
	return replay(ctx, log, leaf, Selection{Words: true})
}

func replay(ctx context.Context, log Log, leaf id.Agent, s Selection) (*Context, error) {
	ranges, outline, err := Survey(ctx, log, leaf)
	if err != nil {
		return nil, err
	}
	c := &Context{Outline: outline}
	for e, err := range playPieces(ctx, log, Pieces(ranges, &outline), s) {
		if err != nil {
			return nil, err
		}
		if len(c.Messages) == cap(c.Messages) {
			c.Messages = slices.Grow(c.Messages, len(c.Messages)+1) // twice as many: append alone copies more often
		}
		c.Messages = append(c.Messages, e)
	}
	return c, nil
}

// Play streams the messages of the context without holding them.
func Play(ctx context.Context, log Log, leaf id.Agent) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		ranges, outline, err := Survey(ctx, log, leaf)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		playPieces(ctx, log, Pieces(ranges, &outline), Selection{})(yield)
	}
}

// Elements go from the goroutine that reads ahead in batches, of which so many wait.
const (
	aheadBatch   = 128
	aheadBatches = 4
)

// ReadAhead returns what all returns, and reads it in another goroutine while the caller works on what came before. That
// goroutine has ended when the loop ends.
func ReadAhead[T any](all iter.Seq2[T, error]) iter.Seq2[T, error] {
	type element struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		batches, stop := make(chan []element, aheadBatches), make(chan struct{})
		go func() {
			defer close(batches)
			var batch []element
			send := func() bool {
				select {
				case batches <- batch:
					batch = nil
					return true
				case <-stop:
					return false
				}
			}
			for v, err := range all {
				if batch = append(batch, element{v, err}); len(batch) == aheadBatch && !send() {
					return
				}
			}
			send()
		}()
		defer func() {
			close(stop)
			for range batches { // until it is closed
			}
		}()
		for batch := range batches {
			for _, e := range batch {
				if !yield(e.value, e.err) {
					return
				}
			}
		}
	}
}

// Survey finds out what to read, root first, and how it is shaped: only shaping entries are read for that.
func Survey(ctx context.Context, log Log, leaf id.Agent) ([]Range, Outline, error) {
	lineage, err := log.Lineage(ctx, leaf)
	if err != nil {
		return nil, Outline{}, err
	}
	return SurveyOf(ctx, log, lineage)
}

// SurveyOf does what Survey does for a lineage that was read. Of each agent one query tells where its newest clear is
// and what shaped the context since.
func SurveyOf(ctx context.Context, log Log, lineage []Ancestor) ([]Range, Outline, error) {
	var ranges []Range
	var shaping []Entry // newest first
	end, cleared := NoLimit, id.Message(0)
	for _, current := range lineage {
		for e, err := range shapedBefore(ctx, log, Range{current.Agent, 0, end}) {
			if err != nil {
				return nil, Outline{}, err
			}
			if e.Kind == Clear {
				cleared = e.ID
				break
			}
			shaping = append(shaping, e)
		}
		if ranges = append(ranges, Range{current.Agent, cleared, end}); cleared > 0 {
			break
		}
		end = UpTo(current.ForkMessage)
	}
	slices.Reverse(ranges)
	// The walk stopped behind this clear; the wall stands all the same.
	o := Outline{wall: cleared, open: cleared}
	for _, e := range slices.Backward(shaping) {
		if err := o.Apply(e); err != nil {
			return ranges, o, err
		}
	}
	return ranges, o, nil
}

// aPage sets how many shaping entries are asked for at a time: most contexts have fewer, and what stands
// before a clear is not sent by a server for nothing.
const aPage = 64

// shapedBefore returns the shaping entries of a range, newest first.
func shapedBefore(ctx context.Context, log Log, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for n := aPage; n == aPage; {
			n = 0
			for e, err := range log.QueryRange(ctx, r, Selection{Shaping: true, Newest: aPage}) {
				if !yield(e, err) || err != nil {
					return
				}
				n++
				r.End = UpTo(e.ID - 1)
			}
		}
	}
}

func playPieces(ctx context.Context, log Log, pieces []Piece, s Selection) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, p := range pieces {
			if p.Summary != nil {
				if !yield(*p.Summary, nil) {
					return
				}
				continue
			}
			for e, err := range log.QueryRange(ctx, p.Range, s) {
				if err == nil && !e.Kind.Reaches() {
					continue
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// Membership tells of any entry of the lineage whether it is in the context.
func Membership(ctx context.Context, log Log, leaf id.Agent) (func(Entry) bool, error) {
	ranges, outline, err := Survey(ctx, log, leaf)
	if err != nil {
		return nil, err
	}
	byAgent := map[id.Agent][]Range{}
	summaries := map[id.Message]bool{}
	for _, p := range Pieces(ranges, &outline) {
		if p.Summary != nil {
			summaries[p.Summary.ID] = true
		} else {
			byAgent[p.Agent] = append(byAgent[p.Agent], p.Range)
		}
	}
	return func(e Entry) bool {
		if !e.Kind.Reaches() {
			return summaries[e.ID]
		}
		own := byAgent[e.Agent]
		i := sort.Search(len(own), func(i int) bool { return own[i].End.Admits(e.ID) })
		return i < len(own) && own[i].Holds(e.ID)
	}, nil
}

// Tail returns the last n messages of the context, reading no more than those.
func Tail(ctx context.Context, log Log, leaf id.Agent, n int) ([]Entry, error) {
	ranges, outline, err := Survey(ctx, log, leaf)
	if err != nil {
		return nil, err
	}
	var tail []Entry // newest first
	for _, p := range slices.Backward(Pieces(ranges, &outline)) {
		if len(tail) >= n {
			break
		}
		if p.Summary != nil {
			tail = append(tail, *p.Summary)
			continue
		}
		for e, err := range log.QueryRange(ctx, p.Range, Selection{Newest: n - len(tail)}) {
			if err != nil {
				return nil, err
			}
			tail = append(tail, e)
		}
	}
	slices.Reverse(tail)
	return tail, nil
}

// Lookup finds the entry that a rewind of the agent may go back to: any of its
// lineage behind the wall.
func Lookup(ctx context.Context, log Log, leaf id.Agent, target id.Message) error {
	return LookupAt(ctx, log, leaf, target, NoLimit)
}

// LookupAt does what Lookup does for a rewind with which, or before which, the agent's own entries end: a
// wall behind it is none to it.
func LookupAt(ctx context.Context, log Log, leaf id.Agent, target id.Message, end Bound) error {
	ranges, err := rangesUntil(ctx, log, leaf, end)
	if err != nil {
		return err
	}
	e, err := log.Entry(ctx, target)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		if r.Agent == e.Agent && (r.Holds(target) || target == r.Start) { // just after the clear is allowed
			return nil
		}
	}
	lineage, err := log.Lineage(ctx, leaf)
	if err != nil {
		return err
	}
	end = NoLimit
	for _, a := range lineage {
		if a.Agent == e.Agent && end.Admits(target) {
			return fault.New(fault.Conflict, "message %d is after the clear %d", target, ranges[0].Start).
				WithHint("a clear is a wall; rewind to something after it")
		}
		end = UpTo(a.ForkMessage)
	}
	return fault.New(fault.NotFound, "message %d is not in the history of this agent", target).
		WithHint("`ramet log` prints the ids that are")
}

// Piece is a segment of the context within one agent, or a summary.
type Piece struct {
	Range
	Summary *Entry
}

// Pieces cuts the spans of an outline along the ranges of a lineage. Ids
// ascend along a lineage, so both lists are in one order.
func Pieces(ranges []Range, o *Outline) []Piece {
	var out []Piece
	for _, s := range o.Spans() {
		if s.Summary != nil {
			out = append(out, Piece{Summary: s.Summary})
			continue
		}
		for _, r := range ranges {
			cut := Range{r.Agent, max(r.Start, s.Start), r.End.Min(s.End)}
			if cut.End.Admits(cut.Start + 1) {
				out = append(out, Piece{Range: cut})
			}
		}
	}
	return out
}
