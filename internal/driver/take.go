package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

const (
	mostText   = 4 << 20   // bytes of one message; what is more is left out
	mostResult = 256 << 10 // of what a call gave back
	mostShow   = 8 << 10
	mostOdd    = 20 // things that nobody understands are kept of one turn
	mostLine   = 200
)

// take takes one thing that the program tells.
func (r *turn) take(ctx context.Context, u Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.failed != nil {
		if u.Reply != nil {
			u.Reply(Cancel)
		}
		return
	}
	switch u.Type {
	case Said:
		if piece := r.kept(r.say(history.Text, u.Text)); piece != "" {
			r.shown.add(piece)
			r.Journal.Streaming(r.shown.words)
			r.Emit(loop.Event{Type: loop.TextDelta, Agent: r.Agent, Text: piece})
		}
	case Thought:
		if piece := r.kept(r.say(history.Thinking, u.Text)); piece != "" {
			r.Emit(loop.Event{Type: loop.ThinkingDelta, Agent: r.Agent, Text: piece})
		}
	case Called:
		r.called(ctx, u.Call, u.Text)
	case Drew:
		r.drew(u.Text, u.Image)
	case Planned:
		r.plan = u.Plan
	case Moved:
		r.fail(r.write(ctx, ModeEntry(r.about.Driver, r.kept(u.Text))))
	case Used:
		if u.Usage.Total() > 0 {
			r.used = u.Usage
		}
		if u.Cost > 0 {
			r.cost = u.Cost
		}
	case Asked:
		r.asked(ctx, u)
	default:
		r.oddly(ctx, u.Text)
	}
}

// say collects a piece of what the program says or thinks, and returns what there was room
// for.
func (r *turn) say(kind history.PartType, piece string) string {
	if piece == "" || r.held > mostText {
		return ""
	}
	if room := mostText - r.held; len(piece) > room {
		piece = strings.ToValidUTF8(piece[:room], "") + "\n[the rest is left out: it was too long]"
		r.held = mostText
	}
	r.held += len(piece)
	if n := len(r.parts); n == 0 || r.parts[n-1].kind != kind {
		r.parts = append(r.parts, &spoken{kind: kind})
	}
	r.parts[len(r.parts)-1].text.WriteString(piece)
	return piece
}

// spoken is something that is being said, thought or drawn.
type spoken struct {
	kind  history.PartType
	text  strings.Builder
	image history.Part
}

// drew takes an image that the program says something with; words are for whoever cannot see it.
func (r *turn) drew(words string, image llm.Part) {
	if r.held+len(image.Data) > mostText {
		words, image.Data = words+", too large to be kept", nil
	}
	words = "[" + words + "]\n"
	if piece := r.kept(r.say(history.Text, words)); piece != "" {
		r.shown.add(piece)
		r.Emit(loop.Event{Type: loop.TextDelta, Agent: r.Agent, Text: piece})
	}
	if len(image.Data) > 0 {
		r.held += len(image.Data)
		r.parts = append(r.parts, &spoken{kind: history.Image, image: history.Part{Type: history.Image, MediaType: image.MediaType, Name: r.kept(image.Name), Data: image.Data}})
	}
}

// speak writes what was said, with the calls that follow it. cut leaves the words to the entry
// that says that they were interrupted.
func (r *turn) speak(ctx context.Context, cut bool, calls ...*call) {
	if cut {
		r.parts = slices.DeleteFunc(r.parts, func(p *spoken) bool { return p.kind == history.Text })
	}
	parts := make([]history.Part, 0, len(r.parts)+len(calls))
	for _, one := range r.parts {
		p := history.Part{Type: one.kind, Text: r.kept(one.text.String())}
		if one.kind == history.Image {
			parts = append(parts, one.image)
			continue
		}
		if strings.TrimSpace(p.Text) == "" {
			continue
		}
		if parts = append(parts, p); p.Type == history.Text {
			r.out.Text = p.Text
		}
	}
	r.parts, r.held = nil, 0
	plan := r.newPlan()
	if plan != nil {
		parts = append(parts, plan.call)
	}
	drafts := r.files.before(ctx, calls)
	for _, c := range calls {
		parts = append(parts, c.part(r.kept))
		c.written = true
	}
	if len(parts) > 0 {
		drafts = append(drafts, history.Draft{Kind: history.Assistant, Meta: r.about.meta(), Parts: parts})
	}
	if plan != nil {
		drafts = append(drafts, history.Draft{Kind: history.ToolResult, Meta: r.about.meta(), Parts: []history.Part{plan.result}})
	}
	if len(drafts) == 0 {
		return
	}
	if len(calls) > 0 {
		r.hold(ctx)
	}
	r.shown.take()
	if r.fail(r.write(ctx, drafts...)) {
		return
	}
	if plan != nil {
		plan.emit(r)
	}
	for _, c := range calls {
		r.out.Calls++
		r.Emit(loop.Event{Type: loop.CallStarted, Agent: r.Agent, CallID: c.ID, Tool: c.name(), Text: text.Line(r.kept(c.line()), mostLine)})
	}
}

