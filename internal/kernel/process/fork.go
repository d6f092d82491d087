package process

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// maxChildren limits the children that one message may fork.
const maxChildren = 64

// What a child knows of its parent's conversation.
const (
	inherit = "inherit"
	nothing = "none"
)

// forkArguments returns the arguments with which a model describes a child. agent and driver are included only if there
// are definitions and drivers.
func forkArguments(agent, driver shape.Field) *shape.Shape {
	return shape.Object(
		shape.Must("prompt", shape.Text(1).With("the goal, what it may change, how to check it, what to report")),
		shape.May("name", shape.Text(0)),
		shape.May("context", shape.Enum(inherit, nothing)),
		shape.May("effort", shape.Text(0)),
		shape.May("then", shape.Enum(string(history.ThenMail), wakes)),
		shape.May("worktree", shape.Bool()),
		agent, driver,
		shape.May("role", shape.Text(1)).Untold(), // what every other face calls it
	)
}

var (
	byDefinition = sync.OnceValue(func() shape.Field {
		return shape.May("agent", shape.Text(1).With("a definition you were told of: its instructions, tools, model"))
	})
	byDriver = sync.OnceValue(func() shape.Field {
		return shape.May("driver", shape.Text(1).With("another program that is to drive it"))
	})
	forkPlain   = sync.OnceValue(func() *shape.Shape { return forkArguments(byDefinition().Untold(), byDriver().Untold()) })
	forkDefined = sync.OnceValue(func() *shape.Shape { return forkArguments(byDefinition(), byDriver().Untold()) })
)

var forkSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("fork", tool.Spec{
		Args: forkPlain(),
		Summary: summary(func(args forkArgs) string {
			line := "fork"
			if args.Name != "" {
				line += " " + args.Name
			}
			if args.Worktree {
				line += " in a worktree of its own"
			}
			return line + ": " + args.Prompt
		}),
	})
})

type forkArgs struct {
	Prompt   string `json:"prompt"`
	Name     string `json:"name"`
	Context  string `json:"context"`
	Worktree bool   `json:"worktree"`
	Then     string `json:"then"`
	Agent    string `json:"agent"`
	Role     string `json:"role"`
	Driver   string `json:"driver"`

	Effort llm.Effort `json:"effort"`
}

// definition returns the name of the definition that the child is made by; empty: none.
func (a forkArgs) definition() string { return cmp.Or(a.Agent, a.Role) }

// fork is the tool that makes children. It returns twice: in the parent, and in
// each child.
type fork struct {
	actor
	around func() surroundings // looked for when somebody is told of the tool
}

// surroundings lists the roles, drivers and models that children can have.
type surroundings struct {
	defined bool     // there are definitions of agents
	drivers []string // other programs that can drive children
}

func newFork(a actor) fork {
	return fork{a, sync.OnceValue(func() surroundings {
		roles, ok := a.kernel.(Roles)
		out := surroundings{defined: ok && roles.Defined()}
		if d, ok := a.kernel.(Drivers); ok {
			out.drivers = d.Drivers()
		}
		return out
	})}
}

// Name implements tool.Named.
func (fork) Name() string { return forkSpec().Name }

func (f fork) Spec() tool.Spec {
	s, around := forkSpec(), f.around()
	s.Starts = f.starts
	if around.defined {
		s.Args = forkDefined()
	}
	if len(around.drivers) > 0 {
		agent := byDefinition()
		if !around.defined {
			agent = agent.Untold()
		}
		s.Args = forkArguments(agent, shape.May("driver", shape.Text(1).With("another program that is to drive it: "+strings.Join(around.drivers, ", "))))
	}
	return s
}

// Run implements tool.Tool.
func (f fork) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	children, err := f.forkAll(ctx, []tool.Call{c})
	if err != nil {
		return refuse(ctx, err)
	}
	return tool.Answer{Text: children[0].toParent(true), Show: children[0].shown(), Recorded: true}, nil
}

