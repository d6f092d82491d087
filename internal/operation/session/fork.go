package session

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/core/registry"
	"ramet/internal/files/worktree"
	"ramet/internal/kernel"
	"ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/run/recipe"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/hook"
)

// Fork asks for a child.
type Fork struct {
	Parent   agent.Agent
	Name     string     // empty: none
	Prompt   *string    // what it begins with; nil: it waits
	At       id.Message // its context is the parent's just after this message; 0: as it is
	Worktree bool       // files of its own: a git worktree and a branch
	Clean    bool       // with Worktree: as committed; else with what the parent did not commit
	Model    llm.Ref    // zero: the parent's
	Role     string     // the definition that it is made by; empty: none
	Fresh    bool       // without its parent's context
	Cwd      string     // where it works; empty: as its parent, or in its worktree
	Effort   llm.Effort // empty: the parent's
	// Start begins a turn for the prompt, where a kernel runs here or holds the parent.
	Start kernel.StartMode
}

// Forked is a child that was made.
type Forked struct {
	Child agent.Agent
	Tree  *worktree.Tree // nil: it shares its parent's files
}

// CheckPrompt refuses what nobody can have meant to say.
func CheckPrompt(text string) error {
	if _, err := history.Say(history.User, text); err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return fault.New(fault.InvalidText, "the prompt is blank").WithHint("say something, or leave it out")
	}
	return nil
}

// Fork makes a child. It waits for the tools of a parent that works in this process, until ctx ends. A parent that
// another process holds is forked at its last final entry.
func (w Agents) Fork(ctx context.Context, f Fork) (Forked, error) {
	if err := w.worded(ctx, &f); err != nil {
		return Forked{}, err
	}
	child, err := w.child(ctx, &f)
	if err != nil {
		return Forked{}, err
	}
	if err := w.ws.may(ctx, "fork", f.Parent); err != nil {
		return Forked{}, err
	}
	if err := w.ws.needs(ctx, "fork", "fork"); err != nil {
		return Forked{}, err
	}
	if err := w.narrow(ctx, &child); err != nil {
		return Forked{}, err
	}
	if f.Prompt == nil {
		f.Start = kernel.StartLater
	}
	if f.Start == kernel.StartTask {
		if err := w.Room(ctx); err != nil {
			return Forked{}, err
		}
	}
	if f.Start != kernel.StartLater {
		if err := w.Startable(f.Parent, f.Model); err != nil {
			return Forked{}, err
		}
	}
	if err := w.ws.mended(ctx, f.Parent); err != nil {
		return Forked{}, err
	}
	if err := w.mayFork(ctx, f, child); err != nil {
		return Forked{}, err
	}
	var out Forked
	if f.Worktree {
		from := origin{Folder: f.Parent.Cwd, Clean: f.Clean}
		if f.At != 0 && !f.Clean {
			state, err := w.ws.Files().StateAt(ctx, f.Parent, f.At)
			if err != nil {
				return Forked{}, err
			}
			from.State = &state
		}
		tree, err := w.ws.Trees().Make(ctx, from, child.ID, f.Name)
		if err != nil {
			return Forked{}, err
		}
		child.Cwd, out.Tree = tree.Cwd, &tree
	}
	w.ws.Turns().Lend(ctx, child.ID)
	born, err := w.fork(ctx, f.Parent.ID, child, f.Start)
	if err != nil {
		if out.Tree != nil {
			err = w.ws.Trees().takeBack(ctx, f.Parent.Cwd, *out.Tree, err)
		}
		return Forked{}, err
	}
	out.Child = born
	return out, nil
}

// worded makes of a person's prompt what it stands for. An agent's words to its child are its own.
func (w Agents) worded(ctx context.Context, f *Fork) error {
	if f.Prompt == nil || w.ws.asks(ctx) != "" {
		return nil
	}
	p := kernel.Prompt{Text: *f.Prompt, Model: f.Model}
	if err := w.ws.Prompts().Word(ctx, f.Parent, &p); err != nil {
		return err
	}
	f.Prompt, f.Model = &p.Text, p.Model
	return nil
}