// oddly keeps something that nobody here understands.
func (r *turn) oddly(ctx context.Context, what string) {
	if r.odd++; r.odd > mostOdd {
		return
	}
	if r.odd == mostOdd {
		what = "other items of this turn are unknown and not kept"
	}
	m := r.about.meta()
	r.fail(r.write(ctx, history.Draft{Kind: history.Note, Meta: m, Parts: []history.Part{{Type: history.Text, Text: r.kept(text.Middle(what, 2<<10))}}}))
}

// shown is what people saw of a message that is not written yet.
type shown struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *shown) add(piece string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text.Len() < mostText {
		s.text.WriteString(piece)
	}
}

func (s *shown) words() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// take gives the words away.
func (s *shown) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.text.String()
	s.text.Reset()
	return out
}

// object is JSON that is an object; anything else is put into one.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || !json.Valid(raw) || string(raw) == "null" {
		return nil
	}
	return raw
}

// planTool is the tool with which our own agents show what they mean to do. A program's plan stands
// in the history as a call of it, so every face shows it as ours.
const planTool = "plan"

// planned is a plan that is about to be written.
type planned struct{ call, result history.Part }

// newPlan returns the program's plan if it differs from the one that was written last, or nil.
func (r *turn) newPlan() *planned {
	if len(r.plan) == 0 || slices.Equal(r.plan, r.planned) {
		return nil
	}
	var plan tool.Plan
	for _, s := range r.plan {
		state := tool.StepOpen
		switch s.Status {
		case "completed":
			state = tool.StepDone
		case "in_progress":
			state = tool.StepDoing
		}
		plan.Add(s.Text, state)
	}
	args, err := json.Marshal(plan)
	if err != nil {
		return nil // texts always are JSON
	}
	answer := plan.Answer()
	r.planned = slices.Clone(r.plan)
	r.plans++
	id := fmt.Sprintf("plan-%d-%d", r.mark, r.plans)
	return &planned{history.Part{Type: history.ToolCall, CallID: id, Name: planTool, Args: text.Strings(args, r.kept)},
		history.Part{Type: history.Result, CallID: id, Name: planTool, Text: r.kept(answer.Text), Show: r.kept(answer.Show)}}
}

// emit tells of it.
func (p *planned) emit(r *turn) {
	r.Emit(loop.Event{Type: loop.CallStarted, Agent: r.Agent, CallID: p.call.CallID, Tool: planTool, Text: text.Line(p.result.Text, mostLine)})
	r.Emit(loop.Event{Type: loop.CallEnded, Agent: r.Agent, CallID: p.call.CallID, Tool: planTool, Text: p.result.Show})
}

// farewell limits how long its files may hold up the end of a turn that was stopped.
const farewell = 100 * time.Millisecond

// stating records the files of a turn: the state before the first call that may write, and that
// after the last.
type stating struct {
	taking loop.Taking
	wrote  bool
}

// look begins to take the state that the turn begins with.
func (s *stating) look(ctx context.Context, t loop.Turn) {
	if t.Files != nil {
		s.taking = t.Files.Take(ctx)
	}
}

// before drafts the state before calls that may write, once.
func (s *stating) before(ctx context.Context, calls []*call) []history.Draft {
	if s.taking == nil {
		return nil
	}
	for _, c := range calls {
		if !c.mayWrite() {
			continue
		}
		draft, ok := s.taking.Done(ctx, history.BeforeCalls)
		s.taking = nil
		if ok {
			return []history.Draft{draft}
		}
		return nil
	}
	return nil
}

// begin marks the beginning of a call that may write.
func (s *stating) begin(t loop.Turn) (end func()) {
	s.wrote = true
	if t.Files == nil {
		return func() {}
	}
	return t.Files.Begin()
}

// last writes the state that the turn ended with.
func (s *stating) last(ctx context.Context, r *turn) {
	if r.Files == nil || !s.wrote || r.failed != nil {
		return
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
	}
	if draft, ok := r.Files.Take(ctx).Done(ctx, history.AfterCalls); ok {
		r.write(ctx, draft) // the next turn tells it, if this cannot
	}
}
