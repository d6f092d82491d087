package operation

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
)

// PromptInput is a prompt to an agent.
type PromptInput struct {
	Agent  AgentRef   `json:"agent" help:"the agent: 0, a name, a uuid or the beginning of one"`
	Text   Text       `json:"text" help:"the text"`
	Model  Model      `json:"model,omitempty" help:"vendor/name; the agent's own if absent"`
	Effort llm.Effort `json:"effort,omitempty" help:"reasoning effort from now on"`
	Ticket string     `json:"ticket,omitempty" faces:"http" help:"a name for the prompt, so that it can be withdrawn (interrupt)"`
	Wait   bool       `json:"wait,omitempty" faces:"-" default:"mcp=true" help:"until the turn has ended"`
}

// TurnBegun is a turn that was asked for. Events report what becomes of it.
type TurnBegun struct {
	Agent id.Agent `json:"agent_uuid"`
	Turn  int64    `json:"turn"` // as in events of the kernel that runs it; 0: not known
}

// Prompted is a turn that began, or its result.
type Prompted struct {
	begun  TurnBegun
	result public.Line
}

// Prompt begins a turn of an agent.
var Prompt = Op[PromptInput, Prompted]{
	Doc: Doc{Name: "prompt", Group: "agents", ID: "promptAgent", Route: "POST /api/v1/agents/{ref=agent}/prompt 202", Faces: HTTP | MCP, Long: true,
		Summary: "Prompt an agent: start a turn, or queue it after the current one",
		Model:   "Say something to an agent and wait for its answer: one turn, with all its tools. The turn continues if you do not wait for it."},
	Run: promptAgent,
	Public: func(f Face, out Prompted) any {
		if f == HTTP {
			return out.begun
		}
		return out.result
	},
}

func promptAgent(ctx context.Context, e *Env, in PromptInput) (out Prompted, err error) {
	p := kernel.Prompt{Text: string(in.Text), Effort: in.Effort, Ticket: in.Ticket}
	if e.Environment != nil {
		p.Environment = e.Environment()
	}
	if err := session.CheckPrompt(p.Text); err != nil {
		return out, At("text", err)
	}
	if in.Model != "" {
		if p.Model, err = llm.ParseRef(string(in.Model)); err != nil {
			return out, At("model", err)
		}
	}
	to, err := e.Find(ctx, string(in.Agent))
	if err != nil {
		return out, err
	}
	out.begun.Agent = to.ID
	if !in.Wait {
		out.begun.Turn, err = e.Turns().Begin(ctx, to, p)
		return out, err
	}
	if err := agent.NeedLiving(to); err != nil {
		return out, err
	}
	if err := e.Prompts().Word(ctx, to, &p); err != nil {
		return out, err
	}
	turn, err := e.Agents().Launch(ctx, ctx, session.Turn{Agent: to.ID, Prompt: p})
	if err != nil {
		return out, err
	}
	select {
	case <-turn.Done():
	case <-ctx.Done():
		return out, llm.Ended(ctx)
	}
	ran, err := turn.Ran()
	if !ran.Began {
		return out, err
	}
	// As the last line of exec: a turn that failed is an answer, with what it had come to.
	out.result = public.Format(loop.Event{Type: public.Result, Agent: to.ID, Outcome: &ran.Outcome, Err: err})
	return out, nil
}

// ExitInput is the end of the agent that calls.
type ExitInput struct {
	Result string `json:"result,omitempty" help:"your last message"`
}

// Exited names the agent that ended.
type Exited struct {
	Exited id.Agent `json:"exited"`
}

// Exit ends the agent that calls.
var Exit = Op[ExitInput, Exited]{
	Doc: Doc{Name: "exit", Group: "agents", Faces: MCP, Effect: Destroys, Summary: "End yourself for good",
		Model: "End yourself for good; `result` is mailed to your parent. Not needed to report. Call it alone."},
	Run: func(ctx context.Context, e *Env, in ExitInput) (out Exited, err error) {
		end, err := e.Turns().Leave(ctx, in.Result)
		if err != nil {
			return out, err
		}
		go end() // the caller may end with it: the answer is on its way
		return Exited{e.Caller.Agent}, nil
	},
}
