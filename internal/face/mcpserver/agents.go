package mcpserver

import (
	"context"
	"encoding/json"
	"strconv"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	engine "ramet/internal/turn/tool"
)

// ref is an argument that names an agent.
func ref(about string) *shape.Shape {
	return shape.Text(1).With(about + "; 0, a name, a uuid or the beginning of one")
}

// AgentList is what ps answers.
type AgentList struct {
	Agents []public.Agent `json:"agents"`
}

func psTool() tool {
	return tool{name: "ps", about: "List agents, parents before children, and what each of them does.", reads: true,
		args:    shape.Object(shape.May("all", shape.Bool().With("the dead too"))),
		answers: []any{AgentList{}},
		run: func(ctx context.Context, s *Server, _ Caller, args json.RawMessage) (json.RawMessage, error) {
			a, err := decode[struct{ All bool }](args)
			if err != nil {
				return nil, err
			}
			c := command{words: []string{"ps"}}
			c.yes("all", a.All)
			return s.ask(ctx, c)
		}}
}

// Forked is what fork answers.
type Forked struct {
	public.Agent
	Worktree *Worktree `json:"worktree"`
}

// Worktree is the files of a child that has its own.
type Worktree struct {
	Dir         string `json:"dir"`
	Branch      string `json:"branch"`
	Uncommitted bool   `json:"uncommitted"`
	Brought     int    `json:"brought"`
}

type forkArgs struct {
	Agent, Name, Prompt, Model, Driver, Effort, Role string
	At                                               id.Message
	Worktree                                         bool
}

func forkTool() tool {
	return tool{name: "fork", about: "Fork an agent: the child has its whole context. With a prompt the child begins to work at once; how it ended comes as a letter to its parent (mail, read).",
		args: shape.Object(
			shape.May("agent", ref("whom; you, if you are an agent, else 0")),
			shape.May("name", shape.Text(1).With("a name for the child")),
			shape.May("prompt", shape.Text(1).With("what it is to do; without one it waits")),
			shape.May("model", shape.Text(1).With("vendor/name; its parent's if absent")),
			shape.May("driver", shape.Text(1).With("another program that drives it: claude, codex, or ramet itself; as its parent if absent")),
			shape.May("effort", shape.Enum(llm.Efforts()...).With("how hard its model thinks")),
			shape.May("role", shape.Text(1).With("a definition of .agents/agents or .claude/agents")),
			shape.May("at", shape.Integer(1).With("the message with which its context ends")),
			shape.May("worktree", shape.Bool().With("files of its own: a git worktree and a branch"))),
		answers: []any{Forked{}},
		run:     fork}
}

func fork(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
	a, err := decode[forkArgs](args)
	if err != nil {
		return nil, err
	}
	if a.Agent == "" {
		a.Agent = box(c)
	}
	if a.Prompt != "" {
		if err := s.startable(ctx, a); err != nil {
			return nil, err
		}
	}
	if err := s.permitDriver(ctx, c, a, args); err != nil {
		return nil, err
	}
	line := command{words: []string{"fork"}, rest: []string{a.Agent}}
	line.flag("name", a.Name)
	line.flag("model", a.Model)
	line.flag("driver", a.Driver)
	line.flag("effort", a.Effort)
	line.flag("agent", a.Role)
	if a.At != 0 {
		line.flag("at", strconv.FormatInt(int64(a.At), 10))
	}
	line.yes("worktree", a.Worktree)
	out, err := s.ask(ctx, line)
	if err != nil || a.Prompt == "" {
		return out, err
	}
	var born struct{ UUID id.Agent }
	if err := json.Unmarshal(out, &born); err != nil {
		return nil, err
	}
	_, err = s.o.Workspace.Launch(ctx, s.life, session.Turn{Agent: born.UUID, Prompt: kernel.Prompt{Text: a.Prompt, Task: true}})
	return out, err
}

