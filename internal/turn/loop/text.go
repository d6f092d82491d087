package loop

import (
	"bytes"
	"strings"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	states "ramet/internal/core/state"
	"ramet/internal/model/llm"
)

const (
	maxResult = 256 << 10 // of the text of a result; tools cut theirs before
	maxShow   = 8 << 10   // of what people are shown
	maxLine   = 200       // of a line about a call, in runes
	window    = 512       // in which a credential is looked for that came in pieces
)

// kept returns a text as it is kept: without our credentials, and such that both stores
// and every vendor take it.
func (r *turn) kept(s string) string { return text.Storable(r.Clean(s)) }

// clipEnd returns the beginning of a text that is too long.
func clipEnd(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return text.Head(s, limit) + "…"
}

// part returns what the model said, as it is kept. What was signed and had to be
// changed is not signed any more. false: there is nothing in it.
func (r *turn) part(p llm.Part) (llm.Part, bool) {
	before := p
	p.Text, p.Malformed, p.Args = r.kept(p.Text), r.kept(p.Malformed), text.Strings(p.Args, r.kept)
	p.Name, p.CallID = text.Storable(p.Name), text.Storable(p.CallID)
	if p.Text != before.Text || p.Malformed != before.Malformed || !bytes.Equal(p.Args, before.Args) || r.Clean(string(p.Opaque)) != string(p.Opaque) {
		p.Signature, p.Opaque = "", nil
	}
	p.Sources = r.pages(p.Sources)
	empty := p.Text == "" && p.Signature == "" && p.Opaque == nil && p.Sources == nil
	return p, p.Type == llm.ToolCall || !empty
}

// pages returns what a text rests on, as it is kept.
func (r *turn) pages(list []llm.Source) []llm.Source {
	var out []llm.Source
	for _, s := range list {
		out = append(out, llm.Source{URL: r.kept(s.URL), Title: r.kept(s.Title), Quote: clipEnd(r.kept(s.Quote), maxShow)})
	}
	return out
}

// storedPart returns a part as the history has it.
func storedPart(p llm.Part) history.Part {
	return history.Part{Type: history.PartType(p.Type), Text: p.Text, CallID: p.CallID, Name: p.Name, Args: p.Args,
		MediaType: p.MediaType, Data: p.Data, Malformed: p.Malformed, Signature: p.Signature, Opaque: p.Opaque, Origin: p.Origin, Sources: p.Sources}
}

// shown collects what was shown of a reply. Looking for credentials takes time, so it is done
// when the words are wanted, not for every piece; one that comes in pieces is found when
// it is whole, and a word is handed out when it has ended.
type shown struct {
	clean func(string) string

	mu   sync.Mutex // the journal reads while the model speaks
	kept strings.Builder
	rest []byte // not looked at yet
	told bool   // the journal knows that there is something new
}

// add reports whether the journal is to be told: it is once, until it asks for the words.
func (s *shown) add(piece string) (tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, piece...)
	tell, s.told = !s.told, true
	return tell
}

// words returns those that have ended.
func (s *shown) words() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = false
	n := len(s.rest)
	for n > 0 && len(s.rest)-n < window && s.rest[n-1] > ' ' && s.rest[n-1] < 0x7f {
		n--
	}
	return s.look(n)
}

// whole returns everything.
func (s *shown) whole() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look(len(s.rest))
}

// look takes so many bytes of the rest. The caller has the mutex.
func (s *shown) look(n int) string {
	if n == 0 {
		return s.kept.String()
	}
	all, piece := s.kept.String(), string(s.rest[:n])
	s.rest = append(s.rest[:0], s.rest[n:]...)
	cut := max(0, len(all)-window)
	end := all[cut:] + piece
	if clean := s.clean(end); clean != end {
		s.kept.Reset()
		s.kept.WriteString(all[:cut] + clean)
	} else {
		s.kept.WriteString(piece)
	}
	return s.kept.String()
}

// Notice drafts what the kernel says to an agent.
func Notice(what string) history.Draft {
	return history.Draft{Kind: history.Notice, Parts: []history.Part{{Type: history.Text, Text: text.Storable(what)}}}
}

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
