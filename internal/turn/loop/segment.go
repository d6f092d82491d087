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

// position is the place of a result.
type position struct{ out, slot int }

// push takes the next item.
func (c *Conversation) push(it item) {
	if it.message.Role == llm.ToolRole && c.sharedLate(it.message.Parts) {
		c.replay(c.items()) // so that it is ours to change
	}
	it.outs, it.clean, it.state = c.outs(), c.group == nil, c.state
	c.own.items = append(c.own.items, it)
	c.state.size += sizeOf(it.message)
	m := it.message
	switch {
	case m.Role == llm.ToolRole:
		c.results(m.Parts)
	case m.Role == llm.Assistant:
		c.state.open = c.state.open && c.group != nil
		if len(m.Parts) > 0 {
			c.state.open = false
			c.settle()
			c.answer(m)
		}
	case len(m.Parts) > 0:
		// A system message asks for nothing; a summary tells what was answered.
		if it.kind == history.User || it.kind == history.Notice {
			c.state.open = true
		} else if it.kind == history.Compact {
			c.state.open = false
		}
		c.put(m)
	}
}

// answer takes what the model said.
func (c *Conversation) answer(m llm.Message) {
	calls := 0
	for i := range m.Parts {
		if m.Parts[i].Type == llm.ToolCall {
			calls++
		}
	}
	if calls == 0 {
		c.put(m)
		return
	}
	c.state.open = true
	g := &group{message: m, slots: make([]slot, 0, calls), results: make([]llm.Part, calls)}
	copied := false
	for i := range m.Parts {
		if m.Parts[i].Type != llm.ToolCall {
			continue
		}
		was := m.Parts[i].CallID
		delete(c.late, was) // from here on it names this call
		if name := c.unique(was, len(g.slots)); name != was {
			if !copied {
				g.message.Parts, copied = slices.Clone(m.Parts), true
			}
			g.message.Parts[i].CallID = name
		}
		g.slots = append(g.slots, slot{id: was, part: i})
	}
	c.group = g
}

// unique returns an id that no call before has: the same, or with its place.
func (c *Conversation) unique(name string, slot int) string {
	index := c.Len() - 1
	out := name
	for n := 0; out == "" || c.own.taken(out) || c.base.taken(out); n++ {
		switch n {
		case 0:
			out = numberCallID(name, index)
		default:
			out = numberCallID(name, index, slot+n)
		}
	}
	if c.own.names == nil {
		c.own.names = map[string]int{}
	}
	c.own.names[out] = index
	return out
}

// results takes results. Those that name no call answer the first that is open;
// what came beside a result goes with it.
func (c *Conversation) results(parts []llm.Part) {
	var extras []llm.Part
	text, named, taken := "", false, false
	for i := range parts {
		switch p := &parts[i]; {
		case p.Type == llm.ToolResult && p.CallID != "":
			named = true
			taken = c.result(p) || taken
		case p.Type == llm.ToolResult:
			text += p.Text
		default:
			extras = append(extras, *p)
		}
	}
	g := c.group
	if !named && g != nil {
		for _, p := range extras {
			text += p.Text
		}
		extras = slices.DeleteFunc(extras, func(p llm.Part) bool { return p.Type == llm.Text })
		g.nameless = append(g.nameless, llm.Part{Type: llm.ToolResult, Text: text})
		taken = true
	}
	if taken {
		c.state.open = true
	}
	if g == nil {
		return
	}
	if taken {
		g.extras = append(g.extras, extras...)
	}
	if len(g.missing()) == 0 {
		c.settle()
	}
}

// result puts a result where it belongs, and reports whether that is at the end.
func (c *Conversation) result(p *llm.Part) bool {
	if c.group != nil {
		found := false
		for i := range c.group.slots {
			s := &c.group.slots[i]
			if s.id != p.CallID {
				continue
			}
			found = true
			if !s.filled {
				c.group.fill(i, p)
				return true
			}
		}
		if found {
			return false // it was answered already
		}
	}
	where, ok := c.late[p.CallID]
	if !ok {
		return false
	}
	delete(c.late, p.CallID)
	m := &c.own.out[where.out-c.own.outFirst]
	m.Parts = slices.Clone(m.Parts) // a request may have it
	r := &m.Parts[where.slot]
	r.Text, r.IsError = p.Text, p.IsError
	return false
}

