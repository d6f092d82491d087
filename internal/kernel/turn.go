package kernel

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/jsonschema"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	acts "ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/turn/hook"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// turn carries out one job under the agent's lease.
func (p *agentProcess) turn(ctx context.Context, j *job) (loop.Outcome, error) {
	k := p.kernel
	a, err := p.hold(ctx, j.prompt.Held)
	if err != nil {
		return loop.Outcome{}, err
	}
	defer p.release(ctx)
	ctx = k.EnvironmentOf(ctx, a).WithUmask(ctx)
	claim := agent.Held(k.Owner, a.Lease.Epoch)
	if j.began = time.Now(); j.task && j.owed == "" {
		if up, ok, err := k.addressee(ctx, a, j.reply); err == nil && ok {
			wakes, err := k.wanted(ctx, up.ID, p.id)
			k.owe(j, up.ID, p.id, wakes && err == nil)
		}
	}
	err = p.restoreTree(ctx, a)
	var t loop.Turn
	if err == nil {
		t, err = p.prepare(ctx, a, claim, j)
	}
	if err != nil {
		// Nothing was written: what could not begin leaves no trace.
		p.report(ctx, a, j, loop.Outcome{}, err)
		return loop.Outcome{}, err
	}
	t.Tree, t.Paused = p.warmth(ctx, a)
	told, err := p.effort(ctx, a)
	if err != nil {
		return loop.Outcome{}, err
	}
	if t.Effort = j.prompt.Effort; t.Effort == "" {
		t.Effort = told
	}
	t.Effort = t.Effort.Or(k.Effort)
	if err := p.begin(ctx, a, claim, j, told, t.Hooks); err != nil {
		return loop.Outcome{}, err
	}
	all := t.Tools.Open().Told().Names() // before it remembers
	if left := loop.Remember(t.Tools, p.talk); !slices.Equal(left.Told().Names(), all) {
		if words, _, err := k.System(a, left); err == nil {
			t.System = words // of what its role leaves it
		}
	}
	said := loop.Outcome{Began: true}
	if err := p.talk.Answerable(); err != nil && j.only == nil {
		return said, err
	}
	if err := p.enter(ctx, a, j); err != nil {
		p.report(ctx, a, j, said, err)
		return said, err
	}
	k.Events.Publish(loop.Event{Type: loop.TurnStarted, Agent: p.id, Turn: j.number, Text: t.Ref.String()})
	p.becomes(func(d *doing) { d.now.Detail = state.Thinks })
	p.works(t.Tools)
	outcome, err := p.run(ctx, a, claim, t, j)
	p.works(nil)
	outcome.Began = true
	if unreachable(err) {
		p.talk, p.cutOff = nil, true // what the history has of it is not known here
		err = fault.New(fault.Interrupted, "the turn of %s was interrupted: %w", p.id.Short(), err).
			WithHint("what was done so far is in its history; continue when the store answers")
	}
	p.takeBack(ctx, a, claim, j, err)
	p.close(ctx, j, err)
	if fault.Is(err, fault.Cancelled) || fault.Is(err, fault.Interrupted) {
		k.Happened(a, hook.Occasion{Event: hook.Interrupted, Fields: map[string]any{"reason": err.Error()}})
	}
	p.report(ctx, a, j, outcome, err)
	if last := j.prompt.Last; last != nil {
		retiring := p.retire(ctx, last(err))
		outcome.Ended = retiring == nil
		if err == nil {
			err = retiring
		}
	}
	if err != nil && lost(err) {
		p.talk = nil // somebody else may have gone on with it
	}
	p.known.idle = time.Now()
	return outcome, err
}

