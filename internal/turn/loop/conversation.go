package loop

import (
	"context"
	"encoding/json"
	"slices"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// NewConversation reads a context. blob reads large contents, also later.
func NewConversation(ctx context.Context, c *history.Context, blob func(context.Context, chain.Hash) ([]byte, error)) (*Conversation, error) {
	out := &Conversation{blob: blob, shaped: c.Outline.Shaped(), last: c.Outline.Shaped()}
	short := c.Outline.Short()
	for _, e := range c.Messages {
		it, err := readEntry(ctx, e, blob)
		if err != nil {
			return nil, err
		}
		if short[it.id] && it.kind != history.Compact {
			it = shortenItem(it)
		}
		out.push(it)
		out.last = max(out.last, it.id)
	}
	return out, nil
}

// Add takes entries that were just appended. It returns false when one of them
// changed what others mean (as history.Context.Extend does): then the conversation
// is stale, and Replay makes a new one.
func (c *Conversation) Add(ctx context.Context, entries ...history.Entry) (bool, error) {
	for _, e := range entries {
		switch {
		case e.Kind.Reaches():
			it, err := readEntry(ctx, e, c.blob)
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

// Last returns the newest entry that it knows of, whether that is a message or not.
func (c *Conversation) Last() id.Message { return c.last }

// State reports whether something waits for an answer.
func (c *Conversation) State() State {
	if c.state.open {
		return Open
	}
	return Idle
}

// Messages returns the conversation as a request has it. The slice is the caller's, the
// parts are not.
func (c *Conversation) Messages() []llm.Message { return c.first(c.outs()) }

// first returns a list of the first n messages that are settled, with what is not settled when these are all.
func (c *Conversation) first(n int) []llm.Message {
	out := make([]llm.Message, n, n+4)
	for _, s := range c.segments() {
		copy(out[min(s.outFirst, n):], s.out)
	}
	if n < c.outs() {
		return out
	}
	return c.withOpen(out)
}

// withOpen returns a list and, behind it, what is not settled.
func (c *Conversation) withOpen(out []llm.Message) []llm.Message {
	if c.group == nil {
		return out
	}
	begun := c.state.begun
	out, begun = appendMessage(out, begun, c.group.message)
	out, begun = appendMessage(out, begun, c.group.answer())
	for _, m := range c.group.after {
		out, begun = appendMessage(out, begun, m)
	}
	return out
}

// LastCall returns the newest call of a tool behind an entry that has a result, and that result.
func (c *Conversation) LastCall(tool string, after id.Message) (args json.RawMessage, result llm.Part, ok bool) {
	for i := c.Len() - 1; i >= 0 && c.at(i).id > after; i-- {
		for _, p := range c.at(i).message.Parts {
			switch {
			case !ok && p.Type == llm.ToolResult && p.Name == tool:
				result, ok = p, true
			case ok && p.Type == llm.ToolCall && p.CallID == result.CallID:
				return p.Args, result, true
			}
		}
	}
	return nil, result, false
}

// BeforeCalls returns the newest entry before the model's last message; false: nothing stands
// before it.
func (c *Conversation) BeforeCalls() (id.Message, bool) {
	for i := c.Len() - 1; i > 0; i-- {
		if c.at(i).kind == history.Assistant {
			return c.at(i - 1).id, true
		}
	}
	return 0, false
}

// returns reports whether a rewind changes nothing: the context ends where it leads to.
func (c *Conversation) returns(e history.Entry) bool {
	m, err := e.Decode()
	if err != nil || c.group != nil || c.loose {
		return false
	}
	to, err := id.ParseMessage(m.Target)
	n := c.Len()
	return err == nil && c.shaped <= to && n > 0 && c.at(n-1).id <= to
}

// Aside returns the newest facts that are in the conversation; empty: none do.
func (c *Conversation) Aside() string {
	for _, s := range c.segments() {
		for i := len(s.items) - 1; i >= 0; i-- {
			parts := s.items[i].message.Parts
			for j := range parts {
				if parts[j].Aside {
					return parts[j].Text
				}
			}
		}
	}
	return ""
}

// Newest returns the newest message of a role, as a request has it; false if there is none.
func (c *Conversation) Newest(r llm.Role) (llm.Message, bool) {
	lists := [][]llm.Message{c.withOpen(nil)}
	for _, s := range c.segments() {
		lists = append(lists, s.out)
	}
	for _, list := range lists {
		for _, m := range slices.Backward(list) {
			if m.Role == r {
				return m, true
			}
		}
	}
	return llm.Message{}, false
}
