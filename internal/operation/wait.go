package operation

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

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
