package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/kernel"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
)

// printUnread prints what children reported during a turn and its agent did not read, nor those
// below it who have children of their own: a result that nobody reads is lost, whatever they said.
func printUnread(ctx context.Context, ws *session.Workspace, a agent.Agent, before int64, o loop.Outcome, w *watcher, well bool) error {
	left, err := ws.Mail().Unread(ctx, a.ID, before)
	if err != nil {
		return err
	}
	below, err := listMissed(ctx, ws, w)
	if err != nil || len(left) == 0 && len(below) == 0 {
		return err
	}
	if well {
		if err := w.early(o); err != nil {
			return err
		}
	}
	var failed error
	if len(left) > 0 {
		failed = w.unread(ctx, ws, a, left)
	}
	for _, m := range below {
		failed = errors.Join(failed, w.unread(ctx, ws, m.who, m.left))
	}
	return failed
}

// missing are letters that somebody did not read.
type missing struct {
	who  agent.Agent
	left []mail.Letter
}

// listMissed returns the reports that agents did not read who had children meanwhile and live.
func listMissed(ctx context.Context, ws *session.Workspace, w *watcher) (out []missing, err error) {
	for _, p := range w.forked() {
		m := missing{}
		if m.who, err = ws.Store.Agent(ctx, p); err != nil {
			return nil, err
		}
		if m.left, err = ws.Mail().Unread(ctx, p, 0); err != nil {
			return nil, err
		}
		if m.left, err = listReports(ctx, ws, m.who, m.left); err != nil {
			return nil, err
		}
		if len(m.left) > 0 && m.who.Status == agent.Running {
			out = append(out, m)
		}
	}
	return out, nil
}

// listReports returns the letters of an agent's own children, and about them.
func listReports(ctx context.Context, ws *session.Workspace, a agent.Agent, letters []mail.Letter) (out []mail.Letter, err error) {
	for _, l := range letters {
		from, err := ws.Store.Agent(ctx, authorOf(l))
		if err != nil {
			return nil, err
		}
		if from.Parent == a.ID {
			out = append(out, l)
		}
	}
	return out, nil
}

// authorOf returns the sender of a letter, or its subject if the kernel wrote it.
func authorOf(l mail.Letter) id.Agent {
	if l.From == id.Kernel {
		return l.About
	}
	return l.From
}

func (w *watcher) unread(ctx context.Context, ws *session.Workspace, a agent.Agent, left []mail.Letter) error {
	for _, l := range left {
		if err := w.letter(ctx, ws, a, l); err != nil {
			return err
		}
	}
	return fault.New(fault.Unread, "%s ended its turn without reading %s from its subtree", a.Label(), text.Count(len(left), "mail message")).
		WithHint("`ramet exec --continue %s` lets it read them", a.Label())
}

// letter prints one that was not read.
func (w *watcher) letter(ctx context.Context, ws *session.Workspace, to agent.Agent, l mail.Letter) error {
	from := authorOf(l)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.l.JSON {
		w.line(public.Line{Type: public.Unread, Agent: from, Text: l.Body})
		return w.failed
	}
	name := from.Short()
	if row, err := ws.Store.Agent(ctx, from); err == nil {
		name = row.Label()
	}
	if to.ID != w.root && !to.IsZero() {
		name += " to " + to.Label()
	}
	_, err := io.WriteString(w.l.Stdout, fmt.Sprintf("\nmail %d from %s, not read:\n%s\n", l.Number, name, text.Safe(strings.TrimRight(l.Body, "\n"))))
	return err
}

// continueAll takes up everything that was interrupted, and prints what each said.
func continueAll(l *Line, ctx context.Context, ws *session.Workspace, terms *kernel.Terms, w *watcher) error {
	w.follow(ctx, "", &ws.Kernel.Events)
	turns, err := ws.Turns().ContinueAll(ctx, terms)
	if err != nil {
		w.end()
		return err
	}
	if len(turns) == 0 {
		w.end()
		w.note("nothing was interrupted")
		return nil
	}
	var failed error
	for _, t := range turns {
		o, err := t.Wait(ctx)
		failed = errors.Join(failed, err)
		if l.JSON {
			w.mu.Lock()
			w.line(public.Format(loop.Event{Type: public.Result, Agent: t.Agent.ID, Outcome: &o, Err: err}))
			w.mu.Unlock()
			continue
		}
		says := o.Text
		if err != nil {
			says = "error[" + string(fault.CodeOf(err)) + "]: " + err.Error()
		}
		if _, err := io.WriteString(l.Stdout, t.Agent.Label()+": "+text.Safe(strings.TrimRight(says, "\n"))+"\n"); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	w.end()
	return errors.Join(failed, leftOver(ctx, ws, turns, w)) // all reports are in now
}

// leftOver prints what nobody read of what came: those who went on, those who had children
// meanwhile, and the parents of those who went on, whose own turns were over before.
func leftOver(ctx context.Context, ws *session.Workspace, turns []session.Continued, w *watcher) error {
	var failed error
	told := map[id.Agent]bool{}
	tell := func(a agent.Agent, behind int64) error {
		if told[a.ID] || a.Status != agent.Running {
			return nil
		}
		told[a.ID] = true
		left, err := ws.Mail().Unread(ctx, a.ID, behind)
		if err == nil && len(left) > 0 {
			err = w.unread(ctx, ws, a, left)
		}
		return err
	}
	for _, t := range turns {
		failed = errors.Join(failed, tell(t.Agent, 0))
	}
	for _, t := range turns {
		if !t.Alone {
			continue
		}
		up, err := ws.Store.Agent(ctx, t.Agent.Parent)
		if err == nil {
			err = tell(up, t.Behind)
		}
		failed = errors.Join(failed, err)
	}
	below, err := listMissed(ctx, ws, w)
	failed = errors.Join(failed, err)
	for _, m := range below {
		failed = errors.Join(failed, tell(m.who, 0))
	}
	return failed
}