// sharedLate reports whether one of the results belongs into what others share.
func (c *Conversation) sharedLate(parts []llm.Part) bool {
	for i := range parts {
		if where, ok := c.late[parts[i].CallID]; ok && where.out < c.own.outFirst {
			return true
		}
	}
	return false
}

// expect remembers a call whose result may still come.
func (c *Conversation) expect(name string, where position) {
	if c.late == nil {
		c.late = map[string]position{}
	}
	c.late[name] = where
}

// settle ends the wait for results.
func (c *Conversation) settle() {
	g := c.group
	if g == nil {
		return
	}
	c.group = nil
	c.put(g.message)
	for _, i := range g.missing() {
		c.expect(g.slots[i].id, position{c.outs(), i})
		c.loose = true
	}
	c.put(g.answer())
	for _, m := range g.after {
		c.put(m)
	}
}

// put takes a message that is as it should be, behind those that wait.
func (c *Conversation) put(m llm.Message) {
	if c.group != nil {
		c.group.after = append(c.group.after, m)
		return
	}
	c.own.out, c.state.begun = appendMessage(c.own.out, c.state.begun, m)
}

// appendMessage appends a message, and lets the user open the conversation.
func appendMessage(out []llm.Message, begun bool, m llm.Message) ([]llm.Message, bool) {
	if !begun && m.Role == llm.Assistant {
		out = append(out, llm.Say(llm.User, goesOn))
	}
	return append(out, m), begun || m.Role != llm.System
}

// outs returns how many messages are settled.
func (c *Conversation) outs() int { return c.own.outFirst + len(c.own.out) }

// group is a message that calls tools, until the results are there.
type group struct {
	message  llm.Message // with unique ids
	slots    []slot      // one for each call
	results  []llm.Part  // one for each call, as far as they are there
	nameless []llm.Part  // results that do not say which call they answer
	extras   []llm.Part  // what came with results and is none, such as an image
	after    []llm.Message
}

type slot struct {
	id     string // as the history has it
	part   int    // of the message: the call
	filled bool   // its result is there
}

// call returns the call of a slot.
func (g *group) call(slot int) llm.Part { return g.message.Parts[g.slots[slot].part] }

// missing lists the slots that nothing fills.
func (g *group) missing() []int {
	var out []int
	for i := range g.slots {
		if !g.slots[i].filled {
			out = append(out, i)
		}
	}
	return out[min(len(out), len(g.nameless)):]
}

// open lists the calls without a result, as the history has them.
func (g *group) open() []llm.Part {
	var out []llm.Part
	for _, i := range g.missing() {
		call := g.call(i)
		call.CallID = g.slots[i].id
		out = append(out, call)
	}
	return out
}

// fill puts a result into its slot.
func (g *group) fill(slot int, p *llm.Part) {
	g.slots[slot].filled = true
	g.results[slot] = llm.Result(g.call(slot), p.Text, p.IsError)
}

// answer returns the message behind the one that calls, whatever is missing in it.
func (g *group) answer() llm.Message {
	parts, nameless, ours := slices.Clip(g.results), g.nameless, false
	for i := range g.slots {
		if g.slots[i].filled {
			continue
		}
		if !ours { // a result may still come
			parts, ours = append(make([]llm.Part, 0, len(parts)+len(g.extras)), parts...), true
		}
		parts[i] = llm.Result(g.call(i), unknownOutcome, true)
		if len(nameless) > 0 {
			parts[i] = llm.Result(g.call(i), nameless[0].Text, nameless[0].IsError)
			nameless = nameless[1:]
		}
	}
	return llm.Message{Role: llm.ToolRole, Parts: append(parts, g.extras...)}
}

// clone returns a group for a fork.
func (g *group) clone() *group {
	out := *g
	out.slots = slices.Clone(g.slots)
	out.results = slices.Clone(g.results)
	out.nameless = slices.Clip(g.nameless)
	out.extras = slices.Clip(g.extras)
	out.after = slices.Clip(g.after)
	return &out
}

// unknownOutcome answers a call whose result was not recorded.
const unknownOutcome = "interrupted: outcome unknown"
