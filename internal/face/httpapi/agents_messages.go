package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"ramet/internal/operation/public"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// MessageHere is a message as it stands in the history of an agent.
type MessageHere struct {
	public.Message
	Depth     int  `json:"depth"` // of the agent that stored it: generations below agent 0
	InContext bool `json:"in_context"`
	Redacted  bool `json:"redacted"`
}

// MessagePage is a page of messages, oldest first.
type MessagePage struct {
	Messages []MessageHere `json:"messages"`
	Next     *id.Message   `json:"next"`     // after, for the page behind; null: there is none now
	Previous *id.Message   `json:"previous"` // before, for the page in front; null: there is none, or it was not asked for
}

// maxPage limits the bytes of messages on a page, approximately.
const maxPage = 4 << 20

func (a Agents) messages(c *Call, _ None) (MessagePage, error) {
	out := MessagePage{Messages: []MessageHere{}}
	after, err := c.Number("after", 0, math.MaxInt64, 0)
	if err != nil {
		return out, err
	}
	before, err := c.Number("before", 1, math.MaxInt64, 0)
	if err != nil {
		return out, err
	}
	limit, err := c.Number("limit", 1, 1000, 100)
	if err != nil {
		return out, err
	}
	own, err := c.Flag("own")
	if err != nil {
		return out, err
	}
	if c.Has("after") && c.Has("before") {
		return out, badQuery("before", "does not go with after", "")
	}
	found, err := a.find(c)
	if err != nil {
		return out, err
	}
	err = a.Store.View(c.Context(), func(log history.Log) error {
		r := pager{log: log, agent: found, limit: int(limit), page: &out}
		if err := r.open(c.Context(), own); err != nil {
			return err
		}
		return r.read(c.Context(), id.Message(after), id.Message(before))
	})
	return out, err
}

type pager struct {
	log    history.Log
	agent  agent.Agent
	limit  int
	page   *MessagePage
	ranges []history.Range
	in     func(history.Entry) bool
	depths map[id.Agent]int
	bytes  int
}

func (r *pager) open(ctx context.Context, own bool) (err error) {
	lineage, err := r.log.Lineage(ctx, r.agent.ID)
	if err != nil {
		return err
	}
	r.depths = make(map[id.Agent]int, len(lineage))
	for i, up := range lineage {
		r.depths[up.Agent] = len(lineage) - 1 - i
	}
	if r.in, err = history.Membership(ctx, r.log, r.agent.ID); err != nil {
		return err
	}
	if own {
		r.ranges = []history.Range{{Agent: r.agent.ID, End: history.NoLimit}}
		return nil
	}
	r.ranges, err = history.BuildRanges(ctx, r.log, r.agent.ID)
	return err
}

// read reads what comes after a message, or before one.
func (r *pager) read(ctx context.Context, after, before id.Message) error {
	read, from, next := history.FirstAfter, after, &r.page.Next
	if before > 0 {
		read, from, next = history.LastBefore, before, &r.page.Previous
	}
	entries, more, err := read(ctx, r.log, r.ranges, from, r.limit)
	for i, e := range entries {
		if r.bytes > maxPage {
			entries, more = entries[:i], true
			break
		}
		r.add(e)
	}
	if more {
		*next = &entries[len(entries)-1].ID
	}
	if before > 0 {
		slices.Reverse(r.page.Messages)
	}
	return err
}

func (r *pager) add(e history.Entry) {
	m := MessageHere{Message: public.FormatEntry(e), Depth: r.depths[e.Agent], InContext: r.in(e), Redacted: e.Content == nil}
	if m.Redacted {
		m.Parts = json.RawMessage(`[{"type":"text","text":"` + history.RedactedText + `"}]`)
	}
	m.Parts = boundedParts(m.Parts)
	r.bytes += len(m.Parts) + len(m.Meta)
	r.page.Messages = append(r.page.Messages, m)
}
