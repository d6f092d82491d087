package llmtest

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// player streams one reply.
type player struct {
	ctx   context.Context
	yield func(llm.Event) bool
	gate  Gate
	index int
	open  llm.Part // the text or thinking being written; Type is empty for none
	calls bool
	gone  bool // the consumer left, or the terminal event was sent
}

// emit passes an event on, or the end of the context.
func (p *player) emit(e llm.Event) {
	if p.gone {
		return
	}
	if p.ctx.Err() != nil {
		e = llm.Fail(llm.Ended(p.ctx))
	}
	e.Index = p.index
	p.gone = !p.yield(e) || e.Terminal()
}

func (p *player) play(steps []step) {
	for _, s := range steps {
		p.step(s)
	}
	p.finish("")
}

// step plays one step.
func (p *player) step(s step) {
	switch {
	case p.gone:
	case s.Text != nil:
		p.write(llm.Text, llm.TextDelta, *s.Text, "")
	case s.Thinking != nil:
		p.write(llm.Thinking, llm.ThinkingDelta, *s.Thinking, s.Signature)
	case s.Call != "":
		p.call(s)
	case s.Usage != nil:
		p.shut()
		p.emit(llm.Event{Type: llm.Used, Usage: s.Usage})
	case s.Wait != "":
		if err := p.gate(p.ctx, s.Wait); err != nil {
			p.emit(llm.Fail(fault.New(fault.Failed, "script: gate %s: %w", s.Wait, err)))
		}
	case s.Error != "":
		why := &llm.Failure{Says: s.Message, Kind: string(s.Error), Again: s.Again, After: time.Duration(s.AfterMS) * time.Millisecond}
		p.emit(llm.Fail(fault.New(s.Error, "script: %w", why)))
	case s.Cut:
		p.emit(llm.Fail(llm.Cut(nil)))
	case s.Finish != "":
		p.finish(s.Finish)
	}
}

func (p *player) write(kind llm.PartType, delta llm.EventType, text, signature string) {
	if p.open.Type != kind {
		p.shut()
		p.open = llm.Part{Type: kind}
	}
	p.open.Text += text
	p.open.Signature = signature
	if text != "" {
		p.emit(llm.Event{Type: delta, Text: text})
	}
	if signature != "" {
		p.shut()
	}
}

func (p *player) shut() {
	if p.open.Type == "" {
		return
	}
	if p.open.Type == llm.Thinking {
		p.open.Origin = ScriptOrigin
	}
	p.emit(llm.Event{Type: llm.Done, Part: new(p.open)})
	p.open = llm.Part{}
	p.index++
}

func (p *player) call(s step) {
	p.shut()
	args := string(s.Args)
	if s.Raw != nil {
		args = *s.Raw
	}
	p.calls = true
	p.emit(llm.Event{Type: llm.ToolStart, CallID: s.ID, Name: s.Call})
	if args != "" {
		p.emit(llm.Event{Type: llm.ToolDelta, Text: args})
	}
	p.emit(llm.Event{Type: llm.Done, Part: new(llm.NewCall(s.ID, s.Call, args))})
	p.index++
}

func (p *player) finish(reason llm.Reason) {
	p.shut()
	if reason == "" {
		reason = llm.Stop
		if p.calls {
			reason = llm.ToolCalls
		}
	}
	p.emit(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: reason, Raw: string(reason)}})
}
