package tui

import (
	"slices"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// transcript is the conversation of one agent, as far as it was read, and what is
// being said at the moment.
type transcript struct {
	entries []Entry  // oldest first
	asides  []aside  // what the user's commands answered
	blocks  []*block // made of both
	calls   map[string]*block
	head    id.Message // everything up to it was read
	more    bool       // older entries were not read
	read    bool       // something was read at all

	live live
	told int           // how many asides there were
	call *history.Call // the newest call of a model of which tokens are known
	// name is what agents are called; nil: their short ids.
	name func(id.Agent) string
}

func (t *transcript) label(a id.Agent) string {
	if t.name == nil {
		return a.Short()
	}
	return t.name(a)
}

// aside is a block that is no part of the history.
type aside struct {
	after id.Message // the entry it follows
	*block
}

func (t *transcript) reset(p Page) {
	t.entries, t.more, t.read, t.head = p.Entries, p.More, true, p.Head
	t.build()
}

func (t *transcript) prepend(p Page) {
	t.entries, t.more = append(p.Entries[:len(p.Entries):len(p.Entries)], t.entries...), p.More
	t.build()
}

// append takes new entries; those that are known already are passed over. It says
// whether the entries before mean something else now, so that all must be read anew.
func (t *transcript) append(entries ...Entry) (stale bool) {
	for _, e := range entries {
		if e.ID <= t.head {
			continue
		}
		t.head = e.ID
		switch e.Kind {
		case history.Rewind, history.Compact, history.Redact, history.Clear:
			stale = true
		}
		t.entries = append(t.entries, e)
		t.add(e)
	}
	return stale
}

// trim forgets the older part of a long conversation.
func (t *transcript) trim(n int) {
	if len(t.entries) > 2*n {
		t.entries = slices.Clone(t.entries[len(t.entries)-n:])
		t.more = true
		t.build()
	}
}

func (t *transcript) first() id.Message {
	if len(t.entries) == 0 {
		return 0
	}
	return t.entries[0].ID
}

func (t *transcript) last() id.Message {
	if len(t.entries) == 0 {
		return 0
	}
	return t.entries[len(t.entries)-1].ID
}

// tell adds what a command of the user's answered.
func (t *transcript) tell(b *block) {
	t.told++
	b.key = key{t.last(), 1000 + t.told}
	t.asides = append(t.asides, aside{t.last(), b})
	t.blocks = append(t.blocks, b)
	if len(t.asides) > 2*maxAsides {
		t.asides = slices.Clone(t.asides[maxAsides:])
		t.build()
	}
}

// maxAsides is how many answers of commands are kept.
const maxAsides = 100

func (t *transcript) build() {
	t.call = nil
	t.blocks, t.calls = nil, map[string]*block{}
	asides := t.asides
	for _, e := range t.entries {
		for len(asides) > 0 && asides[0].after < e.ID {
			t.blocks = append(t.blocks, asides[0].block)
			asides = asides[1:]
		}
		t.add(e)
	}
	for _, a := range asides {
		t.blocks = append(t.blocks, a.block)
	}
}

func (t *transcript) add(e Entry) {
	if t.calls == nil {
		t.calls = map[string]*block{}
	}
	put := func(i int, b *block) {
		b.key, b.faded = key{e.ID, i}, e.Gone
		t.blocks = append(t.blocks, b)
	}
	switch e.Kind {
	case history.Assistant:
		for i, p := range e.Parts {
			switch {
			case p.Type == history.Thinking && strings.TrimSpace(p.Text) != "":
				put(i, &block{form: thought, body: p.Text})
			case p.Type == history.Text && strings.TrimSpace(p.Text) != "":
				put(i, &block{form: speech, body: p.Text, rest: p.Size})
			case p.Type == history.ToolCall:
				b := &block{form: call, title: p.Name, about: summary(p.Name, p.Args), callID: p.CallID}
				put(i, b)
				t.calls[p.CallID] = b
			}
		}
	case history.ToolResult:
		for i, p := range e.Parts {
			if p.Type == history.Result {
				t.result(e, i, p, put)
			}
		}
	case history.User, history.System:
		put(0, &block{form: saying, body: history.Plain(e.Parts)})
	case history.Interrupted:
		if said := history.Plain(e.Parts); strings.TrimSpace(said) != "" {
			put(0, &block{form: speech, body: said})
		}
		put(1, &block{form: landmark, body: "interrupted"})
	case history.Usage:
		if c := e.About.Call; c != nil && c.Tokens() > 0 { // one that was cut off may have counted nothing
			t.call = c
		}
	default:
		if word := t.landmark(e); word != "" {
			put(0, &block{form: landmark, body: word})
		}
	}
}

func (t *transcript) result(e Entry, i int, p history.Part, put func(int, *block)) {
	b := t.calls[p.CallID]
	if b == nil || b.done { // its call stands on an older page
		b = &block{form: call, title: p.Name, callID: p.CallID}
		put(i, b)
		t.calls[p.CallID] = b
	}
	b.body, b.isError, b.done, b.rest = p.Text, p.IsError, true, p.Size
	if p.Show != "" {
		b.body, b.rest = p.Show, 0
	}
	b.diff = isDiff(b.body)
	b.permission = e.About.Permission
}

func isDiff(s string) bool {
	return strings.HasPrefix(s, "--- ") || strings.HasPrefix(s, "@@ ") || strings.Contains(s[:min(len(s), 400)], "\n@@ ")
}

// landmark is the word for an entry that shapes the conversation; empty for what
// nobody needs to see here.
func (t *transcript) landmark(e Entry) string {
	m := e.About
	switch e.Kind {
	case history.Fork:
		if m.Run != "" {
			return ""
		}
		if len(m.Children) > 0 {
			names := make([]string, len(m.Children))
			for i, c := range m.Children {
				names[i] = t.label(c)
			}
			return "forked " + strings.Join(names, ", ")
		}
		if m.Parent == "" {
			return ""
		}
		return "forked from " + t.label(m.Parent)
	case history.Clear:
		return "cleared"
	case history.Mark:
		return strings.TrimSpace("mark " + m.Label)
	case history.Rewind:
		if m.Label != "" {
			return "rewound to " + m.Label
		}
		return "rewound to message " + m.Target
	case history.Compact:
		return "compacted: " + history.Plain(e.Parts)
	case history.Killed:
		return "killed: " + m.Reason
	case history.Redact:
		return "message " + m.Target + " redacted"
	case history.Mail:
		return "mail sent"
	case history.Note, history.Notice, history.Import:
		return history.Plain(e.Parts)
	case history.Files:
		return filesLandmark(m.Files)
	case history.Command:
		if m.Command == history.ModeCommand && m.Actor != nil {
			return "mode " + m.Mode + ", by " + m.Actor.String()
		}
		if m.Effort != "" {
			return "effort " + m.Effort
		}
		if m.Limit != nil {
			return m.Limit.String()
		}
		if m.Hook != nil && m.Hook.Outcome != "passed" {
			return "hook " + m.Hook.String()
		}
	}
	return ""
}

// open says whether the agent stands in the middle of something: it was interrupted,
// or nobody answered it.
func (t *transcript) open() bool {
	for _, e := range slices.Backward(t.entries) {
		if e.Gone {
			continue
		}
		switch e.Kind {
		case history.Interrupted:
			return true
		case history.User, history.Notice, history.ToolResult:
			return true
		case history.Assistant, history.Clear, history.Rewind, history.System:
			return false
		}
	}
	return false
}

func (t *transcript) lastSpeech() string {
	for _, b := range slices.Backward(t.blocks) {
		if b.form == speech && !b.faded {
			return b.body
		}
	}
	return ""
}

func (k key) before(o key) bool { return k.Entry < o.Entry || k.Entry == o.Entry && k.Part < o.Part }

// live holds the words and calls of an agent at the moment, before they are durable.
type live struct {
	working  bool
	doing    string    // in a word, as far as it was seen
	since    time.Time // when it began that; zero: before anybody looked
	thinking *block
	text     *block
	calls    []*block
	note     string // why it waits
	tokens   int64  // of this turn
}

const maxLive = 64 << 10

func (l *live) take(e loop.Event, now time.Time) {
	switch e.Type {
	case loop.TurnStarted:
		*l = live{working: true, since: now}
	case loop.TurnEnded:
		*l = live{}
	case loop.ThinkingDelta:
		if l.thinking == nil {
			l.thinking = &block{form: thought}
		}
		l.thinking.body += e.Text
		l.note = ""
	case loop.TextDelta:
		if l.text == nil {
			l.text = &block{form: speech, grows: true}
		}
		l.text.body += e.Text
		l.note = ""
	case loop.CallStarted:
		l.calls = append(l.calls, &block{form: call, title: e.Tool, about: strings.TrimPrefix(e.Text, e.Tool+" "), callID: e.CallID})
		l.note = ""
	case loop.CallOutput:
		if b := l.call(e.CallID); b != nil {
			b.body += e.Text
			if len(b.body) > 2*maxLive {
				b.body = b.body[len(b.body)-maxLive:]
			}
		}
	case loop.CallEnded:
		if b := l.call(e.CallID); b != nil {
			b.body, b.isError, b.done, b.diff = e.Text, e.IsError, true, isDiff(e.Text)
		}
	case loop.Asking:
		if b := l.call(e.CallID); b != nil {
			b.waiting = "waiting for your approval"
		}
	case loop.Retrying:
		// What was shown of a failed attempt is nothing that was said.
		l.text, l.thinking = nil, nil
		l.note = "retrying after an error: " + e.Attempt.Err.Error()
	case loop.Compacting:
		l.note = "compacting: " + e.Text
	case loop.Waiting:
		l.note = e.Text
	case loop.Spent:
		l.tokens += e.Usage.Total()
	}
}

func (l *live) call(id string) *block {
	return l.newest(func(b *block) bool { return b.callID == id })
}

func (l *live) newest(is func(*block) bool) *block {
	for _, b := range slices.Backward(l.calls) {
		if is(b) {
			return b
		}
	}
	return nil
}

// settle drops what an entry made durable.
func (l *live) settle(t *transcript) {
	l.calls = slices.DeleteFunc(l.calls, func(c *block) bool {
		stored := t.calls[c.callID]
		return stored != nil && stored.done
	})
	l.show(t)
}

// show has the stored blocks of calls without an answer show what happens in them.
func (l *live) show(t *transcript) {
	for _, c := range l.calls {
		stored := t.calls[c.callID]
		if stored == nil || stored.done { // a done one is of another call, whose id a server used again
			continue
		}
		stored.about, stored.waiting = c.about, c.waiting
		if len(stored.body) != len(c.body) {
			stored.body = c.body
		}
	}
}

// blocks returns the blocks that follow the stored ones.
func (l *live) blocks(t *transcript) []*block {
	var out []*block
	if l.thinking != nil {
		out = append(out, l.thinking)
	}
	if l.text != nil {
		out = append(out, l.text)
	}
	for _, c := range l.calls {
		if t.calls[c.callID] == nil {
			out = append(out, c)
		}
	}
	return out
}

// said forgets the reply that was stored as an entry.
func (l *live) said() { l.text, l.thinking = nil, nil }

// asking returns the call that a question is about.
func (l *live) asking(id, tool string) *block {
	if b := l.call(id); b != nil && id != "" {
		return b
	}
	return l.newest(func(b *block) bool { return !b.done && b.title == tool })
}