// RunAll implements tool.Batch.
func (f fork) RunAll(ctx context.Context, calls []tool.Call) error {
	_, err := f.forkAll(ctx, calls)
	return err
}

// forkAll makes one child for each call, all at one fork point, or none.
func (f fork) forkAll(ctx context.Context, calls []tool.Call) (children []child, err error) {
	if len(calls) == 0 {
		return nil, nil
	}
	parent, err := f.me(ctx)
	if err != nil {
		return nil, err
	}
	if children, err = f.plan(ctx, parent, calls); err != nil {
		return nil, err
	}
	born := false
	for i := range children {
		b := &children[i]
		if !b.args.Worktree {
			continue
		}
		at, undo, err := f.kernel.Worktree(ctx, parent, b.child.ID, b.child.Name)
		if err != nil {
			return nil, &tool.Culprit{CallID: b.call.ID, Name: b.child.Name, Err: err}
		}
		defer func() {
			if !born {
				undo()
			}
		}()
		b.child.Cwd, b.at = at.Dir, at
	}
	verb := registry.Fork{Parent: f.self}
	before := f.kernel.Before()
	for i, b := range children {
		verb.Entries = append(verb.Entries, b.result(b.toParent(i == len(children)-1), b.shown()))
		if b.child.Entries, err = entries(children, i, before); err != nil {
			return nil, err
		}
		f.place(ctx, b)
		b.child.Entries = b.begin(b.child.Entries)
		verb.Children = append(verb.Children, b.child)
	}
	made, err := f.kernel.Fork(ctx, verb)
	if err != nil && len(made) == 0 {
		return nil, err
	}
	// Children that exist exist, whatever came afterwards: their worktrees stay,
	// and the results stand in the history.
	born = true
	return children, nil
}

// plan draws the identities, and refuses what can be refused before worktrees are
// made. The registry decides again, in its transaction.
func (f fork) plan(ctx context.Context, parent agent.Agent, calls []tool.Call) ([]child, error) {
	if len(calls) > maxChildren {
		return nil, fault.New(fault.Usage, "one message forks %d children, over the limit of %d", len(calls), maxChildren).
			WithHint("none was forked; fork fewer, and let them fork")
	}
	children := make([]child, len(calls))
	asked := make([]registry.Child, len(calls))
	for i, c := range calls {
		args, err := decode[forkArgs](c.Args)
		if err != nil {
			return nil, err
		}
		args.Name = strings.ToLower(args.Name) // names have no capitals, and nobody means another by one
		if err := f.check(ctx, args); err != nil {
			return nil, &tool.Culprit{CallID: c.ID, Name: args.Name, Err: err}
		}
		asked[i] = registry.Child{ID: id.NewAgent(), Name: args.Name}
		children[i] = child{call: c, args: args, child: asked[i], parent: parent}
		err = f.play(&children[i])
		if err == nil {
			err = f.drive(&children[i])
		}
		if err != nil {
			return nil, &tool.Culprit{CallID: c.ID, Name: args.Name, Err: err}
		}
	}
	return children, registry.Fork{Parent: f.self, Children: asked}.Check()
}

func (f fork) check(ctx context.Context, args forkArgs) error {
	if strings.TrimSpace(args.Prompt) == "" {
		return fault.New(fault.InvalidText, "the prompt of a child is empty").WithHint("say what it shall do")
	}
	if err := fault.CheckText(fault.InvalidText, "the prompt of a child", args.Prompt, history.MaxText); err != nil {
		return err
	}
	if _, err := llm.ParseEffort(string(args.Effort)); err != nil {
		return err
	}
	if args.Name == "" {
		return nil
	}
	if err := agent.CheckName(args.Name); err != nil {
		return err
	}
	other, ok, err := f.people.Named(ctx, args.Name)
	if err == nil && ok && other.Status == agent.Running {
		err = registry.NameTaken(args.Name)
	}
	return err
}