// permitDriver decides whether an agent may start another program for a child, as for the agents' own
// tool: a person is asked. What a person's own client calls is that person's word.
func (s *Server) permitDriver(ctx context.Context, c Caller, a forkArgs, args json.RawMessage) error {
	ref, err := s.o.Workspace.Driver(a.Driver, a.Model)
	if err == nil && a.Role != "" && ref == (llm.Ref{}) {
		var role process.Role
		role, err = s.o.Workspace.Role(a.Role)
		ref = llm.Ref{Vendor: role.Provider, Name: role.Model}
	}
	name, _, starts := agent.SplitDriver(ref.Vendor, ref.Name)
	if err != nil || c == "" || !starts {
		return nil // what is wrong with it is said where it is done
	}
	if s.o.Workspace.Kernel == nil {
		return fault.New(fault.Denied, "an agent cannot start %s from here: nobody can be asked", name).
			WithHint("the user can: ramet fork --driver %s", name)
	}
	spec := engine.Spec{Name: "fork", Access: engine.Processes, Starts: func(json.RawMessage) string { return name }}
	call := engine.Call{Agent: c, ID: "mcp-fork", Name: spec.Name, Args: args}
	_, record, err := s.o.Workspace.Kernel.Guard.Decide(ctx, spec, call)
	if err == nil && record != nil && record.By == history.ByPerson { // a yes is durable before anything happens because of it
		_, err = s.o.Workspace.Kernel.Order(ctx, c, history.Draft{Kind: history.Command, Meta: history.Meta{
			Command: history.PermitCommand, CallID: call.ID, Permission: record, Actor: record.Actor}})
	}
	return err
}

// startable refuses what could not begin, before a child is made for it.
func (s *Server) startable(ctx context.Context, a forkArgs) error {
	if err := session.CheckPrompt(a.Prompt); err != nil {
		return err
	}
	model, err := s.o.Workspace.Driver(a.Driver, a.Model)
	if err != nil {
		return err
	}
	parent, err := s.o.Workspace.Find(ctx, a.Agent)
	if err != nil {
		return err
	}
	if err := s.o.Workspace.Room(ctx); err != nil {
		return err
	}
	return s.o.Workspace.Startable(parent, model)
}

func killTool() tool {
	return tool{name: "kill", about: "End an agent for good; with cascade everything below it too. What it runs is ended before the answer.", destroys: true,
		args: shape.Object(
			shape.Must("agent", ref("whom")),
			shape.May("cascade", shape.Bool().With("everything below it too")),
			shape.May("reason", shape.Text(1).With("why, for the record"))),
		answers: []any{public.Killed{}},
		run: func(ctx context.Context, s *Server, _ Caller, args json.RawMessage) (json.RawMessage, error) {
			a, err := decode[struct {
				Agent, Reason string
				Cascade       *bool
			}](args)
			if err != nil {
				return nil, err
			}
			c := command{words: []string{"kill"}, rest: []string{a.Agent}}
			c.flag("reason", a.Reason)
			if a.Cascade != nil {
				c.flag("cascade", strconv.FormatBool(*a.Cascade))
			}
			return s.ask(ctx, c)
		}}
}

// Exited is what exit answers.
type Exited struct {
	Exited id.Agent `json:"exited"`
}

func exitTool() tool {
	return tool{name: "exit", about: "End yourself for good; `result` goes to your parent as a letter. Not needed to report. Call it alone.", destroys: true,
		args:    shape.Object(shape.May("result", shape.Text(0).With("your last words"))),
		answers: []any{Exited{}},
		run: func(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
			a, err := decode[struct{ Result string }](args)
			if err != nil {
				return nil, err
			}
			end, err := s.o.Workspace.Leave(ctx, a.Result)
			if err != nil {
				return nil, err
			}
			go end() // with it ends whoever waits for the answer
			return encode(Exited{c})
		}}
}

// EntryList is what log answers.
type EntryList struct {
	Entries []public.Entry `json:"entries"`
}

// How many entries log shows.
const (
	fewEntries  = 20
	mostEntries = 200
)

func logTool() tool {
	return tool{name: "log", about: "Read the end of an agent's history: its context as a model sees it, or with own the entries that it stored itself, of every kind. For more, read the resource ramet://agents/{ref}/history.", reads: true,
		args: shape.Object(
			shape.May("agent", ref("whose; you, if you are an agent, else 0")),
			shape.May("limit", shape.Number(1, mostEntries).With("how many; 20")),
			shape.May("own", shape.Bool().With("what it stored itself, of every kind"))),
		answers: []any{EntryList{}},
		run: func(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
			a, err := decode[struct {
				Agent string
				Limit *float64
				Own   bool
			}](args)
			if err != nil {
				return nil, err
			}
			n := fewEntries
			if a.Limit != nil {
				n = int(*a.Limit)
			}
			if a.Agent == "" {
				a.Agent = box(c)
			}
			line := command{words: []string{"log", "--limit=" + strconv.Itoa(n)}, rest: []string{a.Agent}}
			line.yes("own", a.Own)
			return s.askLines(ctx, line, "entries")
		}}
}
