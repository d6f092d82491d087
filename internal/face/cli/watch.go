package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/kernel"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
)

// watcher shows the events of a turn: progress for people on standard error, or
// lines of JSON on standard output.
type watcher struct {
	l       *Line
	root    id.Agent
	family  control.Family
	enough  func()
	reading sync.WaitGroup
	over    chan struct{} // closed when the end of root's turn, or of all, is shown

	mu       sync.Mutex // guards what follows, and the order of the output
	hide     *secret.Redactor
	answered bool
	parents  []id.Agent // who forked meanwhile, but for root
	failed   error      // of the output
	live     *live      // the answer as it comes in; nil: it is printed when it is whole
}

// follow shows the events of an agent and its offspring, or of everybody, until end is called.
func (w *watcher) follow(ctx context.Context, a id.Agent, events *loop.EventBus) {
	w.root, w.family = a, control.Family{a: true}
	seen, enough := events.Overhear(context.WithoutCancel(ctx)) // what an agent becomes is not shown
	w.enough, w.over = enough, make(chan struct{})
	w.reading.Go(func() {
		end := sync.OnceFunc(func() { close(w.over) })
		defer end()
		for e := range seen {
			if e.Type == loop.TurnEnded && fault.Is(e.Err, fault.Leased) {
				continue // it did not begin; another kernel is asked for it
			}
			if a == "" || w.family.Knows(e) {
				w.show(e)
			}
			if e.Type == loop.TurnEnded && e.Agent == a {
				end()
			}
		}
	})
}

// end returns when everything that happened is shown.
func (w *watcher) end() {
	w.enough()
	w.reading.Wait()
}

// forked are those who had children meanwhile.
func (w *watcher) forked() []id.Agent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.parents)
}

func (w *watcher) note(what string) { w.show(loop.Event{Type: loop.Note, Text: what}) }

func (w *watcher) show(e loop.Event) {
	if e.Type == loop.Became {
		return // the events beside it say so in their own words
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Type == loop.Forked && e.Agent != w.root && !slices.Contains(w.parents, e.Agent) {
		w.parents = append(w.parents, e.Agent)
	}
	if w.l.JSON {
		w.line(public.Format(e))
		return
	}
	if w.live != nil && e.Agent == w.root && !w.answered {
		w.live.take(e)
	}
	if line := w.progress(e); line != "" {
		w.live.endLine()
		io.WriteString(w.l.Stderr, text.Line(line, 300)+"\n") // progress may be lost
	}
}

// line prints a line of JSON. Secrets of known formats are replaced: such lines
// end in logs.
func (w *watcher) line(one public.Line) {
	b, err := public.Marshal(one)
	if err == nil {
		if w.hide == nil {
			w.hide = secret.New(nil)
		}
		_, err = io.WriteString(w.l.Stdout, text.JSON(public.Hide(string(b), w.hide.All))+"\n")
	}
	if w.failed == nil {
		w.failed = err
	}
}

// progress returns the line about an event for people; most events have none.
func (w *watcher) progress(e loop.Event) string {
	who := ""
	if e.Agent != "" && e.Agent != w.root {
		who = e.Agent.Short() + ": "
	}
	switch e.Type {
	case loop.TurnStarted:
		return who + "asking " + e.Text
	case loop.CallStarted:
		return who + toldAgents(e)
	case loop.CallEnded:
		if e.IsError {
			return who + e.Tool + " failed: " + e.Text
		}
	case loop.Retrying:
		return fmt.Sprintf("%stry %s failed, again in %s: %v", who, e.Attempt.Count(), e.Attempt.Wait.Round(1e8), e.Attempt.Err)
	case loop.Forked:
		names := make([]string, len(e.Children))
		for i, c := range e.Children {
			names[i] = c.Short()
		}
		return who + "forked " + strings.Join(names, ", ")
	case loop.TurnEnded:
		if who != "" && e.Err != nil {
			return who + "failed: " + e.Err.Error()
		}
		if who != "" {
			return who + "done"
		}
	case loop.Note, loop.Waiting:
		return who + e.Text
	case loop.Compacting:
		return who + "compacting: " + e.Text
	case loop.Killed:
		return who + "killed"
	case loop.Asking:
		return fmt.Sprintf("%swaits for permission: %s (answer on the page, or here if it asks; question %s)", who, toldAgents(e), text.Line(e.Ask, 40))
	case loop.Answered:
		return who + "permission: " + e.Text
	}
	return ""
}

// toldAgents is the line about a call; most summaries begin with the tool's name.
func toldAgents(e loop.Event) string {
	if strings.HasPrefix(e.Text, e.Tool) {
		return e.Text
	}
	return e.Tool + ": " + e.Text
}

// said prints the answer of a turn of this kernel while tasks of children go on, below what the
// turn did.
func (w *watcher) said(o loop.Outcome) error {
	<-w.over
	return w.early(o)
}

// early prints the answer before the output ends.
func (w *watcher) early(o loop.Outcome) error {
	if w.l.JSON {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.say(o)
}

// answer ends the output: with the answer, or the result as JSON. A turn that
// failed has no answer.
func (w *watcher) answer(o loop.Outcome, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.l.JSON {
		w.line(public.Format(loop.Event{Type: public.Result, Agent: w.root, Outcome: &o, Err: err}))
		return w.failed
	}
	if err != nil {
		return nil
	}
	return w.say(o)
}

func (w *watcher) say(o loop.Outcome) error {
	if w.answered || o.Text == "" {
		return nil
	}
	w.answered = true
	said := o.Text
	if rest, ok := w.live.rest(said); ok {
		said = rest
	}
	_, err := io.WriteString(w.l.Stdout, text.Safe(strings.TrimRight(said, "\n"))+"\n")
	return err
}

// live prints the text of an agent as it arrives, for the person at a terminal. A nil one
// prints nothing.
type live struct {
	out  io.Writer
	said strings.Builder // of the message that comes in
	last string          // the message before, whole
	open bool            // the line on the screen has no end yet
}

func (v *live) take(e loop.Event) {
	switch e.Type {
	case loop.TextDelta:
		v.said.WriteString(e.Text)
		io.WriteString(v.out, text.Safe(e.Text)) // what cannot be written is printed at the end, and fails there
		v.open = e.Text != "" && !strings.HasSuffix(e.Text, "\n") || e.Text == "" && v.open
	case loop.Recorded:
		if e.Entry != nil && e.Entry.Kind == history.Assistant {
			v.last = v.said.String()
			v.said.Reset()
		}
	case loop.Retrying, loop.TurnStarted:
		v.endLine()
		v.said.Reset() // it is said again
	}
}

// endLine ends the line before something else is written on the screen.
func (v *live) endLine() {
	if v == nil || !v.open {
		return
	}
	io.WriteString(v.out, "\n")
	v.open = false
}

// rest returns the part of an answer that is not on the screen yet; false: the answer is not the one shown last.
func (v *live) rest(answer string) (string, bool) {
	if v == nil {
		return "", false
	}
	shown := v.said.String()
	if shown == "" {
		shown = v.last
	}
	rest, ok := strings.CutPrefix(answer, shown)
	if shown == "" || !ok {
		v.endLine()
		return "", false
	}
	if !v.open && strings.TrimRight(rest, "\n") == "" {
		return "", true // the line was ended already
	}
	return rest, true
}

// printUnread prints what children reported during a turn and its agent did not read, nor the agents
// in its subtree that have children of their own: an unread result is lost.
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

// missing holds the mail that an agent did not read.
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

// leftOver prints the unread mail of the agents that continued, of those that had children
// meanwhile, and of the parents of those that continued, whose own turns had ended before.
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
