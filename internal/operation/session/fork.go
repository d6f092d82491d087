package session

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/files/worktree"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/control"
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

// Fork makes a child. It waits for the tools of its parent, until ctx ends. A parent that a
// kernel of another host holds is forked beside it, at its last final entry.
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
		tree, err := w.ws.Trees.Make(ctx, from, child.ID, f.Name)
		if err != nil {
			return Forked{}, err
		}
		child.Cwd, out.Tree = tree.Cwd, &tree
	}
	w.ws.Turns().Lend(ctx, child.ID)
	born, err := w.fork(ctx, f.Parent.ID, child, f.Start)
	if err != nil {
		if out.Tree != nil {
			err = w.ws.Trees.takeBack(ctx, f.Parent.Cwd, *out.Tree, err)
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
	shown, err := w.ws.Prompts().mentioned(ctx, a, text, local)
	if err != nil {
		return history.Draft{}, err
	}
	text, read, err := w.ws.Prompts().withResources(ctx, text)
	if err != nil {
		return history.Draft{}, err
	}
	said, err := history.Say(history.User, text)
	said.Parts = append(append(said.Parts, shown...), read...)
	return said, err
}

// fork makes the child where the parent is held.
func (w Agents) fork(ctx context.Context, parent id.Agent, c registry.Child, start kernel.StartMode) (agent.Agent, error) {
	f := registry.Fork{Parent: parent, Claim: agent.Passing(), Children: []registry.Child{c}}
	if w.ws.asks(ctx) == parent {
		if born, ok, err := w.forkWithin(ctx, f, start); ok || err != nil {
			return born, err
		}
	}
	born, err := w.forkServed(ctx, f, start)
	if born != nil || err != nil && !fault.Is(err, fault.Leased) {
		return first(born), err
	}
	err = w.ws.through(ctx, parent, func() (err error) {
		if w.ws.Kernel != nil {
			born, err = w.ws.Kernel.Fork(ctx, f, start)
		} else {
			born, err = w.ws.Store.Fork(ctx, f)
		}
		return err
	}, func(k *control.Client) (err error) {
		born, err = k.Fork(ctx, f, start)
		return err
	})
	if fault.Is(err, fault.Leased) {
		born, err = w.forkBeside(ctx, f, err)
	}
	return first(born), err
}

func first(born []agent.Agent) agent.Agent {
	if len(born) == 0 {
		return agent.Agent{}
	}
	return born[0]
}

// forkServed lets the kernel that serves the workspace fork and begin a task, which goes on there when
// this process ends. nil: none serves it, or it is no task.
func (w Agents) forkServed(ctx context.Context, f registry.Fork, start kernel.StartMode) ([]agent.Agent, error) {
	if start != kernel.StartTask {
		return nil, nil
	}
	server, err := w.ws.Peers.Serving(ctx)
	if server == nil || err != nil {
		return nil, ctx.Err() // where it does not answer, the task runs here
	}
	return server.Fork(ctx, f, start)
}

// forkBeside forks an agent that a kernel of another host holds, without asking it: at the
// parent's last final entry, so that no call is separated from its result. The refusal is
// what is left where the holder is of this machine, and should answer.
func (w Agents) forkBeside(ctx context.Context, f registry.Fork, refused error) ([]agent.Agent, error) {
	parent, err := w.ws.Store.Agent(ctx, f.Parent)
	if err != nil {
		return nil, err
	}
	if parent.Lease.Owner == "" || w.ws.Peers.Near(parent.Lease.Owner) {
		return nil, refused
	}
	return w.forkFinal(ctx, f)
}

// forkWithin forks an agent that asks for it itself, in the middle of its turn, by a command or a
// program of its own: nobody can wait until its call is over, for it is this one. false: it has
// no turn.
func (w Agents) forkWithin(ctx context.Context, f registry.Fork, start kernel.StartMode) (agent.Agent, bool, error) {
	parent, err := w.ws.Store.Agent(ctx, f.Parent)
	if err != nil || parent.Lease.Owner == "" || start != kernel.StartLater {
		return agent.Agent{}, false, err
	}
	born, err := w.forkFinal(ctx, f)
	if err != nil {
		return agent.Agent{}, true, err
	}
	return born[0], true, nil
}

// forkFinal forks an agent that is held, at its last final entry.
func (w Agents) forkFinal(ctx context.Context, f registry.Fork) ([]agent.Agent, error) {
	point, err := history.LastFinal(ctx, w.ws.Store, f.Parent)
	if err != nil {
		return nil, err
	}
	f.Claim = agent.Beside()
	child := &f.Children[0]
	if len(child.Entries) == 0 || child.Entries[0].Kind != history.Rewind {
		child.Entries = append([]history.Draft{history.NewRewind(point, "")}, child.Entries...)
	}
	return w.ws.Store.Fork(ctx, f)
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
	_, err := k.System(a)
	return err
}
