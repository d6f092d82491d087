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
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
)

func promptTool() tool {
	return tool{name: "prompt", about: "Say something to an agent and wait for its answer: one turn, with all its tools. The turn goes on if you do not wait for it.", long: true,
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

// How many a wait waits for.
const (
	forAny = "any"
	forAll = "all"
)

func waitTool() tool {
	return tool{name: "wait", about: "Wait until agents have nothing under way, or a letter comes, or a call that went on is done (handle: its answer is then that of the call). Returns after 45 s in any case; then call it again.", reads: true,
		args: shape.Object(
			shape.May("handle", shape.Text(1).With("of a call that was pending; alone")),
			shape.May("agents", shape.List(shape.Text(1)).With("for whom; without any, for a letter in your mailbox")),
			shape.May("for", shape.Enum(forAny, forAll).With("any of them, as if absent, or all")),
			shape.May("timeout", shape.Number(0, 45).With("seconds, 45"))),
		answers: append([]any{public.Waited{}, Pending{}, public.Line{}, Verified{}}, runAnswers()...),
		run:     wait}
}

func wait(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
	a, err := decode[struct {
		Handle, For string
		Agents      []string
		Timeout     *float64
	}](args)
	if err != nil {
		return nil, err
	}
	most := s.o.Patience / 10 * 9
	if a.Timeout != nil {
		most = min(most, time.Duration(*a.Timeout*float64(time.Second)))
	}
	if a.Handle != "" {
		if len(a.Agents) > 0 || a.For != "" {
			return nil, fault.New(fault.InvalidField, "wait: a handle goes alone").WithHint("leave out agents and for")
		}
		return s.waitFor(ctx, c, a.Handle, most)
	}
	ws := s.o.Workspace
	x := session.Wait{All: a.For == forAll}
	for _, one := range a.Agents {
		found, err := ws.Find(ctx, one)
		if err != nil {
			return nil, err
		}
		x.Agents = append(x.Agents, found)
	}
	if len(x.Agents) == 0 {
		own, err := ws.Find(ctx, box(c))
		if err != nil {
			return nil, err
		}
		x.Mail = &own
	}
	done, err := ws.Turns().Wait(ctx, x, most)
	if err != nil {
		return nil, err
	}
	return encode(public.FormatWaited(done.Over, done.Agents, done.Now, done.Letters))
}

// waitFor is what came of a call that went on; or its handle again.
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
