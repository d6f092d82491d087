package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/files/worktree"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/tool"
)

// ForkInput asks for a child.
type ForkInput struct {
	Agent    AgentRef   `json:"agent,omitempty" arg:"AGENT" slash:"-" help:"the agent to fork: 0, a name, a uuid or the beginning of one (default: yourself if you are an agent, else 0)"`
	Name     *string    `json:"name,omitempty" help:"a name for the child"`
	Role     Role       `json:"role,omitempty" alias:"agent" help:"use the instructions, tools and model of a definition in .agents/agents or .claude/agents"`
	At       id.Message `json:"at,omitempty" help:"message id at which the child's context ends"`
	Model    Model      `json:"model,omitempty" help:"vendor/name of the child's model (default: its parent's)"`
	Driver   Driver     `json:"driver,omitempty" help:"let another program drive the child: claude, codex, …, or ramet itself (default: as its parent); {model} is then that program's name for it"`
	Effort   llm.Effort `json:"effort,omitempty" help:"reasoning effort of the child's model (default: its parent's)"`
	Worktree bool       `json:"worktree,omitempty" help:"give the child its own git worktree and branch"`
	Clean    bool       `json:"clean,omitempty" help:"with {worktree}: only committed files"`
	Prompt   *Text      `json:"prompt,omitempty" slash:"PROMPT" help:"first message of the child"`
	Start    Start      `json:"start,omitempty" faces:"http mcp" default:"later http=turn mcp=task slash=turn" help:"with {prompt}: later stores it, turn starts a turn, task also reports to the parent"`
	State    bool       `json:"state,omitempty" faces:"-" default:"http=true" help:"show what the child does"`
}

// Start chooses when a child begins to work on its prompt.
type Start string

// The ways to start.
const (
	StartLater Start = "later"
	StartTurn  Start = "turn"
	StartTask  Start = "task"
)

// Words implements Words.
func (Start) Words() []string {
	return []string{string(StartLater), string(StartTurn), string(StartTask)}
}

// Check implements Checker.
func (in *ForkInput) Check() error {
	if in.Clean && !in.Worktree {
		return Invalid("clean", fault.Usage, "fork: {clean} goes with {worktree}").Hint("add {worktree}, or leave it out")
	}
	if err := checkGiven("name", in.Name, agent.CheckName); err != nil {
		return err
	}
	return checkGiven("prompt", in.Prompt, session.CheckPrompt)
}

// Fork makes a child of an agent.
var Fork = Op[ForkInput, Forked]{
	Doc: Doc{Name: "fork", Group: "agents", ID: "forkAgent", Route: "POST /api/v1/agents/{ref=agent}/fork 201", Faces: CLI | HTTP | MCP | Slash, Tool: "fork",
		Summary: "Fork an agent; print the child's uuid",
		Model:   "Fork an agent: the child has its whole context. With a prompt the child begins to work at once; its parent gets the result by mail (mail, read).",
		Help: `Fork an agent (default: agent 0) and print the child's uuid. The child inherits the context by
reference, so the cost doesn't depend on its length. Files are not copied: parent and child work
in the same folder.

With {worktree}, the child gets a git worktree and a branch of its own, with the files of its
parent: the current commit plus uncommitted and untracked files, but not ignored ones. With
{clean}, the commit only. "ramet merge" merges its work back.

With {at}, the child starts with a rewind to that message: its context is the parent's just
after it. With {worktree} too, so are its files.

The prompt is stored as the child's first message. "ramet exec --continue CHILD" starts the
turn. With --run it starts at once, and the command prints the answer.

With {driver}, another program continues the conversation. If the parent is driven by the same
program, its turn has ended, and the program can fork, this is a fork of the program's own
session. Otherwise the program gets the conversation as text.`},
	On:    fork,
	Text:  func(w *printer.Writer, _ ForkInput, out Forked) { w.Line("%s", string(out.Child.ID)) },
	Notes: forkNotes,
	Public: func(f Face, out Forked) any {
		if f == HTTP {
			return public.FormatDoing(out.Child, out.Now)
		}
		return out.child()
	},
}

// Forked is a child that was made.
type Forked struct {
	Child     agent.Agent
	Tree      *worktree.Tree // nil: it shares its parent's files
	Now       state.Now      // if asked for
	ParentCwd string
}

// Child is the public shape of a child that was made.
type Child struct {
	public.Agent
	Worktree *Worktree `json:"worktree"` // null: it shares its parent's files
}

// Worktree is the files of a child that has its own.
type Worktree struct {
	Dir         string `json:"dir"`
	Branch      string `json:"branch"`
	Uncommitted bool   `json:"uncommitted"` // the parent's folder has changes that the child has not
	Brought     int    `json:"brought"`     // files that are not committed there, and came along
}

