package session

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/control"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// Turn asks for a turn of an agent.
type Turn struct {
	Agent  id.Agent
	Prompt kernel.Prompt
	// Tasks waits for the tasks of children too; Said is told the answer before.
	Tasks bool
	Said  func(loop.Outcome) error
	// Ask is asked what the turn asks too; nil: others answer.
	Ask permit.Asker
}

// Ran is the result of a turn.
type Ran struct {
	Outcome loop.Outcome
	Turn    *kernel.Turn // nil: it was refused
	Began   bool         // false: nothing was run
	Said    bool         // the prompt stands in the history; false: it does not
}

// Run runs a turn to its end in the kernel of this process. It waits for a process of this machine that holds the agent.
func (w Turns) Run(ctx context.Context, t Turn) (Ran, error) {
	if err := w.ws.mayPrompt(ctx, t.Agent); err != nil {
		return Ran{}, err
	}
	t.Prompt.Environment = cmp.Or(t.Prompt.Environment, clientOf(ctx))
	if w.ws.asks(ctx) != "" {
		t.Ask = nil // an agent answers no question
	}
	shown, err := w.ws.Prompts().mentioned(ctx, t.Agent, t.Prompt.Text, true)
	if err != nil {
		return Ran{}, err
	}
	t.Prompt.Files = append(t.Prompt.Files, shown...)
	text, read, err := w.ws.Prompts().withResources(ctx, t.Prompt.Text)
	if err != nil {
		return Ran{}, err
	}
	t.Prompt.Text, t.Prompt.Files = text, append(t.Prompt.Files, read...)
	out := Ran{}
	err = w.ws.retakes(ctx, t.Agent, func() (err error) {
		out.Turn, out.Outcome, err = w.runHere(ctx, t)
		out.Said, out.Began = out.Outcome.Began, !fault.Is(err, fault.Leased)
		return err
	})
	return out, err
}

// runHere runs it in our own kernel.
func (w Turns) runHere(ctx context.Context, t Turn) (*kernel.Turn, loop.Outcome, error) {
	defer w.askHere(ctx, t)()
	turn, err := w.ws.Kernel.Exec(ctx, t.Agent, t.Prompt)
	if err != nil {
		return nil, loop.Outcome{}, err
	}
	outcome, err := turn.Wait()
	if t.Tasks && !stoppedBy(ctx, err) { // who works for a turn that failed goes on, too
		if err == nil && t.Said != nil {
			err = t.Said(outcome)
		}
		err = errors.Join(err, turn.Tasks(ctx))
	}
	return turn, outcome, err
}

// askHere puts the questions of a turn and its children to t.Ask too, until the result is called.
func (w Turns) askHere(ctx context.Context, t Turn) (enough func()) {
	if own, ok := t.Ask.(Answerer); t.Ask == nil || w.ws.Answers == nil || ok && own == w.ws.Answers {
		return func() {} // the kernel's own asker has them already
	}
	asking, enough := context.WithCancel(ctx)
	family := control.Family{t.Agent: true}
	seen, _ := w.ws.Kernel.Events.Subscribe(asking)
	go w.forward(asking, seen, family.Knows, t.Ask)
	return enough
}

// ForwardQuestions puts all questions of the kernel to ask too, until ctx ends. A question that ask returns an error for
// still waits for others.
func (w Turns) ForwardQuestions(ctx context.Context, ask permit.Asker) {
	if w.ws.Answers != nil {
		w.ws.forwards.Add(1)
		defer w.ws.forwards.Add(-1)
		seen, _ := w.ws.Kernel.Events.Subscribe(ctx)
		w.forward(ctx, seen, func(loop.Event) bool { return true }, ask)
	}
}

func (w Turns) forward(ctx context.Context, seen iter.Seq[loop.Event], wanted func(loop.Event) bool, ask permit.Asker) {
	q := questions{workspace: w.ws, asker: ask, open: map[string]context.CancelFunc{}}
	defer q.close()
	for e := range seen {
		if wanted(e) {
			q.see(ctx, e)
		}
	}
}