// prepare finds everything that a turn needs before anything is written.
func (p *agentProcess) prepare(ctx context.Context, a agent.Agent, claim agent.Claim, j *job) (loop.Turn, error) {
	k := p.kernel
	m, err := k.Model(a, j.prompt.Model)
	if err != nil {
		return loop.Turn{}, err
	}
	limits := k.Limits
	limits.Attended = j.family.attended
	t := loop.Turn{Agent: p.id, Ref: m.Ref, Model: m.Info, Journal: &journal{p, claim}, Guard: k.Guard, Budget: budget{k, p.id},
		Limits: limits, Acting: p.acting, Clean: k.Clean, Emit: p.emit}
	if m.Foreign != nil {
		t.Files = optional(k.Files, a)
		return t, p.prepareForeign(a, j, m)
	}
	var place Place
	if j.prompt.Text != "" {
		place = k.place(ctx, a)
	}
	box, err := p.tools(ctx, a)
	if err != nil {
		return loop.Turn{}, err
	}
	hands := verbs{k, p, claim, j.family, j.prompt.Model, &surroundings{model: m}}
	box = append(box[:len(box):len(box)], acts.New(hands, k.Store, p.id)...)
	all := len(box)
	if k.Offer != nil {
		box = k.Offer(a, box)
	}
	box = k.recalling(p.id, m.Info, box)
	if !a.IsZero() && len(box) > all { // who chose among them knows what it needs
		if task, err := p.task(j.ctx); err != nil {
			return loop.Turn{}, err
		} else if task.Alone {
			box = acts.Alone(box)
		}
	}
	hands.around.box = box
	j.facts = func() string { return k.told(j.ctx, place, a, m, box, j.prompt.Budget) }
	system, note, err := k.System(a, box.Open()) // a conversation that takes none away needs no other
	if err != nil {
		return loop.Turn{}, err
	}
	k.note(p.id, note)
	var schema *jsonschema.Schema
	if len(j.prompt.Schema) > 0 {
		if schema, err = jsonschema.Parse(j.prompt.Schema); err != nil {
			return loop.Turn{}, err
		}
	}
	var others []loop.Alternative
	for _, o := range m.Others {
		others = append(others, loop.Alternative{Ref: o.Ref, Model: o.Info, Provider: o.Provider, Learnt: k.windows.of(o.Ref)})
	}
	t.Files, t.Joins, t.Hooks, t.Task, t.Search = optional(k.Files, a), optional(k.Joins, a), k.hooksOf(a), j.task, k.Search || j.prompt.Search
	t.Provider, t.Others, t.Schema, t.System, t.Tools, t.Ending = m.Provider, others, schema, system, box, p.ending(j, box)
	t.Heard = func(ctx context.Context) loop.Heard { return p.hear(ctx, a, j) }
	t.Facts = func(ctx context.Context) string { return k.facts(ctx, p.id) }
	t.Learnt = k.windows.of(m.Ref)
	return t, nil
}

// zero is agent 0, which is the same for as long as there is a workspace.
func (k *Kernel) zero(ctx context.Context) (id.Agent, error) {
	if known := k.root.Load(); known != nil {
		return *known, nil
	}
	root, err := k.Store.Zero(ctx)
	if err == nil {
		k.root.Store(&root.ID)
	}
	return root.ID, err
}

// acting holds the barrier.
func (p *agentProcess) acting(ctx context.Context) (func(), error) {
	select {
	case p.barrier <- struct{}{}:
		return func() { <-p.barrier }, nil
	case <-ctx.Done():
		return nil, llm.Ended(ctx)
	}
}

// emit publishes, and remembers what the agent is doing.
func (p *agentProcess) emit(e loop.Event) {
	p.kernel.Events.Publish(e)
	switch e.Type {
	case loop.Recorded, loop.CallOutput, loop.Note:
	default:
		p.becomes(func(d *doing) { d.take(e) })
	}
}

