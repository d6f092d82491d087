package operation

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
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

// Interrupt stops the turn of an agent.
var Interrupt = Op[InterruptInput, Interrupted]{
	Doc: Doc{Name: "interrupt", Group: "agents", ID: "interruptAgent", Route: "POST /api/v1/agents/{ref=agent}/interrupt 200", Faces: CLI | HTTP, Persons: true,
		Summary: "Stop the turn of an agent, if there is one",
		Help: `Stop the turn of an agent, wherever it runs, and wait until it has stopped. The interruption is
recorded in the history, and "ramet exec --continue" continues the turn. The agent's children are
not stopped.`},
	On: func(ctx context.Context, e *Env, a agent.Agent, in InterruptInput) (out Interrupted, err error) {
		if e.Kernel != nil {
			out.TakenBack = e.Kernel.Withdraw(in.Tickets...)
		}
		out.Agent = a.ID
		out.Interrupted, err = e.Turns().Stop(ctx, kernel.Stop{Agent: a.ID})
		return out, err
	},
	Text: func(w *printer.Writer, _ InterruptInput, out Interrupted) {
		if !out.Interrupted {
			w.Line("there was no turn to stop")
		}
	},
}

// InterruptInput names the agent whose turn is stopped.
type InterruptInput struct {
	Agent   AgentRef `json:"agent" arg:"AGENT" help:"0, a name, a uuid or the beginning of one"`
	Tickets []string `json:"tickets,omitempty" faces:"http" help:"names of prompts to withdraw if they are still queued"`
}

// Interrupted reports whether there was a turn to stop.
type Interrupted struct {
	Agent       id.Agent `json:"agent_uuid"`
	Interrupted bool     `json:"interrupted"`
	TakenBack   []string `json:"taken_back,omitempty"` // tickets of prompts that waited
}

// WaitInput names agents or a mailbox to wait for.
type WaitInput struct {
	Handle  string     `json:"handle,omitempty" faces:"mcp" help:"handle of a pending call; no other arguments"`
	Agents  []AgentRef `json:"agents,omitempty" arg:"AGENT" help:"agents to wait for; without any, mail for you"`
	All     bool       `json:"all,omitempty" faces:"cli" help:"wait for all of them"`
	For     HowMany    `json:"for,omitempty" faces:"mcp" help:"any (default) or all of them"`
	Mail    AgentRef   `json:"mail,omitempty" faces:"cli" help:"also stop waiting when this agent gets mail"`
	Timeout *Duration  `json:"timeout,omitempty" default:"10m0s mcp=45s" range:"mcp=0..45" help:"timeout"`
	Strict  bool       `json:"strict,omitempty" faces:"-" default:"cli=true" help:"fail on a timeout"`
}

// HowMany chooses between one of the agents and all of them.
type HowMany string

// WaitAll waits for all agents, not for one of them.
const WaitAll HowMany = "all"

// Words implements Words.
func (HowMany) Words() []string { return []string{"any", string(WaitAll)} }

// Check implements Checker.
func (in *WaitInput) Check() error {
	if *in.Timeout <= 0 {
		return Invalid("timeout", fault.Usage, "{timeout} must be longer than nothing")
	}
	if in.All && len(in.Agents) == 0 {
		return Invalid("all", fault.Usage, "wait: {all} goes with agents").Hint("name them, or leave it out")
	}
	return nil
}

// Wait waits for agents, or for mail.
var Wait = Op[WaitInput, public.Waited]{
	Doc: Doc{Name: "wait", Group: "agents", Faces: CLI | MCP, Effect: Reads,
		Summary: "Wait until agents are idle, or mail arrives",
		Model:   "Wait until agents have nothing to do, or mail arrives, or a running call is done ({handle}: its answer is then that of the call). Returns after 45 s in any case; then call it again.",
		Help: `Wait until one of the agents is idle (with {all}: all of them), or until there is unread mail for
{mail}. Without an agent, wait for mail to you if you are an agent, else to agent 0. Nothing is
changed, and no mail is marked as read. The exit code is 1 (TIMEOUT) if the time runs out.`},
	Run: wait,
	Text: func(w *printer.Writer, _ WaitInput, out public.Waited) {
		for _, a := range out.Agents {
			name := string(a.UUID)
			if a.Name != nil {
				name = *a.Name
			}
			said := a.State.Word
			if a.State.Detail != nil {
				said += ": " + text.Line(*a.State.Detail, public.MaxState)
			}
			w.Line("%s %s", name, said)
		}
		if n := len(out.Letters); n > 0 {
			w.Line("%s unread", text.Count(n, "mail message"))
		}
	},
}

func wait(ctx context.Context, e *Env, in WaitInput) (out public.Waited, err error) {
	x := session.Wait{All: in.All || in.For == WaitAll}
	for _, ref := range in.Agents {
		a, err := e.Find(ctx, string(ref))
		if err != nil {
			return out, err
		}
		x.Agents = append(x.Agents, a)
	}
	if in.Mail != "" || len(x.Agents) == 0 {
		owner, err := e.Target(ctx, in.Mail)
		if err != nil {
			return out, err
		}
		x.Mail = &owner
	}
	timeout := time.Duration(*in.Timeout)
	done, err := e.Turns().Wait(ctx, x, timeout)
	if err == nil && in.Strict && !done.Over {
		err = Incomplete{fault.New(fault.TimedOut, "nothing came within %s", timeout).WithHint("`ramet ps` shows what they do")}
	}
	return public.FormatWaited(done.Over, done.Agents, done.Now, done.Letters), err
}
