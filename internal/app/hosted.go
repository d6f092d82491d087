package app

import (
	"context"
	"iter"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/face/cli"
	"ramet/internal/face/httpapi"
	"ramet/internal/face/tui"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// hostedTerminal is a workspace of the background kernel, for the terminals of one environment.
type hostedTerminal struct {
	*terminal
	asks *httpapi.Asks
	env  *kernel.Environment
}

// forTerminals makes the workspaces that terminals use.
func (s *service) forTerminals(command cli.Command) tui.OpenFor {
	return func(env *kernel.Environment) tui.Hosted {
		s.ws.Models().For(env).HideKeys() // before anything of theirs is written
		return hostedTerminal{&terminal{verbs: verbsOf(s.ws), ws: s.ws, command: command}, s.asks, env}
	}
}

// Close does nothing: the kernel keeps the workspace.
func (h hostedTerminal) Close() {}

// Folder implements tui.Hosted.
func (h hostedTerminal) Folder(ctx context.Context, a id.Agent) (string, error) {
	return h.agentVerbs.Folder(ctx, a)
}

// Questions returns nil. Nothing uses it: terminals ask for OpenQuestions.
func (h hostedTerminal) Questions(context.Context) <-chan tui.Question { return nil }

// OpenQuestions implements tui.Hosted.
func (h hostedTerminal) OpenQuestions() []tui.OpenQuestion {
	var out []tui.OpenQuestion
	for _, one := range h.asks.List() {
		if q, waits := h.asks.Question(one.ID); waits {
			out = append(out, tui.OpenQuestion{Name: one.ID, Question: q})
		}
	}
	return out
}

// AnswerQuestion implements tui.Hosted.
func (h hostedTerminal) AnswerQuestion(name string, v permit.Verdict) error {
	return h.asks.Answer(name, v)
}

// Model implements tui.Workspace.
func (h hostedTerminal) Model(a agent.Agent, asked llm.Ref) (tui.Model, error) {
	return h.ws.Models().For(h.env).Model(a, asked)
}

// Usable implements tui.Workspace.
func (h hostedTerminal) Usable() []tui.Model { return h.ws.Models().For(h.env).Usable() }

// Found implements tui.Workspace.
func (h hostedTerminal) Found(ctx context.Context) []tui.Model {
	return h.ws.Models().For(h.env).Found(ctx)
}

// Turn implements tui.Workspace. It continues when the terminal closes.
func (h hostedTerminal) Turn(ctx context.Context, a id.Agent, said string, model llm.Ref, ticket string) (bool, error) {
	p := kernel.Prompt{Text: said, Model: model, Ticket: ticket, Again: said == "", Environment: h.env}
	return h.turn(ctx, session.Turn{Agent: a, Prompt: p, Ask: h.asks})
}

// Events implements tui.Workspace.
func (h hostedTerminal) Events(ctx context.Context) iter.Seq[loop.Event] { return h.subscribe(ctx) }

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