// begin brings the conversation up to date, closes what was left open, and writes
// what the user says: in one transaction. told is the effort that the agent has. Hooks may
// object to what is said; then only they stand in the history.
func (p *agentProcess) begin(ctx context.Context, a agent.Agent, claim agent.Claim, j *job, told llm.Effort, hooks loop.Hooks) error {
	if err := p.recall(ctx, a); err != nil {
		return err
	}
	drafts, err := p.mend(ctx)
	if err != nil {
		return err
	}
	opening := append(p.opens(ctx, hooks, j), p.starts(ctx, hooks, j)...)
	said, err := p.submits(ctx, hooks, j)
	if err != nil {
		if told := append(append(drafts, opening...), said...); len(told) > 0 && ctx.Err() == nil {
			if failed := p.append(ctx, claim, told...); failed != nil {
				return failed
			}
		}
		return err
	}
	if !j.prompt.Fresh {
		drafts, opening = append(drafts, opening...), nil
	}
	if j.prompt.Again {
		notice, err := p.cutToo(ctx)
		if err != nil {
			return err
		}
		drafts = append(drafts, notice...)
	}
	mended := len(drafts) // behind it is what the person does
	if b := j.prompt.Budget; b != nil {
		drafts = append(drafts, history.Draft{Kind: history.Command, Meta: history.Meta{Command: "budget", Budget: b}})
	}
	if m := j.prompt.Model; m != (llm.Ref{}) && m != (llm.Ref{Vendor: a.Provider, Name: a.Model}) {
		drafts = append(drafts, registry.ModelEntry(m.Vendor, m.Name)) // it is the agent's from now on
	}
	if e := j.prompt.Effort; e != "" && e != told {
		drafts = append(drafts, registry.EffortEntry(e))
	}
	if j.prompt.Fresh {
		drafts = append(append(drafts, history.NewClear()), opening...)
	}
	if j.only == nil && len(j.letters) == 0 {
		notice, err := p.unreadNotice(ctx)
		if err != nil {
			return err
		}
		drafts = append(drafts, notice...)
	}
	if j.prompt.Text != "" {
		words, err := history.Say(history.User, j.prompt.Text)
		if err != nil {
			return err
		}
		words.Parts = append(words.Parts, j.prompt.Files...)
		words.Parts = append(p.here(j), words.Parts...)
		drafts = append(drafts, words)
	}
	persons := len(drafts)
	drafts = append(drafts, said...)
	if len(j.letters) > 0 {
		if len(drafts) > 0 {
			if err := p.append(ctx, claim, drafts...); err != nil {
				return err
			}
		}
		return p.announce(ctx, claim, j.letters)
	}
	if len(drafts) == 0 {
		return nil
	}
	for i := range drafts[mended:persons] {
		if d := &drafts[mended+i]; d.Meta.Hook == nil {
			d.Meta.Actor = j.by
		}
	}
	if ctx.Err() != nil {
		return llm.Ended(ctx)
	}
	// Whoever stops it from here on finds that it was said.
	writing, cancel := loop.ExtendContext(ctx)
	defer cancel()
	return p.append(writing, claim, drafts...)
}

// mend drafts the ends of what a crash left open.
func (p *agentProcess) mend(ctx context.Context) ([]history.Draft, error) {
	var drafts []history.Draft
	shown, ok, err := p.kernel.Store.Reply(ctx, p.id)
	if err != nil {
		return nil, err
	}
	if ok && shown.Text != "" {
		drafts = append(drafts, history.Draft{Kind: history.Interrupted, Meta: history.Meta{Reason: "the process ended"},
			Parts: []history.Part{{Type: history.Text, Text: shown.Text}}})
	}
	open := p.talk.Unanswered()
	waits, err := p.kernel.asked(ctx, p.id, open)
	return append(drafts, loop.Unknown(open, waits)...), err
}

// run makes attempts until one ends without a panic, or there were too many.
func (p *agentProcess) run(ctx context.Context, a agent.Agent, claim agent.Claim, t loop.Turn, j *job) (loop.Outcome, error) {
	for {
		outcome, broken, err := p.attempt(ctx, t, j)
		if broken == nil {
			return outcome, err
		}
		what := text.Line(fmt.Sprint(broken), 400)
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		err = p.pickUp(writing, claim, "the turn broke: "+what)
		cancel()
		if err != nil {
			return outcome, err
		}
		if !p.restarts.allow(time.Now()) {
			return outcome, fault.New(fault.Failed, "agent %s broke %d times within %s: %s", a.Label(), maxRestarts+1, restartWindow, what).
				WithHint("this is a fault of ramet or of a tool; the history is whole")
		}
	}
}