// StopBelow stops the turns of an agent and of all below it.
func (w Turns) StopBelow(ctx context.Context, a id.Agent) error {
	all, err := w.ws.Agents().Everybody(ctx)
	if err != nil {
		return err
	}
	below := map[id.Agent]bool{a: true}
	for _, one := range all.All { // parents come before children
		if below[one.ID] = below[one.ID] || below[one.Parent]; below[one.ID] && all.States[one.ID].Busy() {
			_, stopped := w.Stop(ctx, kernel.Stop{Agent: one.ID})
			err = errors.Join(err, stopped)
		}
	}
	return err
}

// stoppedBy reports whether a turn was stopped on purpose, instead of failing.
func stoppedBy(ctx context.Context, err error) bool {
	return ctx.Err() != nil || fault.Is(err, fault.Interrupted) || fault.Is(err, fault.Cancelled) || fault.Is(err, fault.TimedOut)
}

// beginTime limits how long Begin waits for a turn to begin: one that is in order begins long before.
const beginTime = 5 * time.Second

// Begin begins a turn, which continues without its caller, and returns its number when it has begun or waits for the one
// before. The error says why it could not begin.
func (w Turns) Begin(ctx context.Context, a agent.Agent, p kernel.Prompt) (n int64, err error) {
	if err := CheckPrompt(p.Text); err != nil {
		return 0, err
	}
	p.Environment = cmp.Or(p.Environment, clientOf(ctx))
	if err := agent.NeedLiving(a); err != nil {
		return 0, err
	}
	if err := w.ws.Prompts().Word(ctx, a, &p); err != nil {
		return 0, err
	}
	shown, err := w.ws.Prompts().mentioned(ctx, a.ID, p.Text, false)
	if err != nil {
		return 0, err
	}
	text, read, err := w.ws.Prompts().withResources(ctx, p.Text)
	if err != nil {
		return 0, err
	}
	p.Text, p.Files = text, slices.Concat(p.Files, shown, read)
	err = w.ws.retakes(ctx, a.ID, func() (err error) {
		n, err = w.beginHere(ctx, a.ID, p)
		return err
	})
	return n, err
}

func (w Turns) beginHere(ctx context.Context, who id.Agent, p kernel.Prompt) (int64, error) {
	patience, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	now, busy := w.ws.Kernel.States()[who]
	busy = busy && now.Word != state.Idle
	seen, enough := w.ws.Kernel.Events.Subscribe(patience)
	defer enough()
	turn, err := w.ws.Kernel.Exec(context.WithoutCancel(ctx), who, p)
	if err != nil || busy {
		return turn.ID(), err
	}
	for e := range seen {
		if e.Agent != who || e.Turn != turn.ID() {
			continue
		}
		switch e.Type {
		case loop.TurnStarted:
			return turn.ID(), nil
		case loop.TurnEnded: // it never started
			return turn.ID(), e.Err
		}
	}
	return turn.ID(), nil
}

// Compact replaces the older part of a context by a summary.
func (w Turns) Compact(ctx context.Context, a agent.Agent, model llm.Ref) (agent.Agent, error) {
	if err := w.ws.may(ctx, "compact", a); err != nil {
		return a, err
	}
	if err := agent.NeedLiving(a); err != nil {
		return a, err
	}
	w.Lend(ctx, a.ID)
	var terms *kernel.Terms
	k := w.ws.Kernel
	if k == nil {
		terms = &kernel.Terms{NoTools: true}
		r, err := w.ws.start(ctx, Kernel{})
		if err != nil {
			return a, err
		}
		defer r.Close()
		k = r.Kernel
	}
	if err := k.Compact(ctx, a.ID, model, terms); err != nil {
		return a, err
	}
	return w.ws.Store.Agent(ctx, a.ID)
}
