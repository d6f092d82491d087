package process

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
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
	return fork{a, sync.OnceValue(func() surroundings { return surroundings{a.kernel.Defined(), a.kernel.Drivers()} })}
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
		if n := len(b.child.Entries); b.role != nil && n > 0 { // what a role is told comes before the prompt, the last entry
			b.child.Entries = slices.Insert(b.child.Entries, n-1, append(b.role.Bounds(), b.role.Entry)...)
		}
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

// child is one child of a fork, and what is said about it to whom.
type child struct {
	call   tool.Call
	args   forkArgs
	child  registry.Child
	parent agent.Agent
	at     Place // its worktree, if it has one
	role   *Role // nil: it is made by no definition
}

// title returns the uuid, in full because it is told here first, and the name.
func (b child) title() string {
	if b.child.Name == "" {
		return string(b.child.ID)
	}
	return fmt.Sprintf("%s (%s)", b.child.ID, b.child.Name)
}

// shown returns the result for people.
func (b child) shown() string {
	return text.Line(fmt.Sprintf("forked %s: %s", b.title(), b.args.Prompt), maxSummary)
}

// toParent returns the result of fork; last marks the last child of its message, which explains for all of them how
// results arrive.
func (b child) toParent(last bool) string {
	out := b.title() + " is your child and works on its task now, "
	if b.child.Cwd != "" {
		out += "in a git worktree of its own: " + b.child.Cwd + b.at.begins() + "." + b.at.lacks("your")
	} else {
		out += "in your folder: do not both write the same files."
	}
	if b.args.Then == wakes {
		out += " Its report wakes you if your turn is over by then."
	}
	if last {
		out += " Results come by mail: continue your own work, then wait."
	}
	if b.args.Effort != "" {
		out += " It thinks with effort " + string(b.args.Effort) + ": if yours is another, its first request finds less in the cache."
	}
	if out += b.apart(); b.call.Note != "" {
		out += "\n" + b.call.Note
	}
	return out
}

// begins describes the commit at which a worktree begins.
func (p Place) begins() string {
	out := ""
	if p.Branch != "" {
		out = ", branch " + p.Branch
	}
	if len(p.Base) > 8 {
		out += " from " + p.Base[:8]
	}
	if p.Brought > 0 {
		out += " with " + text.Count(p.Brought, "uncommitted file")
	}
	return out
}

// lacks names the files of the parent that a worktree does not have.
func (p Place) lacks(whose string) string {
	if len(p.Missing) == 0 {
		return ""
	}
	return " It lacks " + whose + " uncommitted changes of " + text.FirstOf(p.Missing, 8) + "."
}

// apart describes the cost of other tools or another model for a child that inherits the conversation: it can't use what
// vendors cached for the parent.
func (b child) apart() string {
	switch {
	case b.role == nil || b.args.Context == nothing:
		return ""
	case b.role.Model != "":
		return " It has another model: its first request finds nothing in the cache."
	case b.role.Limit != nil:
		return " It has not all of your tools: its first request finds nothing in the cache."
	}
	return ""
}

// toChild begins the child's own life.
func (b child) toChild(siblings string) string {
	knows := "the conversation up to here is what you both remember, but its task is not yours"
	if b.args.Context == nothing {
		knows = "you know nothing of its conversation but the task that follows"
	}
	files := "You share your parent's folder."
	if b.child.Cwd != "" {
		files = "You work in a git worktree of your own, " + b.child.Cwd + b.at.begins() + "; paths in " + b.parent.Cwd + " are your parent's. What you leave is committed on your branch." + b.at.lacks("your parent's")
	}
	out := fmt.Sprintf("You are the child %s. Your parent is %s; %s. Your task follows; it comes from your parent, within what the user wants. %s",
		b.title(), parentTitle(b.parent), knows, files)
	if b.args.Context != nothing { // who knows nothing else is told with the facts
		out += fmt.Sprintf(" Your depth is %d.", b.parent.Depth+1)
	}
	if siblings != "" {
		out += " " + siblings
	}
	return out + " Your last words are mailed to your parent: what you changed, how you checked it, what is open. " +
		"You cannot ask the user; if you need a decision, end with the question: your parent's answer wakes you."
}

// does returns a child's task in some words, for its siblings, unless there are many.
func (b child) does(of int) string {
	if of > manySiblings {
		return ""
	}
	return " (" + text.Line(b.args.Prompt, 60) + ")"
}

// siblingsOf returns one line about the others, however many they are.
func siblingsOf(children []child, but int) string {
	const most = 6
	if len(children) == 1 {
		return ""
	}
	var names []string
	for i, b := range children {
		switch {
		case i == but:
		case len(names) == most:
			return fmt.Sprintf("Your siblings are %s and %d more; leave their tasks to them.", strings.Join(names, ", "), len(children)-1-most)
		case b.child.Name != "":
			names = append(names, b.child.Name+b.does(len(children)))
		default:
			names = append(names, b.child.ID.Short()+b.does(len(children)))
		}
	}
	return fmt.Sprintf("Your siblings are %s; leave their tasks to them.", strings.Join(names, ", "))
}

