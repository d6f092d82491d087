package loop

import (
	"context"

	"ramet/internal/chain"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
)

// NewConversation reads a context. blob reads large contents, also later.
func NewConversation(ctx context.Context, c *history.Context, blob func(context.Context, chain.Hash) ([]byte, error)) (*Conversation, error) {
	r := NewReader(&c.Outline)
	for _, e := range c.Messages {
		r.Take(e)
	}
	return r.Conversation(ctx, blob)
}

// Add takes entries that were just appended. It returns false when one of them
// changed what others mean (as history.Context.Extend does): then the conversation
// is stale, and Replay makes a new one.
func (c *Conversation) Add(ctx context.Context, entries ...history.Entry) (bool, error) {
	for _, e := range entries {
		switch {
		case e.Kind.Reaches():
			it, err := read(ctx, e, c.blob)
			if err != nil {
				return false, err
			}
			c.push(it)
		case e.Kind == history.Clear:
			*c = Conversation{blob: c.blob, shaped: e.ID}
		case e.Kind == history.Rewind && c.returns(e):
			c.shaped = e.ID
		case e.Kind == history.Rewind || e.Kind == history.Compact || e.Kind == history.Redact:
			return false, nil
		}
		c.last = max(c.last, e.ID)
	}
	return true, nil
}

// Last is the newest entry that it knows of, whether that is a message or not.
func (c *Conversation) Last() id.Message { return c.last }

// State says whether something waits for an answer.
func (c *Conversation) State() State {
	if c.state.open {
		return Open
	}
	return Idle
}

// Messages is the conversation as a request has it. The slice is the caller's, the
// parts are not.
func (c *Conversation) Messages() []llm.Message { return c.behind(nil, c.outs()) }

// behind is some messages and, behind them, the first so many that are settled, with what is not
// settled when these are all. It is one list from the beginning: most requests are long, and each is
// made of it.
func (c *Conversation) behind(head []llm.Message, n int) []llm.Message {
	all := make([]llm.Message, len(head)+n, len(head)+n+4)
	copy(all, head)
	out := all[len(head):]
	copy(out[min(n, c.base.outEnd()):], c.own.out)
	for s := c.base; s != nil; s = s.prev {
		if s.outFirst < n {
			copy(out[s.outFirst:], s.out)
		}
	}
	if c.group != nil && n == c.outs() {
		begun := c.state.begun
		out, begun = follow(out, begun, c.group.message)
		out, begun = follow(out, begun, c.group.answer())
		for _, m := range c.group.after {
			out, begun = follow(out, begun, m)
		}
	}
	return append(all[:len(head)], out...) // where they are already, unless they needed more room
}