// pickUp reads the history anew, as after a crash, and closes what is open in it.
func (p *agentProcess) pickUp(ctx context.Context, claim agent.Claim, why string) error {
	if err := p.reread(ctx); err != nil {
		return err
	}
	drafts, err := p.mend(ctx)
	if err != nil {
		return err
	}
	note, err := history.Say(history.Note, why)
	if err != nil {
		return err
	}
	return p.append(ctx, claim, append(drafts, note)...)
}

func (p *agentProcess) attempt(ctx context.Context, t loop.Turn, j *job) (outcome loop.Outcome, broken any, err error) {
	defer func() {
		if broken = recover(); broken != nil {
			p.kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: fmt.Sprintf("the turn broke: %v", broken), Err: stack(debug.Stack())})
		}
	}()
	if j.only != nil {
		return loop.Outcome{}, nil, j.only(ctx, t, p.talk)
	}
	if j.foreign != nil {
		outcome, err = j.foreign(ctx, t, p.talk)
		return outcome, nil, err
	}
	outcome, err = loop.Run(ctx, t, p.talk)
	return outcome, nil, err
}

// takeBack gives an agent the model again that it had, when the one that it was told with this prompt turned out to
// be none: its vendor, or the program that drives it, has no such model. Else every later prompt would
// fail with it.
func (p *agentProcess) takeBack(ctx context.Context, was agent.Agent, claim agent.Claim, j *job, why error) {
	told := j.prompt.Model
	had := llm.Ref{Vendor: was.Provider, Name: was.Model}
	if told == (llm.Ref{}) || told == had || !fault.Is(why, fault.ProviderNotFound) {
		return
	}
	if had.Vendor == "" || had.Name == "" {
		m, err := p.kernel.Model(was, llm.Ref{})
		if err != nil || m.Ref == told {
			return
		}
		had = m.Ref
	}
	writing, cancel := loop.ExtendContext(ctx)
	defer cancel()
	if err := p.append(writing, claim, registry.ModelEntry(had.Vendor, had.Name)); err != nil && !lost(err) {
		p.kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: "the agent keeps a model that there is not: " + err.Error()})
	}
}

// tools finds the tools of an agent. Servers that are asked for theirs for the first time may take
// long: a caller that stops the turn does not wait for them, and what they say is there the next time.
func (p *agentProcess) tools(ctx context.Context, a agent.Agent) (tool.Box, error) {
	type found struct {
		box tool.Box
		err error
	}
	made := make(chan found, 1)
	p.kernel.work.Go(func() {
		box, err := p.kernel.Tools(a)
		made <- found{box, err}
	})
	select {
	case f := <-made:
		return f.box, f.err
	case <-ctx.Done():
		return nil, llm.Ended(ctx)
	}
}

// note tells people something of an agent; empty: nothing.
func (k *Kernel) note(a id.Agent, what string) {
	if what != "" {
		k.Events.Publish(loop.Event{Type: loop.Note, Agent: a, Text: what})
	}
}

// prepareForeign lets another program carry out a job.
func (p *agentProcess) prepareForeign(a agent.Agent, j *job, m Model) error {
	k := p.kernel
	if j.only != nil {
		return fault.New(fault.Conflict, "%s keeps its context itself: there is nothing to compact here", m.Ref.Name).
			WithHint("fork it, or begin behind a clear")
	}
	if len(j.prompt.Schema) > 0 {
		return fault.New(fault.Conflict, "no schema can be asked of %s", m.Ref.Name).WithHint("ask one of ramet's own agents")
	}
	j.foreign = func(ctx context.Context, t loop.Turn, c *loop.Conversation) (loop.Outcome, error) {
		return m.Foreign.Run(ctx, a, t, c)
	}
	_, note, _ := k.System(a, nil) // if it cannot be read there is no note
	k.note(p.id, note)
	return nil
}

// Foreign is another program that drives agents (package driver).
type Foreign interface {
	// Run carries out one turn as loop.Run does; of the turn it uses the journal, the guard,
	// the budget, the files, the barrier and the events.
	Run(ctx context.Context, a agent.Agent, t loop.Turn, c *loop.Conversation) (loop.Outcome, error)
}