// mayFork asks hooks whether the child may be made, and given its prompt.
func (w Agents) mayFork(ctx context.Context, f Fork, c registry.Child) error {
	if err := w.ws.Project().fires(ctx, f.Parent, kernel.Forking(string(f.Parent.ID), c)); err != nil || f.Prompt == nil {
		return err
	}
	return w.ws.Project().fires(ctx, f.Parent, hook.Occasion{Event: hook.UserPromptSubmit, Fields: map[string]any{"prompt": *f.Prompt}})
}

// child checks everything that can be checked before anything is made.
func (w Agents) child(ctx context.Context, f *Fork) (registry.Child, error) {
	c := registry.Child{ID: id.NewAgent(), Name: f.Name, Provider: f.Model.Vendor, Model: f.Model.Name, Cwd: f.Cwd}
	if err := agent.NeedLiving(f.Parent); err != nil {
		return c, err
	}
	if f.Name != "" {
		if err := agent.CheckName(f.Name); err != nil {
			return c, err
		}
	}
	if f.At != 0 {
		// Asked of the parent, so that the refusal speaks of what the user sees.
		if err := history.Lookup(ctx, w.ws.Store, f.Parent.ID, f.At); err != nil {
			return c, err
		}
		c.Entries = append(c.Entries, history.NewRewind(f.At, ""))
	}
	if f.Fresh {
		c.Entries = append(c.Entries, history.NewClear())
	}
	if err := w.play(f, &c); err != nil {
		return c, err
	}
	if f.Effort != "" {
		c.Entries = append(c.Entries, registry.EffortEntry(f.Effort))
	}
	if f.Prompt != nil {
		if err := CheckPrompt(*f.Prompt); err != nil {
			return c, err
		}
		said, err := w.promptEntry(ctx, f.Parent.ID, *f.Prompt)
		if err != nil {
			return c, err
		}
		c.Entries = append(c.Entries, said)
	}
	return c, nil
}

// promptEntry makes the entry of a prompt, with what it mentions: images, documents, resources.
func (w Agents) promptEntry(ctx context.Context, a id.Agent, text string) (history.Draft, error) {
	by := history.ActorOf(ctx)
	local := by == nil || by.Face != history.HTTP && by.Face != history.Page
	text, with, err := w.ws.Prompts().attach(ctx, a, text, local)
	if err != nil {
		return history.Draft{}, err
	}
	said, err := history.Say(history.User, text)
	said.Parts = append(said.Parts, with...)
	return said, err
}

// fork makes the child. A parent that another process holds, or whose own command asks for the child in the middle of
// its turn, is forked beside its holder.
func (w Agents) fork(ctx context.Context, parent id.Agent, c registry.Child, start kernel.StartMode) (agent.Agent, error) {
	f := registry.Fork{Parent: parent, Claim: agent.Passing(), Children: []registry.Child{c}}
	var born []agent.Agent
	fork := func() (err error) {
		if w.ws.Kernel != nil {
			born, err = w.ws.Kernel.Fork(ctx, f, start)
		} else {
			born, err = w.ws.Store.Fork(ctx, f)
		}
		return err
	}
	within, err := w.forksWithin(ctx, parent, start)
	switch {
	case err != nil:
	case within:
		if err = w.besideHolder(ctx, &f); err == nil {
			born, err = w.ws.Store.Fork(ctx, f)
		}
	default:
		err = w.ws.retakes(ctx, parent, fork)
		if fault.Is(err, fault.Leased) {
			if err = w.besideHolder(ctx, &f); err == nil {
				err = fork()
			}
		}
	}
	if err != nil {
		return agent.Agent{}, err
	}
	if f.Claim.IsBeside() {
		w.ws.Peers.Tell(ctx, w.ws.owner(), registry.Ring{Agent: parent, What: registry.RingForked})
	}
	return born[0], nil
}

// forksWithin reports whether an agent asks for a child itself, in the middle of its turn, by a command or a program
// of its own: it cannot wait until its call is over, for it is this one.
func (w Agents) forksWithin(ctx context.Context, parent id.Agent, start kernel.StartMode) (bool, error) {
	if w.ws.asks(ctx) != parent || start != kernel.StartLater {
		return false, nil
	}
	a, err := w.ws.Store.Agent(ctx, parent)
	return a.Lease.Owner != "", err
}

