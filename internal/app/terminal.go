package app

import (
	"context"
	"iter"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/face/cli"
	"ramet/internal/face/httpapi"
	"ramet/internal/face/tui"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// terminal is a workspace of the background kernel, for the terminals of one environment.
type terminal struct {
	verbs
	ws      *session.Workspace
	command cli.Command
	asks    *httpapi.Asks
	env     *kernel.Environment
}

// forTerminals makes the workspaces that terminals use.
func (s *service) forTerminals(command cli.Command) tui.OpenFor {
	return func(env *kernel.Environment) tui.Hosted {
		s.ws.Models().For(env).HideKeys() // before anything of theirs is written
		return &terminal{verbsOf(s.ws), s.ws, command, s.asks, env}
	}
}

// Folder implements tui.Hosted.
func (d *terminal) Folder(ctx context.Context, a id.Agent) (string, error) {
	return d.agentVerbs.Folder(ctx, a)
}

// OpenQuestions implements tui.Hosted.
func (d *terminal) OpenQuestions() []tui.OpenQuestion {
	var out []tui.OpenQuestion
	for _, one := range d.asks.List() {
		if q, waits := d.asks.Question(one.ID); waits {
			out = append(out, tui.OpenQuestion{Name: one.ID, Question: q})
		}
	}
	return out
}

// AnswerQuestion implements tui.Hosted.
func (d *terminal) AnswerQuestion(name string, v permit.Verdict) error {
	return d.asks.Answer(name, v)
}

// Model implements tui.Workspace.
func (d *terminal) Model(a agent.Agent, asked llm.Ref) (tui.Model, error) {
	return d.ws.Models().For(d.env).Model(a, asked)
}

// Usable implements tui.Workspace.
func (d *terminal) Usable() []tui.Model { return d.ws.Models().For(d.env).Usable() }

// Found implements tui.Workspace.
func (d *terminal) Found(ctx context.Context) []tui.Model {
	return d.ws.Models().For(d.env).Found(ctx)
}

// Turn implements tui.Workspace. It continues when the terminal closes.
func (d *terminal) Turn(ctx context.Context, a id.Agent, said string, model llm.Ref, ticket string) (bool, error) {
	p := kernel.Prompt{Text: said, Model: model, Ticket: ticket, Again: said == "", Environment: d.env}
	return d.turn(ctx, session.Turn{Agent: a, Prompt: p, Ask: d.asks})
}

// Events implements tui.Workspace.
func (d *terminal) Events(ctx context.Context) iter.Seq[loop.Event] {
	events, _ := d.ws.Kernel.Events.Subscribe(ctx)
	return events
}

// answeredHere marks an answer as given at this terminal.
func answeredHere(v permit.Verdict) permit.Verdict {
	v.By = history.Actor{Who: self(), Face: history.Terminal}
	return v
}

// Mode returns the mode chosen for an agent, else the configured one.
func (d *terminal) Mode(ctx context.Context, a id.Agent) (permit.Mode, error) {
	row, err := d.ws.Store.Agent(ctx, a)
	if err != nil {
		return "", err
	}
	found, err := d.turnVerbs.Standing(ctx, row)
	return found.Mode, err
}

func (d *terminal) Agents(ctx context.Context) (tui.Agents, error) {
	return d.agentVerbs.Everybody(ctx)
}

// turn runs a turn whose prompt may be a command.
func (d *terminal) turn(ctx context.Context, t session.Turn) (bool, error) {
	if strings.HasPrefix(t.Prompt.Text, "/") {
		found, err := d.ws.Store.Agent(ctx, t.Agent)
		if err == nil {
			err = d.promptVerbs.Word(ctx, found, &t.Prompt)
		}
		if err != nil {
			return false, err
		}
	}
	ran, err := d.turnVerbs.Run(ctx, t)
	return ran.Said, err
}

func (d *terminal) Stop(ctx context.Context, a id.Agent, tickets ...string) (bool, error) {
	return d.turnVerbs.Stop(ctx, kernel.Stop{Agent: a, Ticket: tickets[0], Also: tickets[1:]})
}

// Key stores the key of a vendor, which was asked whether it takes it. It is used from now on.
func (d *terminal) Key(ctx context.Context, vendor, key string) (string, error) {
	said, err := d.Command(cli.Given(ctx, key), "auth", "set", "--", vendor)
	if err != nil {
		return "", err
	}
	return said, d.modelVerbs.KeysChanged()
}

// Call implements operation.Client.
func (d *terminal) Call(ctx context.Context, o operation.Operation, in any) (any, error) {
	return operation.Within(d.ws).Call(ctx, o, in)
}

// Print implements tui.Workspace.
func (d *terminal) Print(ctx context.Context, o operation.Operation, in any) (string, error) {
	return tui.Print(ctx, d, o, in)
}

func (d *terminal) Command(ctx context.Context, args ...string) (string, error) {
	return d.command(ctx, args...)
}

// verbs are the verbs of a workspace in one type, for the terminal, which takes them as an interface.
type verbs struct {
	agentVerbs
	turnVerbs
	modelVerbs
	promptVerbs
	historyVerbs
	fileVerbs
	programVerbs
}

type (
	agentVerbs   = session.Agents
	turnVerbs    = session.Turns
	modelVerbs   = session.Models
	promptVerbs  = session.Prompts
	historyVerbs = session.History
	fileVerbs    = session.Files
	programVerbs = session.Programs
)

func verbsOf(ws *session.Workspace) verbs {
	return verbs{ws.Agents(), ws.Turns(), ws.Models(), ws.Prompts(), ws.History(), ws.Files(), ws.Programs()}
}
