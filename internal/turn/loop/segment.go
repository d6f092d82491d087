package loop

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// item is one entry in the words of models, and what was known before it.
type item struct {
	id      id.Message
	kind    history.Kind
	message llm.Message // nothing in it: the model does not see it
	// first and end are what the entry stands for: itself, or what a summary
	// replaces.
	first, end id.Message
	memo       json.RawMessage // what a tool keeps in its result
	short      bool            // the message is in its short form

	outs  int  // how many messages were settled before it
	clean bool // and no call waited for its result
	state state
}

// segment is a run of items and what was made of them. It does not change once
// another one or a second conversation points to it.
type segment struct {
	prev     *segment
	first    int // index of the first item in the conversation
	items    []item
	outFirst int
	out      []llm.Message
	names    map[string]int // ids of calls: the index of the item
}

func (s *segment) end() int {
	if s == nil {
		return 0
	}
	return s.first + len(s.items)
}

func (s *segment) outEnd() int {
	if s == nil {
		return 0
	}
	return s.outFirst + len(s.out)
}

// taken reports whether a call before has this id.
func (s *segment) taken(name string) bool {
	for ; s != nil; s = s.prev {
		if i, ok := s.names[name]; ok && i < s.end() { // a part of a segment has the names of the whole
			return true
		}
	}
	return false
}

// cut returns the first n items, of which so many messages were made.
func (s *segment) cut(n, outs int) *segment {
	for s != nil && s.first >= n {
		s = s.prev
	}
	if s == nil || s.end() == n {
		return s
	}
	part := *s
	part.items = s.items[: n-s.first : n-s.first]
	part.out = s.out[: outs-s.outFirst : outs-s.outFirst]
	return &part
}

// items lists all items, oldest first.
func (c *Conversation) items() []item {
	out := make([]item, c.Len())
	for _, s := range c.segments() {
		copy(out[s.first:], s.items)
	}
	return out
}

// segments returns what the conversation is made of, newest first. Who goes through all items goes through
// these: every fork leaves one, and at looks for its item among them.
func (c *Conversation) segments() []*segment {
	out := []*segment{&c.own}
	for s := c.base; s != nil; s = s.prev {
		out = append(out, s)
	}
	return out
}

// memos returns what tools kept in their results, oldest first.
func (c *Conversation) memos() iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for _, s := range slices.Backward(c.segments()) {
			for i := range s.items {
				if memo := s.items[i].memo; memo != nil && !yield(memo) {
					return
				}
			}
		}
	}
}

// at returns one item.
func (c *Conversation) at(i int) *item {
	if i >= c.own.first {
		return &c.own.items[i-c.own.first]
	}
	s := c.base
	for s.first > i {
		s = s.prev
	}
	return &s.items[i-s.first]
}

// Fork returns the conversation as it was just after an entry. It shares what both have
// in memory, and costs the same however much that is. It returns false when the
// context was shaped after that entry: then only the history knows how it was.
func (c *Conversation) Fork(at id.Message) (*Conversation, bool) {
	if at < c.shaped {
		return nil, false
	}
	n := c.Len() // behind the newest shaping entry, ids ascend
	for n > 0 && c.at(n-1).id > at {
		n--
	}
	c.freeze()
	fork := &Conversation{blob: c.blob, shaped: c.shaped, last: min(c.last, at)}
	switch {
	case n == c.Len():
		fork.base, fork.state, fork.loose = c.base, c.state, c.loose
		if c.group != nil {
			fork.group = c.group.clone()
		}
		for name, where := range c.late {
			fork.expect(name, where)
		}
		fork.continues()
	case c.loose:
		fork.replay(c.items()[:n])
	default:
		k := n
		for !c.at(k).clean {
			k--
		}
		from := c.at(k)
		fork.base, fork.state = c.base.cut(k, from.outs), from.state
		fork.continues()
		for i := k; i < n; i++ {
			fork.push(*c.at(i))
		}
	}
	return fork, true
}

// freeze puts what is ours where it can be shared.
func (c *Conversation) freeze() {
	if len(c.own.items) == 0 && len(c.own.out) == 0 {
		return
	}
	s := c.own
	s.prev, s.items, s.out = c.base, s.items[:len(s.items):len(s.items)], s.out[:len(s.out):len(s.out)]
	c.base = &s
	c.continues()
}

// continues begins what is ours behind the base.
func (c *Conversation) continues() {
	c.own = segment{first: c.base.end(), outFirst: c.base.outEnd()}
}

// replay makes everything anew, from items.
func (c *Conversation) replay(items []item) {
	c.base, c.own, c.state, c.group, c.late, c.loose = nil, segment{}, state{}, nil, nil, false
	for _, it := range items {
		c.push(it)
	}
}

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

// state holds the facts at a place of the conversation.
type state struct {
	begun bool  // a message besides the system's came
	open  bool  // something waits for an answer
	size  int64 // bytes of all messages, about
}

// State names whose turn it is.
type State string

// Len returns how many entries of the history are in it.
func (c *Conversation) Len() int { return c.base.end() + len(c.own.items) }

// The states of a conversation.
const (
	Idle State = "idle" // nothing was said, or the model said the last word
	Open State = "open" // a message or a result waits for an answer
)

// Unanswered lists the calls that have no result, if no later answer of the model
// stands behind them: those of a turn that was interrupted.
func (c *Conversation) Unanswered() []llm.Part {
	if c.group == nil {
		return nil
	}
	return c.group.open()
}
