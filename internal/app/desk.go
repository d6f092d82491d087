package app

import (
	"context"
	"iter"

	"ramet/internal/agent"
	"ramet/internal/bus"
	"ramet/internal/cli"
	"ramet/internal/control"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/proc"
	"ramet/internal/registry"
	"ramet/internal/tui"
)

// desk is a workspace and its kernel, for the terminal UI.
type desk struct {
	request     cli.ScreenRequest
	ws          cli.Workspace
	kernel      *cli.Kernel
	asker       *asker
	interrupted map[id.Agent]bool
	// elsewhere carries what happens in other kernels to turns that we asked for.
	elsewhere bus.Bus[loop.Event]
	handed    handed
	warnings  []string // of the start
	files     files
	dead      graveyard
}

func openDesk(ctx context.Context, r cli.ScreenRequest) (tui.Desk, error) {
	d := &desk{request: r, asker: newAsker()}
	var err error
	if d.ws, err = r.Open(ctx); err != nil {
		return nil, err
	}
	// Whom a crash interrupted is known only before the kernel tidies up.
	if d.interrupted, err = abandoned(ctx, d.ws, r.Gone); err != nil {
		return nil, err
	}
	if r.Config.Background == "yes" {
		if err := background(ctx, r); err != nil {
			d.warnings = append(d.warnings, err.Error())
		}
	}
	if d.kernel, err = r.Kernel(ctx, d.asker, func(s string) { d.warnings = append(d.warnings, s) }); err != nil {
		return nil, err
	}
	return d, nil
}

// abandoned are the agents whose kernels ended in the middle of a turn.
func abandoned(ctx context.Context, ws cli.Workspace, gone func(string) bool) (map[id.Agent]bool, error) {
	leased, now, err := ws.Leased(ctx)
	out := map[id.Agent]bool{}
	for _, a := range leased {
		if !a.Lease.Live(now) || gone(a.Lease.Owner) {
			out[a.ID] = true
		}
	}
	return out, err
}

func (d *desk) Close() { d.kernel.Close() }

func (d *desk) Events(ctx context.Context) iter.Seq[loop.Event] {
	here, _ := d.kernel.Events.Subscribe(ctx)
	there, _ := d.elsewhere.Subscribe(ctx)
	both := make(chan loop.Event)
	for _, seq := range []iter.Seq[loop.Event]{here, there} {
		go func() {
			for e := range seq {
				select {
				case both <- e:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return func(yield func(loop.Event) bool) {
		for _, w := range d.warnings {
			if !yield(loop.Event{Type: loop.Note, Text: w}) {
				return
			}
		}
		for {
			select {
			case e := <-both:
				if !yield(e) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (d *desk) Questions(ctx context.Context) <-chan tui.Question { return d.asker.questions }

func (d *desk) Agents(ctx context.Context) (tui.Crowd, error) {
	all, err := d.dead.join(ctx, d.ws)
	if err != nil {
		return tui.Crowd{}, err
	}
	leased, now, err := d.ws.Leased(ctx)
	if err != nil {
		return tui.Crowd{}, err
	}
	c := tui.Crowd{Agents: all, Doing: map[id.Agent]string{}, Interrupted: map[id.Agent]bool{}}
	for _, a := range leased {
		if a.Lease.Owner == d.kernel.Owner {
			c.Doing[a.ID] = d.kernel.Doing(a.ID)
		} else if a.Lease.Live(now) && !d.request.Gone(a.Lease.Owner) {
			c.Doing[a.ID] = "works elsewhere"
		}
	}
	for a := range d.interrupted {
		c.Interrupted[a] = true
	}
	return c, nil
}

func (d *desk) Turn(ctx context.Context, a id.Agent, said string, model llm.Ref) error {
	prompt := proc.Prompt{Text: said, Model: model}
	if server := d.serving(ctx, a); server != nil {
		if err := d.hand(ctx, server, a, prompt); !fault.Is(err, fault.Leased) {
			return err
		} // else a third kernel holds the agent
	}
	return d.request.Through(ctx, a, func() error {
		turn, err := d.kernel.Exec(ctx, a, prompt)
		if err != nil {
			return err
		}
		_, err = turn.Wait()
		return err
	}, func(other *control.Client) error {
		_, err := other.Exec(ctx, a, prompt, false, d.elsewhere.Publish)
		return err
	})
}

func (d *desk) Compact(ctx context.Context, a id.Agent, model llm.Ref) error {
	return d.kernel.Compact(ctx, a, model)
}

func (d *desk) Hide(ctx context.Context, a id.Agent, n int64) error { return d.ws.Hide(ctx, a, n) }

func (d *desk) Command(ctx context.Context, args ...string) (string, error) {
	if probed := switches().Command; probed != nil {
		probed()
	}
	return d.request.Command(ctx, args...)
}

// Fork makes a child; with a prompt it begins to work.
func (d *desk) Fork(ctx context.Context, f tui.Fork) (agent.Agent, error) {
	parent, err := d.ws.Agent(ctx, f.Parent)
	if err != nil {
		return parent, err
	}
	if err := agent.NeedLiving(parent); err != nil {
		return parent, err
	}
	child := registry.Child{ID: id.NewAgent(), Name: f.Name, Provider: f.Model.Vendor, Model: f.Model.Name}
	if f.Name != "" {
		if err := agent.CheckName(f.Name); err != nil {
			return parent, err
		}
	}
	if f.At != 0 {
		if err := history.Lookup(ctx, d.ws, f.Parent, f.At); err != nil {
			return parent, err
		}
		child.Entries = append(child.Entries, history.NewRewind(f.At, ""))
	}
	if f.Prompt != "" {
		said, err := history.Say(history.User, f.Prompt)
		if err != nil {
			return parent, err
		}
		child.Entries = append(child.Entries, said)
	}
	undo := func() {}
	if f.Worktree {
		if child.Cwd, undo, err = d.kernel.Options.Worktree(ctx, parent, child.ID, f.Name); err != nil {
			return parent, err
		}
	}
	fork := registry.Fork{Parent: f.Parent, Claim: agent.Passing(), Children: []registry.Child{child}}
	var born []agent.Agent
	err = d.request.Through(ctx, f.Parent, func() (err error) {
		born, err = d.kernel.Fork(ctx, fork, f.Prompt != "")
		return err
	}, func(other *control.Client) (err error) {
		born, err = other.Fork(ctx, fork, f.Prompt != "")
		return err
	})
	if err != nil {
		if _, lost := d.ws.Agent(context.WithoutCancel(ctx), child.ID); lost != nil {
			undo()
		}
		return parent, err
	}
	return born[0], nil
}
