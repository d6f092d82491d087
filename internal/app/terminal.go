package app

import (
	"context"
	"iter"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/face/cli"
	"ramet/internal/face/tui"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// terminal is a workspace and its kernel, for the terminal UI.
type terminal struct {
	verbs
	ws       *session.Workspace
	asker    *asker
	command  cli.Command
	warnings []string // of the start
}

// openTerminal opens the workspace of a session: in the background kernel, or in this process if the setting says so or
// this is a command of an agent.
func openTerminal(ctx context.Context, s *session.Session, command cli.Command) (tui.Workspace, error) {
	conf, err := s.Config()
	if err != nil {
		return nil, err
	}
	if _, agents := s.Own(); conf.Background == "yes" && !agents { // it is not a command of an agent
		return connectTerminal(ctx, s)
	}
	ws, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	d := &terminal{verbs: verbsOf(ws), ws: ws, asker: newAsker(), command: command}
	if err := ws.Start(ctx, session.Kernel{Ask: d.asker, Warn: func(s string) { d.warnings = append(d.warnings, s) }}); err != nil {
		return nil, err
	}
	return d, nil
}

// Close implements tui.Workspace.
func (d *terminal) Close() { d.ws.Stopped() }

// GoesOn implements tui.Workspace.
func (d *terminal) GoesOn() bool { return false }

// Events implements tui.Workspace.
func (d *terminal) Events(ctx context.Context) iter.Seq[loop.Event] {
	events := d.subscribe(ctx)
	go d.turnVerbs.Follow(ctx)
	return events
}

// subscribe returns the events of this kernel, and of others that were asked for turns here.
func (d *terminal) subscribe(ctx context.Context) iter.Seq[loop.Event] {
	here, _ := d.ws.Kernel.Events.Subscribe(ctx)
	there, _ := d.ws.Elsewhere.Subscribe(ctx)
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

// Mode returns the mode chosen for an agent, else the configured one.
func (d *terminal) Mode(ctx context.Context, a id.Agent) (permit.Mode, error) {
	row, err := d.ws.Store.Agent(ctx, a)
	if err != nil {
		return "", err
	}
	found, err := d.turnVerbs.Standing(ctx, row)
	return found.Mode, err
}

func (d *terminal) Questions(ctx context.Context) <-chan tui.Question { return d.asker.questions }

func (d *terminal) Agents(ctx context.Context) (tui.Agents, error) {
	return d.agentVerbs.Everybody(ctx)
}

func (d *terminal) Turn(ctx context.Context, a id.Agent, said string, model llm.Ref, ticket string) (bool, error) {
	return d.turn(ctx, session.Turn{Agent: a, Prompt: kernel.Prompt{Text: said, Model: model, Ticket: ticket, Again: said == ""}, Ask: d.asker})
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
	if probed := switches().Command; probed != nil {
		probed()
	}
	return operation.Within(d.ws).Call(ctx, o, in)
}

// Print implements tui.Workspace.
func (d *terminal) Print(ctx context.Context, o operation.Operation, in any) (string, error) {
	return tui.Print(ctx, d, o, in)
}

func (d *terminal) Command(ctx context.Context, args ...string) (string, error) {
	if probed := switches().Command; probed != nil {
		probed()
	}
	return d.command(ctx, args...)
}
