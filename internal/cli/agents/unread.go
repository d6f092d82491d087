package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"ramet/internal/agent"
	"ramet/internal/cli/line"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/loop"
	"ramet/internal/mail"
	"ramet/internal/public"
	"ramet/internal/session"
	"ramet/internal/text"
)

// unread prints what children reported during a turn and its agent did not read: a result
// that nobody reads is lost, whatever the agent said.
func unread(ctx context.Context, ws *session.Workspace, a agent.Agent, before int64, o loop.Outcome, w *watcher) error {
	left, err := ws.Unread(ctx, a.ID, before)
	if err != nil || len(left) == 0 {
		return err
	}
	if err := w.early(o); err != nil {
		return err
	}
	return w.unread(ctx, ws, a, left)
}

func (w *watcher) unread(ctx context.Context, ws *session.Workspace, a agent.Agent, left []mail.Letter) error {
	for _, l := range left {
		if err := w.letter(ctx, ws, l); err != nil {
			return err
		}
	}
	return fault.New(fault.Unread, "%s ended its turn without reading %s of those below it", a.Label(), text.Count(len(left), "letter")).
		WithHint("`ramet exec --continue %s` lets it read them", a.Label())
}

// letter prints one that was not read.
func (w *watcher) letter(ctx context.Context, ws *session.Workspace, l mail.Letter) error {
	from := l.From
	if from == id.Kernel {
		from = l.About
	}
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
	_, err := io.WriteString(w.l.Stdout, fmt.Sprintf("\nletter %d from %s, not read:\n%s\n", l.Number, name, text.Safe(strings.TrimRight(l.Body, "\n"))))
	return err
}

// continueAll takes up everything that was interrupted, and prints what each said.
func continueAll(l *line.Line, ctx context.Context, ws *session.Workspace, w *watcher) error {
	w.follow(ctx, "", &ws.Kernel.Events)
	turns, err := ws.ContinueAll(ctx)
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
	for _, t := range turns { // all reports are in now
		left, err := ws.Unread(ctx, t.Agent.ID, 0)
		if err == nil && len(left) > 0 {
			err = w.unread(ctx, ws, t.Agent, left)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
