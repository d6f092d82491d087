package operation

import (
	"context"
	"errors"
	"strconv"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// KillInput asks for the end of agents.
type KillInput struct {
	Agent   AgentRef `json:"agent" arg:"AGENT" slash:"[AGENT]" help:"the agent: 0, a name, a uuid or the beginning of one"`
	Cascade *bool    `json:"cascade,omitempty" help:"also kill its subtree"`
	Reason  *string  `json:"reason,omitempty" default:"cli=killed" help:"reason to record"`
	Confirm *int     `json:"confirm,omitempty" faces:"cli http mcp" default:"http=-1" help:"the expected number of agents; if it differs, none is killed"`
}

// Check implements Checker.
func (in *KillInput) Check() error { return checkGiven("reason", in.Reason, session.CheckReason) }

// Kill ends agents.
var Kill = Op[KillInput, registry.Killed]{
	Doc: Doc{Name: "kill", Group: "agents", ID: "killAgent", Route: "POST /api/v1/agents/{ref=agent}/kill 200", Faces: CLI | HTTP | MCP | Slash, Effect: Destroys,
		Summary: "End an agent, or its whole subtree",
		Model:   "End an agent for good; with {cascade} its subtree too. What it runs is ended before the answer.",
		Help: `End an agent for good. With {cascade} its whole subtree ends, including agents below a dead one.
Whatever a kernel on this machine runs for them is stopped before the command returns.
Without {cascade}, children are adopted by their nearest living ancestor, unless your
configuration has orphans = "cascade".`},
	Run:    kill,
	Public: func(_ Face, out registry.Killed) any { return public.FormatKilled(out) },
	Text: func(w *printer.Writer, _ KillInput, out registry.Killed) {
		below := len(out.Victims)
		if out.Before {
			w.Line("%s is dead since %s (%s)", out.Agent.Label(), public.Stamp(out.Agent.EndedAt), out.Agent.EndReason)
		} else {
			w.Line("killed %s", out.Agent.Label())
			below--
		}
		if below > 0 {
			w.Line("killed %s in its subtree", text.Count(below, "agent"))
		}
	},
}

func kill(ctx context.Context, e *Env, in KillInput) (registry.Killed, error) {
	a, err := e.Target(ctx, in.Agent)
	if err != nil {
		return registry.Killed{}, err
	}
	done, err := e.Workspace.Agents().Kill(ctx, session.Kill{Agent: a, Cascade: in.Cascade, Reason: valueOf(in.Reason), Confirm: in.Confirm})
	if wrong, ok := errors.AsType[session.Miscounted](err); ok {
		e := Invalid("confirm", fault.Conflict, "%s", wrong.Error())
		e.About, e.Suggestion = "must be the number of agents that end", strconv.Itoa(wrong.N)
		return done, e
	}
	return done, err
}

// PreviewKillInput names agents that a kill would end.
type PreviewKillInput struct {
	Agent   AgentRef `json:"agent" help:"the agent to kill"`
	Cascade *bool    `json:"cascade,omitempty" default:"true" help:"also kill its subtree (default)"`
}

// PreviewKill counts the agents that a kill would end.
var PreviewKill = Op[PreviewKillInput, KillPreview]{
	Doc: Doc{Name: "kill preview", Group: "agents", ID: "previewKill", Route: "GET /api/v1/agents/{ref=agent}/kill-preview 200", Faces: HTTP, Effect: Reads,
		Summary: "Count the agents that a kill would end"},
	Run: func(ctx context.Context, e *Env, in PreviewKillInput) (out KillPreview, err error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return out, err
		}
		n, _, err := e.Workspace.Agents().Victims(ctx, session.Kill{Agent: a, Cascade: in.Cascade})
		return KillPreview{n, *in.Cascade, a.Status == agent.Dead}, err
	},
}

// KillPreview tells which agents a kill would end.
type KillPreview struct {
	Count   int  `json:"count"` // how many agents would end
	Cascade bool `json:"cascade"`
	Dead    bool `json:"already_dead"`
}
