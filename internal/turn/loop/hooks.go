package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/hook"
	"ramet/internal/turn/tool"
)

// Hooks tells the hooks of a turn of something, and returns what they say together.
type Hooks func(ctx context.Context, o hook.Occasion) hook.Verdict

// mostStops limits how often hooks may keep a turn from ending.
const mostStops = 8

// fire tells hooks of something, and the history of them.
func (r *turn) fire(ctx context.Context, o hook.Occasion) (hook.Verdict, error) {
	if r.Hooks == nil {
		return hook.Verdict{}, nil
	}
	v := r.Hooks(ctx, o)
	for _, what := range v.Tell {
		r.emit(Event{Type: Note, Text: r.kept(text.Line(what, 400))})
	}
	if err := r.write(ctx, v.Entries...); err != nil {
		return v, err
	}
	if ctx.Err() != nil {
		return v, ContextFault(ctx)
	}
	return v, nil
}

// hookFault returns the end of a turn that hooks want.
func hookFault(v hook.Verdict) *fault.Error {
	return fault.New(fault.Denied, "a hook ended the turn: %s", v.Why).WithHint("it is in %s", v.From)
}

// objected refuses a call, or changes it, as hooks say before it is permitted. The context is that
// in which permission is asked.
func (r *turn) objected(ctx context.Context, j *job) (context.Context, error) {
	v, err := r.fire(ctx, hook.Occasion{Event: hook.PreToolUse, Tool: j.spec.Name, CallID: j.call.CallID, Args: j.made.Args})
	switch {
	case err != nil:
		return ctx, err
	case v.Halts:
		return ctx, r.stop(ctx, hookFault(v))
	case v.Denied:
		r.hinder(j, v, "A hook did not let this happen: "+v.Why)
		return ctx, nil
	}
	if v.Args != nil {
		found, _, ok := r.Tools.Open().Find(llm.Part{Type: llm.ToolCall, CallID: j.call.CallID, Name: j.spec.Name, Args: v.Args})
		if !ok {
			r.hinder(j, v, "A hook changed the arguments into some that cannot be run. Nothing was done.")
			return ctx, nil
		}
		j.made.Args = found.Args
		j.note = strings.TrimPrefix(j.note+"\n[note: a hook changed the arguments to "+text.Line(string(plainArguments(found.Args)), 2000)+"]", "\n")
	}
	if v.Context != "" {
		j.note = strings.TrimPrefix(j.note+"\n[hook: "+v.Context+"]", "\n")
	}
	if v.Asks {
		why := "a hook wants you to be asked"
		if v.Why != "" {
			why += ": " + text.Line(v.Why, 300)
		}
		ctx = tool.Insist(ctx, why)
	}
	return ctx, nil
}

func (r *turn) hinder(j *job, v hook.Verdict, said string) {
	j.denied, j.answer = true, tool.Failed(said)
	j.record = &history.Permission{Answer: history.Refused, By: history.ByHook, From: v.From, At: history.Moment(time.Now())}
	r.out.Denied++
}

func plainArguments(raw json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	out, _ := json.Marshal(v)
	return out
}

// happened tells hooks of a call that went well. What they say to the model is returned.
func (r *turn) happened(ctx context.Context, j *job, answer string) (string, error) {
	if r.Hooks == nil {
		return "", nil
	}
	v, err := r.fire(ctx, hook.Occasion{Event: hook.PostToolUse, Tool: j.spec.Name, CallID: j.call.CallID, Args: j.made.Args, Answer: answer})
	if v.Halts && r.halt == nil {
		r.halt = hookFault(v)
	}
	if err != nil || v.Context == "" {
		return "", err
	}
	return "[hook: " + v.Context + "]", nil
}

// aside keeps what hooks say of a call whose result was written already.
func (r *turn) aside(said string) {
	if said != "" {
		r.asides = append(r.asides, said)
	}
}

// sayAsides writes what hooks said beside results, and ends a turn that they want ended.
func (r *turn) sayAsides(ctx context.Context) error {
	if len(r.asides) > 0 {
		said := strings.Join(r.asides, "\n")
		r.asides = nil
		if err := r.write(ctx, Notice(r.kept(said))); err != nil {
			return err
		}
	}
	if r.halt != nil {
		return r.stop(ctx, r.halt)
	}
	return nil
}

// mayStop asks hooks whether the turn may end. What they want instead is a notice.
func (r *turn) mayStop(ctx context.Context) (goesOn bool, err error) {
	if r.Hooks == nil {
		return false, nil
	}
	o := hook.Occasion{Event: hook.Stop, Fields: map[string]any{"stop_hook_active": r.stops > 0, "last_assistant_message": r.out.Text}}
	if r.Task {
		o.Event, o.About = hook.SubagentStop, r.c.Role()
		o.Fields["agent_type"] = o.About
	}
	o.Shown = r.stops >= mostStops
	v, err := r.fire(ctx, o)
	if err != nil || v.Halts || !v.Denied {
		return false, err
	}
	if r.stops++; r.stops == mostStops {
		r.emit(Event{Type: Note, Text: fmt.Sprintf("hooks have kept the turn from ending %d times; they are not heard again", mostStops)})
	}
	return true, r.write(ctx, Notice(r.kept("Your turn is not over, a hook says: "+v.Why)))
}

// mayCompact asks hooks whether a part of the conversation may be replaced by a summary.
func (r *turn) mayCompact(ctx context.Context, trigger string) error {
	v, err := r.fire(ctx, hook.Occasion{Event: hook.PreCompact, About: trigger, Fields: map[string]any{"trigger": trigger, "custom_instructions": ""}})
	if err == nil && (v.Denied || v.Halts) {
		err = fault.New(fault.Conflict, "a hook did not let the context be compacted: %s", v.Why).WithHint("it is in %s", v.From)
	}
	return err
}

// afterCompact tells hooks that the model begins anew behind a summary. What they say is for it.
func (r *turn) afterCompact(ctx context.Context) error {
	v, err := r.fire(ctx, hook.Occasion{Event: hook.SessionStart, About: "compact", Fields: map[string]any{"source": "compact"}})
	if err == nil && v.Context != "" {
		err = r.write(ctx, Notice(r.kept("[hook] "+v.Context)))
	}
	return err
}

// Role returns the definition that the agent was made by, as its conversation has it; empty: none.
func (c *Conversation) Role() string {
	name := ""
	for raw := range c.memos() {
		var m struct {
			Role *struct {
				Name string `json:"name"`
			} `json:"role"`
		}
		if json.Unmarshal(raw, &m) == nil && m.Role != nil {
			name = m.Role.Name
		}
	}
	return name
}
