package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/core/agent"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
)

func promptTool() tool {
	return tool{name: "prompt", about: "Say something to an agent and wait for its answer: one turn, with all its tools. The turn continues if you do not wait for it.", long: true,
		args: shape.Object(
			shape.Must("agent", ref("whom")),
			shape.Must("text", shape.Text(1).With("what you say")),
			shape.May("model", shape.Text(1).With("vendor/name; the agent's own if absent")),
			shape.May("effort", shape.Enum(llm.Efforts()...).With("how hard its model thinks from now on"))),
		answers: []any{public.Line{}},
		run:     prompt}
}

func prompt(ctx context.Context, s *Server, _ Caller, args json.RawMessage) (json.RawMessage, error) {
	a, err := decode[struct{ Agent, Text, Model, Effort string }](args)
	if err != nil {
		return nil, err
	}
	p := kernel.Prompt{Text: a.Text, Effort: llm.Effort(a.Effort)}
	if err := session.CheckPrompt(a.Text); err != nil {
		return nil, err
	}
	if a.Model != "" {
		if p.Model, err = llm.ParseRef(a.Model); err != nil {
			return nil, err
		}
	}
	ws := s.o.Workspace
	to, err := ws.Find(ctx, a.Agent)
	if err != nil {
		return nil, err
	}
	if err := agent.NeedLiving(to); err != nil {
		return nil, err
	}
	if err := ws.Prompts().Word(ctx, to, &p); err != nil {
		return nil, err
	}
	turn, err := ws.Agents().Launch(ctx, s.life, session.Turn{Agent: to.ID, Prompt: p})
	if err != nil {
		return nil, err
	}
	select {
	case <-turn.Done():
	case <-ctx.Done():
		return nil, llm.Ended(ctx)
	}
	ran, err := turn.Ran()
	if !ran.Began {
		return nil, err
	}
	// As the last line of exec: a turn that failed is an answer, with what it had come to.
	return encode(public.Format(loop.Event{Type: public.Result, Agent: to.ID, Outcome: &ran.Outcome, Err: err}))
}

// waitTool derives the tool of the operation, which here also waits for calls that became handles.
func waitTool() tool {
	t := operationTool(&operation.Wait)
	t.answers = append(append(t.answers, Pending{}, public.Line{}, operation.Verified{}), runAnswers()...)
	t.run = func(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
		var in operation.WaitInput
		if err := operation.Decode(&operation.Wait, operation.MCP, args, &in); err != nil {
			return nil, explain(&operation.Wait, err)
		}
		*in.Timeout = max(1, min(*in.Timeout, operation.Duration(s.o.Patience/10*9)))
		if in.Handle == "" {
			return s.call(ctx, &operation.Wait, &in)
		}
		if len(in.Agents) > 0 || in.For != "" {
			return nil, fault.New(fault.InvalidField, "wait: a handle goes alone").WithHint("leave out agents and for")
		}
		return s.waitFor(ctx, c, in.Handle, time.Duration(*in.Timeout))
	}
	return t
}

// waitFor returns the result of a call that continued, or its handle again.
func (s *Server) waitFor(ctx context.Context, c Caller, handle string, most time.Duration) (json.RawMessage, error) {
	p, err := s.handles.find(c, handle)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-p.done:
		return p.out, p.err
	case <-ctx.Done():
		return nil, llm.Ended(ctx)
	case <-late.C:
		return encode(Pending{true, handle, p.tool})
	}
}