// parentTitle returns a name of the parent that stays valid: names change.
func parentTitle(a agent.Agent) string {
	if a.Label() == a.ID.Short() {
		return string(a.ID)
	}
	return fmt.Sprintf("%s (%s)", a.Label(), a.ID)
}

// result drafts what the call of this child returns.
func (b child) result(text, show string) history.Draft {
	b.call.Name = forkSpec().Name
	return toolResult(b.call, text, show)
}

// manySiblings is from how many children of one message on each begins before that message:
// it would carry the tasks of all the others.
const manySiblings = 8

// entries returns the first entries of the child's own history. A child that inherits needs a result for each call in
// its parent's last message; with an empty context there are no calls, and each of very many children begins before that
// message. before is the entry that the message follows; 0 if unknown.
func entries(children []child, which int, before id.Message) ([]history.Draft, error) {
	own := children[which]
	prompt, err := history.Say(history.User, own.args.Prompt)
	if err != nil {
		return nil, err
	}
	drafts := make([]history.Draft, 0, len(children)+3)
	if own.args.Effort != "" {
		drafts = append(drafts, registry.EffortEntry(own.args.Effort))
	}
	if prompt.Meta.Then = history.ThenMail; own.args.Then == wakes {
		prompt.Meta.Then = history.ThenWake
	}
	head := history.Draft{Kind: history.Notice, Parts: []history.Part{{Type: history.Text, Text: own.toChild(siblingsOf(children, which))}}}
	switch {
	case own.args.Context == nothing:
		return append(drafts, history.NewClear(), head, prompt), nil
	case len(children) > manySiblings && before != 0:
		return append(drafts, history.NewRewind(before, ""), head, prompt), nil
	}
	for i, b := range children {
		if i == which {
			drafts = append(drafts, b.result(b.toChild(""), ""))
		} else {
			drafts = append(drafts, b.result(b.title()+" is a sibling of yours. Leave its task to it.", ""))
		}
	}
	return append(drafts, prompt), nil
}

// place puts facts before the task of a child that knows nothing else.
func (f fork) place(ctx context.Context, b child) {
	if b.args.Context != nothing {
		return
	}
	a := agent.Agent{ID: b.child.ID, Name: b.child.Name, Parent: b.parent.ID, Depth: b.parent.Depth + 1, Status: agent.Running,
		Cwd: b.child.Cwd, Provider: b.child.Provider, Model: b.child.Model}
	if a.Cwd == "" {
		a.Cwd = b.parent.Cwd
	}
	if facts := f.kernel.Facts(ctx, a); facts != "" {
		task := &b.child.Entries[len(b.child.Entries)-1]
		task.Parts = append([]history.Part{{Type: history.Facts, Text: facts}}, task.Parts...)
	}
}

// Role describes a child that a definition creates.
type Role struct {
	Entry           history.Draft // what it is told first
	Provider, Model string        // empty: its parent's
	Inherit         bool          // it knows its parent's conversation, unless the call says otherwise
	Worktree        bool
	Effort          llm.Effort      // empty: its parent's
	Budget          *history.Budget // what it may spend; nil: what its parent has left
	Limit           *history.Limit  // what it has of its parent's tools; nil: all
}

// Bounds drafts what a role may not exceed, its budget and its tools; nothing: as its parent.
func (r Role) Bounds() []history.Draft {
	var out []history.Draft
	if r.Budget != nil {
		out = append(out, history.Draft{Kind: history.Command, Meta: history.Meta{Command: registry.BudgetCommand, Budget: r.Budget}})
	}
	if r.Limit != nil {
		out = append(out, registry.LimitEntry(*r.Limit))
	}
	return out
}

// play makes a planned child one of a role.
func (f fork) play(c *child) error {
	if c.args.definition() == "" {
		return nil
	}
	r, err := f.kernel.Role(c.args.definition())
	if err != nil {
		return err
	}
	c.role = &r
	if c.args.Context == "" && !r.Inherit {
		c.args.Context = nothing
	}
	c.args.Worktree = c.args.Worktree || r.Worktree
	if c.args.Effort == "" {
		c.args.Effort = r.Effort
	}
	c.child.Provider, c.child.Model = r.Provider, r.Model
	return nil
}

// starts returns the program that a call would start for its child: the one that it names, or that
// the definition names.
func (f fork) starts(args json.RawMessage) string {
	a, err := decode[forkArgs](args)
	if err != nil {
		return ""
	}
	if a.Driver == "" && a.definition() != "" {
		r, err := f.kernel.Role(a.definition())
		if err != nil {
			return ""
		}
		a.Driver, _, _ = agent.SplitDriver(r.Provider, r.Model)
	}
	return a.Driver
}

// drive lets another program drive a planned child.
func (f fork) drive(c *child) error {
	if c.args.Driver == "" {
		return nil
	}
	ref, err := f.kernel.Driver(c.args.Driver)
	if err != nil {
		return err
	}
	c.child.Provider, c.child.Model = ref.Vendor, ref.Name
	return nil
}
