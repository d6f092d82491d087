package loop

import (
	"bytes"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	states "ramet/internal/core/state"
	"ramet/internal/model/llm"
)

// EventType names a kind of event.
type EventType string

// The events of a turn. The first group is of this package, the second of the
// kernel around it.
const (
	TextDelta     EventType = "text_delta"     // Text
	ThinkingDelta EventType = "thinking_delta" // Text
	Recorded      EventType = "entry"          // Entry: it is durable
	CallStarted   EventType = "call_started"   // CallID, Tool, Text: a line about it
	CallOutput    EventType = "call_output"    // CallID, Tool, Text: a piece of what it prints
	CallEnded     EventType = "call_ended"     // CallID, Tool, Text: for people, IsError
	Retrying      EventType = "retrying"       // Attempt
	Spent         EventType = "spent"          // Usage, Cost
	Compacting    EventType = "compacting"     // Text: why
	Note          EventType = "note"           // Text: something that people should know

	TurnStarted EventType = "turn_started" // Turn, Text: the model
	TurnEnded   EventType = "turn_ended"   // Turn, Outcome, Err
	Asking      EventType = "asking"       // Ask, CallID, Tool, Text: waits for permission
	Answered    EventType = "answered"     // Ask, Tool, Text: the answer
	Waiting     EventType = "waiting"      // Text: what a fork or a wait waits for
	Forked      EventType = "forked"       // Children
	Killed      EventType = "killed"       // Text: the reason
	Mailed      EventType = "mailed"       // Text: from whom, to the agent
	Became      EventType = "state"        // State: what the agent does from now on; none: look yourself
)

// Event is one thing that happened to an agent. Only the fields that its type
// names are set, besides Agent.
type Event struct {
	Type     EventType
	Agent    id.Agent
	Text     string
	CallID   string
	Tool     string
	IsError  bool
	Entry    *history.Entry
	Attempt  llm.Attempt
	Usage    llm.Usage
	Cost     llm.Money
	Children []id.Agent
	Turn     int64  // of the kernel: counts its turns
	Ask      string // of the kernel: names a question that anybody may answer
	Outcome  *Outcome
	State    *states.State
	Err      error
}

// longestLine limits how much of an unfinished line is held back.
const longestLine = 4 << 10

// printer passes on what a tool prints, line by line: a credential never stands
// on two, and no letter is torn.
type printer struct {
	turn *turn
	job  *job
	mu   sync.Mutex // a tool may print from several goroutines
	rest []byte
}

func (p *printer) print(piece []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, piece...)
	n := bytes.LastIndexAny(p.rest, "\n\r") + 1
	if n == 0 && len(p.rest) >= longestLine {
		n = len(text.WholeRunes(p.rest))
	}
	p.pass(n)
}

func (p *printer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass(len(p.rest))
}

func (p *printer) pass(n int) {
	if n == 0 {
		return
	}
	said := p.turn.kept(string(p.rest[:n]))
	p.rest = append(p.rest[:0], p.rest[n:]...)
	p.turn.emit(Event{Type: CallOutput, CallID: p.job.call.CallID, Tool: p.job.call.Name, Text: said})
}

// wordwise shows what a model says while it says it. A credential that comes in pieces
// must not be shown in pieces, so a word is held back until it ends; what is not
// ASCII is no credential and waits for nothing.
type wordwise struct {
	turn *turn
	kind EventType
	rest string
}

func (v *wordwise) show(piece string) {
	all := v.rest + piece
	n := len(all)
	for n > 0 && len(all)-n < window && all[n-1] > ' ' && all[n-1] < 0x7f {
		n--
	}
	v.pass(all[:n], all[n:])
}

// drop shows the rest.
func (v *wordwise) drop() { v.pass(v.rest, "") }

func (v *wordwise) pass(text, rest string) {
	v.rest = rest
	if text != "" {
		v.turn.emit(Event{Type: v.kind, Text: v.turn.Clean(text)})
	}
}