func (f Forked) child() Child {
	out := Child{Agent: public.FormatAgent(f.Child)}
	if t := f.Tree; t != nil {
		out.Worktree = &Worktree{t.Dir, t.Branch, t.Left, t.Brought}
	}
	return out
}

func fork(ctx context.Context, e *Env, a agent.Agent, in ForkInput) (Forked, error) {
	f := session.Fork{Parent: a, Name: valueOf(in.Name), At: in.At, Worktree: in.Worktree, Clean: in.Clean, Role: string(in.Role), Effort: in.Effort, Start: in.Start.kernel()}
	if in.Prompt != nil {
		f.Prompt = new(string(*in.Prompt))
	}
	var err error
	if f.Model, err = e.Programs().Driver(string(in.Driver), string(in.Model)); err != nil {
		return Forked{}, At("model", err)
	}
	if err := permitDriver(ctx, e, in, f.Model); err != nil {
		return Forked{}, err
	}
	done, err := e.Agents().Fork(ctx, f)
	if err != nil {
		return Forked{}, err
	}
	out := Forked{Child: done.Child, Tree: done.Tree, ParentCwd: f.Parent.Cwd}
	if in.State {
		out.Now, err = e.Agents().States(ctx, false, done.Child.ID)
	}
	return out, err
}

func (s Start) kernel() kernel.StartMode {
	switch s {
	case StartTurn:
		return kernel.StartTurn
	case StartTask:
		return kernel.StartTask
	}
	return kernel.StartLater
}

// permitDriver asks a person whether an agent may start another program for a child, as the agents'
// own tool does. The command of an agent was permitted when it was run.
func permitDriver(ctx context.Context, e *Env, in ForkInput, model llm.Ref) error {
	if e.Caller.Agent == "" || e.Caller.Face != history.MCP {
		return nil
	}
	if in.Role != "" && model == (llm.Ref{}) {
		role, err := e.Agents().Role(string(in.Role))
		if err != nil {
			return err
		}
		model = llm.Ref{Vendor: role.Provider, Name: role.Model}
	}
	name, _, starts := agent.SplitDriver(model.Vendor, model.Name)
	if !starts {
		return nil
	}
	if e.Kernel == nil {
		return fault.New(fault.Denied, "an agent can't start %s from here: no person can be asked", name).
			WithHint("the user can: ramet fork --driver %s", name)
	}
	in.Start = "" // no matter of this question
	args, err := json.Marshal(in)
	if err != nil {
		return err
	}
	spec := tool.Spec{Name: "fork", Access: tool.Processes, Starts: func(json.RawMessage) string { return name }}
	call := tool.Call{Agent: e.Caller.Agent, ID: "mcp-fork", Name: spec.Name, Args: args}
	_, record, err := e.Kernel.Guard.Decide(ctx, spec, call)
	if err == nil && record != nil && record.By == history.ByPerson { // a yes is durable before anything happens because of it
		_, err = e.Kernel.Order(ctx, call.Agent, history.Draft{Kind: history.Command, Meta: history.Meta{
			Command: history.PermitCommand, CallID: call.ID, Permission: record, Actor: record.Actor}})
	}
	return err
}

func forkNotes(in ForkInput, out Forked) (notes []string) {
	if t := out.Tree; t != nil && t.Brought > 0 {
		verb := "are"
		if t.Brought == 1 {
			verb = "is"
		}
		notes = append(notes, fmt.Sprintf("%s that %s not committed came along", text.Count(t.Brought, "file"), verb))
	}
	if t := out.Tree; t != nil && t.Left {
		notes = append(notes, out.ParentCwd+" has changes that are not committed, and that the child does not have")
	}
	if in.Prompt != nil && in.Start == StartLater {
		label := out.Child.Label()
		notes = append(notes, fmt.Sprintf("Created %s (not started). Start it with `ramet exec --continue %s`, or fork with --run.", label, label))
	}
	return notes
}

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
	On:     kill,
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

func kill(ctx context.Context, e *Env, a agent.Agent, in KillInput) (registry.Killed, error) {
	done, err := e.Agents().Kill(ctx, session.Kill{Agent: a, Cascade: in.Cascade, Reason: valueOf(in.Reason), Confirm: in.Confirm})
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
	On: func(ctx context.Context, e *Env, a agent.Agent, in PreviewKillInput) (out KillPreview, err error) {
		n, _, err := e.Agents().Victims(ctx, session.Kill{Agent: a, Cascade: in.Cascade})
		return KillPreview{n, *in.Cascade, a.Status == agent.Dead}, err
	},
}

// KillPreview tells which agents a kill would end.
type KillPreview struct {
	Count   int  `json:"count"` // how many agents would end
	Cascade bool `json:"cascade"`
	Dead    bool `json:"already_dead"`
}
