package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/bus"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
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
func (w *watcher) follow(ctx context.Context, a id.Agent, events *bus.Bus[loop.Event]) {
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
	if rest, ok := w.live.rest(o.Text); ok {
		_, err := io.WriteString(w.l.Stdout, text.Safe(strings.TrimRight(rest, "\n"))+"\n")
		return err
	}
	_, err := io.WriteString(w.l.Stdout, text.Safe(strings.TrimRight(o.Text, "\n"))+"\n")
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
