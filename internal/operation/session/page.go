package session

import (
	"context"
	"math"
	"slices"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
)

// maxShown limits the bytes of one content that are read for the screen.
const maxShown = 1 << 20

// Span asks for a page: the newest entries older than Before (0: the newest of all),
// or, if After is set, all that are newer than that.
type Span struct {
	Before, After id.Message
	Limit         int
}

// Page is a stretch of a conversation, oldest first.
type Page struct {
	Entries []Entry
	More    bool       // there are older ones
	Head    id.Message // the agent's newest entry then; not with Before
}

// Entry is one entry, read.
type Entry struct {
	history.Entry
	Parts []history.Part
	About history.Meta
	Gone  bool // not in the context: rewound, or replaced by a summary
}

// Page reads a stretch of the conversation of an agent, inherited entries included, back to
// its last clear. Unknown: NOT_FOUND.
func (w History) Page(ctx context.Context, a id.Agent, s Span) (Page, error) {
	var p Page
	err := w.ws.Store.View(ctx, func(log history.Log) error {
		ranges, err := history.BuildRanges(ctx, log, a)
		if err != nil {
			return err
		}
		in, err := history.Membership(ctx, log, a)
		if err != nil {
			return err
		}
		own := history.Range{Agent: a}
		head, err := history.Newest(ctx, log, own, 1)
		if err != nil {
			return err
		}
		for _, e := range head {
			p.Head = e.ID
		}
		var found []history.Entry // newest first
		if s.After > 0 {
			found, _, err = history.FirstAfter(ctx, log, []history.Range{own}, s.After, math.MaxInt)
			slices.Reverse(found)
		} else {
			found, p.More, err = history.LastBefore(ctx, log, ranges, s.Before, max(1, s.Limit))
		}
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(found) {
			one, err := w.entry(ctx, log, e)
			if err != nil {
				return err
			}
			one.Gone = e.Kind.Reaches() && !in(e)
			p.Entries = append(p.Entries, one)
		}
		return nil
	})
	return p, err
}

// entry reads an entry; of large contents only the beginning is kept.
func (w History) entry(ctx context.Context, log history.Log, e history.Entry) (Entry, error) {
	out := Entry{Entry: e}
	var err error
	if out.Parts, err = e.Parts(); err != nil {
		return out, err
	}
	if out.About, err = e.Decode(); err != nil {
		return out, err
	}
	out.Content, out.Meta = nil, nil // read
	for i := range out.Parts {
		p := &out.Parts[i]
		if p.Blob == nil || p.Type.IsData() {
			continue
		}
		if err := history.Fill(out.Parts[i:i+1], func(h chain.Hash) ([]byte, error) { return w.ws.Store.Blob(ctx, h) }); err != nil {
			return out, err
		}
		if len(p.Text) > maxShown {
			p.Size = int64(len(p.Text) - maxShown)
			p.Text = text.Safe(p.Text[:maxShown])
		}
	}
	return out, nil
}

// ReadEntry reads one entry as Page does.
func (w History) ReadEntry(ctx context.Context, e history.Entry) (out Entry, err error) {
	err = w.ws.Store.View(ctx, func(log history.Log) error {
		out, err = w.entry(ctx, log, e)
		return err
	})
	return out, err
}
