package tui

import (
	"slices"
	"strings"
	"time"

	"ramet/internal/turn/loop"
)

// live is what an agent says and does at the moment, before it is durable.
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
	for i := len(l.calls) - 1; i >= 0; i-- {
		if l.calls[i].callID == id {
			return l.calls[i]
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

// blocks are the blocks that follow the stored ones.
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

// asking is the call that a question is about.
func (l *live) asking(id, tool string) *block {
	if b := l.call(id); b != nil && id != "" {
		return b
	}
	return l.running(tool)
}

// running is the newest call of a tool that is not over.
func (l *live) running(tool string) *block {
	for i := len(l.calls) - 1; i >= 0; i-- {
		if !l.calls[i].done && l.calls[i].title == tool {
			return l.calls[i]
		}
	}
	return nil
}
