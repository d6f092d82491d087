package offline

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// player plays one reply.
type player struct {
	yield func(llm.Event) bool
	model *ScriptModel
	index int
	open  llm.Part // the text or thinking being written; Type is empty for none
	calls bool
	gone  bool // the consumer left
}

func (p *player) emit(e llm.Event) {
	e.Index = p.index
	if !p.gone && !p.yield(e) {
		p.gone = true
	}
}

func (p *player) play(ctx context.Context, steps []scriptStep) {
	for _, s := range steps {
		if p.gone {
			return
		}
		if ctx.Err() != nil {
			p.emit(llm.Fail(llm.Ended(ctx)))
			return
		}
		if p.step(ctx, s) {
			return
		}
	}
	p.finish("")
}

// step plays one step; it says whether that was the last.
func (p *player) step(ctx context.Context, s scriptStep) (over bool) {
	switch {
	case s.Text != nil:
		p.write(llm.Text, llm.TextDelta, *s.Text, "")
	case s.Thinking != nil:
		p.write(llm.Thinking, llm.ThinkingDelta, *s.Thinking, s.Signature)
	case s.Call != "":
		p.call(s)
	case s.Usage != nil:
		p.emit(llm.Event{Type: llm.Used, Usage: s.Usage})
	case s.Wait != "":
		if err := p.model.gate(ctx, s.Wait); err != nil {
			if ctx.Err() != nil {
				err = llm.Ended(ctx)
			} else {
				err = fault.New(fault.Failed, "script: gate %s: %w", s.Wait, err)
			}
			p.emit(llm.Fail(err))
			return true
		}
	case s.Error != "":
		why := &llm.Failure{Says: s.Message, Kind: string(s.Error), Again: s.Again, After: time.Duration(s.AfterMS) * time.Millisecond}
		p.emit(llm.Fail(fault.New(s.Error, "script: %w", why)))
		return true
	case s.Cut:
		p.emit(llm.Fail(llm.Cut(nil)))
		return true
	case s.Finish != "":
		p.finish(s.Finish)
		return true
	}
	return false
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

func (p *player) call(s scriptStep) {
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