// besideHolder changes a fork so that it needs no lease: the child begins at the last final entry of its parent, so that
// no call is separated from its result.
func (w Agents) besideHolder(ctx context.Context, f *registry.Fork) error {
	point, err := history.LastFinal(ctx, w.ws.Store, f.Parent)
	if err != nil {
		return err
	}
	f.Claim = agent.Beside()
	child := &f.Children[0]
	if len(child.Entries) == 0 || child.Entries[0].Kind != history.Rewind {
		child.Entries = append([]history.Draft{history.NewRewind(point, "")}, child.Entries...)
	}
	return nil
}

// Startable reports why no turn could begin, before a child is made for one.
func (w Agents) Startable(a agent.Agent, asked llm.Ref) error {
	k := w.ws.Kernel
	if k == nil {
		return nil
	}
	if _, err := k.Model(a, asked); err != nil {
		return err
	}
	if _, err := k.Tools(a); err != nil {
		return err
	}
	_, _, err := k.System(a, nil)
	return err
}

// Role returns the definition of an agent, as a child begins with it.
func (w Agents) Role(name string) (process.Role, error) {
	k, err := w.ws.Project().Kit()
	if err != nil {
		return process.Role{}, err
	}
	r, err := findDefinition(k, name)
	if err != nil {
		return process.Role{}, err
	}
	out := process.Role{Inherit: r.Context == "inherit", Worktree: r.Worktree, Effort: r.Effort, Budget: r.Budget}
	// Another program's word for a model is none of ours: then it is the parent's.
	if ref, err := llm.ParseRef(r.Model); err == nil {
		out.Provider, out.Model = ref.Vendor, ref.Name
	}
	if r.Driver != "" {
		model := r.Model
		if model == "inherit" {
			model = ""
		}
		ref, err := w.ws.Programs().Driver(r.Driver, model)
		if err != nil {
			return process.Role{}, err
		}
		out.Provider, out.Model = ref.Vendor, ref.Name
	}
	if r.Tools != nil {
		out.Limit = &history.Limit{By: "agent " + r.Name, Tools: r.Tools}
	}
	out.Entry, err = talk.Entry(r)
	return out, err
}

// play makes a child that a person asks for one of a role.
func (w Agents) play(f *Fork, c *registry.Child) error {
	if f.Role == "" {
		return nil
	}
	r, err := w.Role(f.Role)
	if err != nil {
		return err
	}
	if !r.Inherit && f.At == 0 {
		c.Entries = append(c.Entries, history.NewClear())
	}
	c.Entries = append(append(c.Entries, r.Bounds()...), r.Entry)
	if f.Effort == "" {
		f.Effort = r.Effort
	}
	f.Worktree = f.Worktree || r.Worktree
	if f.Model == (llm.Ref{}) {
		c.Provider, c.Model = r.Provider, r.Model
	}
	return nil
}

// WorkerRoles returns definitions of agents for workers of a recipe, as the user has them and as a
// person accepted those of the project. One that is not there, or that a run cannot have, is
// refused.
func (w Agents) WorkerRoles(names []string) ([]recipe.Definition, error) {
	if len(names) == 0 {
		return nil, nil
	}
	k, err := w.ws.Project().Kit()
	if err != nil {
		return nil, err
	}
	var out []recipe.Definition
	for _, name := range names {
		r, err := findDefinition(k, name)
		if err != nil {
			return nil, err
		}
		d := recipe.Definition{Name: r.Name, From: r.Path, Prompt: r.Prompt, Tools: talk.Words(r.Tools), Effort: string(r.Effort), Driver: r.Driver}
		if _, err := llm.ParseRef(r.Model); err == nil || r.Driver != "" { // else another program's word is none of ours
			d.Model = r.Model
		}
		if b := r.Budget; b != nil && b.Tokens != nil {
			d.Tokens = *b.Tokens
		}
		if b := r.Budget; b != nil && b.Cost != nil {
			d.CostUSD = float64(*b.Cost) / 1e9
		}
		out = append(out, d)
	}
	return out, nil
}

// findDefinition finds a definition.
func findDefinition(k kit.Kit, name string) (kit.Role, error) {
	if r, ok := k.Role(name); ok {
		return r, nil
	}
	var names []string
	for _, other := range k.Roles {
		names = append(names, other.Name)
	}
	f := fault.New(fault.NotFound, "no agent %.60q is defined", name)
	return kit.Role{}, f.WithHint("%s", text.NearestHint(name, names, "definitions lie in .agents/agents and .claude/agents; `ramet trust` lets those of a project count"))
}
