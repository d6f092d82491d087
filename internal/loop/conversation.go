package loop

import (
	"context"

	"ramet/internal/chain"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
)

// Conversation is the context of an agent in the words of models. Each entry is
// read once; what was made of it stays when the conversation grows.
//
// Messages promises, whatever the history is, what every vendor accepts:
//
//   - Every call has exactly one result, in one message directly behind the one
//     that calls, in the order of the calls. A result that is missing says so; one
//     that came late stands where it belongs; those that answer no call, or answer
//     again, are left out.
//   - The first message that is not the system's is the user's. None is empty.
//   - No two calls have the same id, names are words, arguments are objects.
//   - What a vendor signed goes back as it came, and no message ends in a thought.
//
// A conversation belongs to one goroutine at a time, and so does the moment of its
// Fork. What two conversations share never changes.
type Conversation struct {
	blob   func(context.Context, chain.Hash) ([]byte, error)
	last   id.Message // the newest entry that was taken
	shaped id.Message // the newest that changed what others mean
	base   *segment   // shared with forks
	own    segment    // ours alone
	state  state
	group  *group              // calls that wait for results
	late   map[string]position // calls whose results are missing in what was settled
	loose  bool                // there were such calls: what is settled may differ from what was
}

// state is what is known at a place of the conversation.
type state struct {
	begun bool  // somebody besides the system spoke
	open  bool  // something waits for an answer
	size  int64 // bytes of all messages, about
}

// State says whether the model is to speak.
type State string

// The states of a conversation.
const (
	Idle State = "idle" // nothing was said, or the model said the last word
	Open State = "open" // a message or a result waits for an answer
)

// NewConversation reads a context. blob reads large contents, also later.
func NewConversation(ctx context.Context, c *history.Context, blob func(context.Context, chain.Hash) ([]byte, error)) (*Conversation, error) {
	r := NewReader()
	for _, e := range c.Messages {
		r.Take(e)
	}
	return r.Conversation(ctx, &c.Outline, blob)
}

// lastShaped is the newest clear, rewind or compact: the open end of a context
// begins with the first two, and the last stands in it as a summary.
func lastShaped(o *history.Outline) id.Message {
	last := o.Wall()
	for _, s := range o.Spans() {
		switch _, limited := s.End.Limit(); {
		case s.Summary != nil:
			last = max(last, s.Summary.ID)
		case !limited:
			last = max(last, s.Start)
		}
	}
	return last
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
		case e.Kind == history.Rewind || e.Kind == history.Compact || e.Kind == history.Redact:
			return false, nil
		}
		c.last = max(c.last, e.ID)
	}
	return true, nil
}

// Last is the newest entry that it knows of, whether that is a message or not.
func (c *Conversation) Last() id.Message { return c.last }

// Len is how many entries of the history are in it.
func (c *Conversation) Len() int { return c.base.end() + len(c.own.items) }

// State says whether something waits for an answer.
func (c *Conversation) State() State {
	if c.state.open {
		return Open
	}
	return Idle
}

// Unanswered lists the calls that have no result, if no later answer of the model
// stands behind them: those of a turn that was interrupted.
func (c *Conversation) Unanswered() []llm.Part {
	if c.group == nil {
		return nil
	}
	return c.group.open()
}

// Messages is the conversation as a request has it. The slice is the caller's, the
// parts are not.
func (c *Conversation) Messages() []llm.Message { return c.upTo(c.outs()) }

// upTo is the first so many settled messages, and what is not settled when these
// are all.
func (c *Conversation) upTo(n int) []llm.Message {
	out := make([]llm.Message, n, n+4)
	copy(out[min(n, c.base.outEnd()):], c.own.out)
	for s := c.base; s != nil; s = s.prev {
		if s.outFirst < n {
			copy(out[s.outFirst:], s.out)
		}
	}
	if c.group != nil && n == c.outs() {
		begun := c.state.begun
		for _, m := range c.group.settled() {
			out, begun = follow(out, begun, m)
		}
	}
	return out
}
