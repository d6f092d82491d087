package session

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
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
	text, with, err := w.ws.Prompts().attach(ctx, t.Agent, t.Prompt.Text, true)
	if err != nil {
		return Ran{}, err
	}
	t.Prompt.Text, t.Prompt.Files = text, append(t.Prompt.Files, with...)
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
	if err := w.ws.mayPrompt(ctx, a.ID); err != nil {
		return 0, err
	}
	p.Environment = cmp.Or(p.Environment, clientOf(ctx))
	if err := agent.NeedLiving(a); err != nil {
		return 0, err
	}
	if err := w.ws.Prompts().Word(ctx, a, &p); err != nil {
		return 0, err
	}
	text, with, err := w.ws.Prompts().attach(ctx, a.ID, p.Text, false)
	if err != nil {
		return 0, err
	}
	p.Text, p.Files = text, slices.Concat(p.Files, with)
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

// Launched is a turn that continues without its caller.
type Launched struct {
	done chan struct{}
	ran  Ran
	err  error
}

// Done returns a channel that is closed when the turn is over.
func (l *Launched) Done() <-chan struct{} { return l.done }

// Ran returns the result. It may only be called after Done.
func (l *Launched) Ran() (Ran, error) { return l.ran, l.err }

// Launch begins a turn as Run does, and returns when it has begun, or waits behind another
// one of its agent: why it could not begin, is said. It continues until it is over or life
// ends. A kernel must run here.
func (w Agents) Launch(ctx, life context.Context, t Turn) (*Launched, error) {
	// Checked with ctx, which knows who asks; the turn itself has no caller.
	if err := w.ws.mayPrompt(ctx, t.Agent); err != nil {
		return nil, err
	}
	if t.Prompt.Task {
		if err := w.Room(ctx); err != nil {
			return nil, err
		}
	}
	began := make(chan struct{})
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(life, cancel)
	heard, enough := w.ws.Kernel.Events.Subscribe(work)
	go func() {
		for e := range heard {
			if e.Type == loop.TurnStarted && e.Agent == t.Agent {
				close(began)
				return
			}
		}
	}()
	out := &Launched{done: make(chan struct{})}
	go func() {
		defer close(out.done)
		defer cancel()
		defer stop()
		defer enough()
		out.ran, out.err = w.ws.Turns().Run(work, t)
	}()
	patience := time.NewTimer(beginTime)
	defer patience.Stop()
	select {
	case <-began:
	case <-patience.C: // it waits for the turn before
	case <-ctx.Done():
	case <-out.done:
		if !out.ran.Began {
			return nil, out.err
		}
	}
	return out, nil
}

// Room refuses an agent that has as many at work below it as models may have (max_agents).
// Persons may have as many as they like.
func (w Agents) Room(ctx context.Context) error {
	own, most := w.ws.asks(ctx), w.ws.Config.Number("max_agents")
	if own == "" || most <= 0 {
		return nil
	}
	all, err := w.Everybody(ctx)
	if err != nil {
		return err
	}
	below, busy := map[id.Agent]bool{own: true}, 0
	for _, a := range all.All { // parents come before children
		if below[a.Parent] {
			below[a.ID] = true
			if all.States[a.ID].Busy() {
				busy++
			}
		}
	}
	if busy >= most {
		return fault.New(fault.Conflict, "%d agents work or wait already below %s", busy, own.Short()).
			WithHint("none was forked; do it yourself, or wait for some to end")
	}
	return nil
}

// Continued is a turn that continues after an interruption.
type Continued struct {
	Agent agent.Agent
	turn  *kernel.Turn
	err   error // it did not begin
	// Behind is the newest letter of its parent, where that one does not continue itself; what comes
	// after it may stay unread.
	Behind int64
	// Alone reports that its parent does not continue.
	Alone bool
}

// Wait returns when the turn and the tasks that came from it are over.
func (c Continued) Wait(ctx context.Context) (loop.Outcome, error) {
	if c.err != nil {
		return loop.Outcome{}, c.err
	}
	o, err := c.turn.Wait()
	return o, errors.Join(err, c.turn.Tasks(ctx))
}

// ContinueAll continues everything that was interrupted, in the kernel of this process;
// those below first, so that who waits for them finds them at work. Agents of runs are left
// to their runs. terms may be nil.
func (w Turns) ContinueAll(ctx context.Context, terms *kernel.Terms) ([]Continued, error) {
	if err := w.ws.person(ctx, "continue"); err != nil {
		return nil, err
	}
	all, err := w.ws.Agents().Everybody(ctx)
	if err != nil {
		return nil, err
	}
	runs := map[id.Agent]bool{}
	var cut []agent.Agent
	for _, a := range all.All { // parents come before children
		runs[a.ID] = strings.HasPrefix(a.Name, RunName) || runs[a.Parent]
		if a.Status == agent.Running && !runs[a.ID] && all.States[a.ID].Resumes() {
			cut = append(cut, a)
		}
	}
	slices.SortStableFunc(cut, func(a, b agent.Agent) int { return cmp.Compare(b.Depth, a.Depth) })
	out := make([]Continued, len(cut))
	for i, a := range cut {
		if out[i].Alone = !a.IsZero() && !slices.ContainsFunc(cut, func(b agent.Agent) bool { return b.ID == a.Parent }); out[i].Alone {
			if out[i].Behind, err = w.ws.Mail().Newest(ctx, a.Parent); err != nil {
				return nil, err
			}
		}
	}
	for i, a := range cut {
		out[i].Agent = a
		out[i].turn, out[i].err = w.ws.Kernel.Exec(ctx, a.ID, kernel.Prompt{Again: true, Terms: terms})
	}
	return out, nil
}

// Newest returns the number of the newest letter in a mailbox that was not read; 0: there is none. What comes
// later has a larger one, so that Unread tells it from what waits already; those that were read, which
// may be many, tell nothing.
func (w Mail) Newest(ctx context.Context, owner id.Agent) (int64, error) {
	letters, err := w.ws.Store.Letters(ctx, owner, mail.Filter{Unread: true})
	var newest int64
	for _, l := range letters {
		newest = max(newest, l.Number)
	}
	return newest, err
}

// Unread returns the letters of agents, and notices about them, that came behind a number and
// were not read.
func (w Mail) Unread(ctx context.Context, owner id.Agent, behind int64) ([]mail.Letter, error) {
	letters, err := w.ws.Store.Letters(ctx, owner, mail.Filter{Unread: true})
	return slices.DeleteFunc(letters, func(l mail.Letter) bool { return l.Number <= behind || l.From == "" }), err
}

// Answerer holds the questions of a kernel's agents (loop.Asking).
type Answerer interface {
	// Answer answers a question. NOT_FOUND: there is none of that id. CONFLICT: it was answered.
	Answer(ask string, v permit.Verdict) error
	// Question returns a question that waits.
	Question(ask string) (permit.Question, bool)
}

// questions puts the questions of turns to an asker too; the first answer, from wherever, counts. It is used by one
// goroutine.
type questions struct {
	workspace *Workspace
	asker     permit.Asker
	open      map[string]context.CancelFunc // by the id of the question
}

// see puts a question, and takes it away when it is answered.
func (q *questions) see(ctx context.Context, e loop.Event) {
	switch {
	case e.Type == loop.Asking && e.Ask != "":
		asking, over := context.WithCancel(ctx)
		q.open[e.Ask] = over
		go q.put(asking, e)
	case e.Type == loop.Answered:
		if over, ok := q.open[e.Ask]; ok {
			over()
			delete(q.open, e.Ask)
		}
	}
}

// put asks, and tells the kernel what was answered; another client may have been faster.
func (q *questions) put(asking context.Context, e loop.Event) {
	whole, waits := q.workspace.Answers.Question(e.Ask)
	if !waits {
		return // it is over
	}
	v, err := q.asker.Ask(asking, whole)
	if err != nil {
		return // there was no answer here
	}
	err = q.workspace.Answers.Answer(e.Ask, v)
	if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
		q.workspace.Kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: e.Agent, Text: "the answer did not arrive: " + err.Error()})
	}
}

func (q *questions) close() {
	for _, over := range q.open {
		over()
	}
}

// Wait holds the conditions to wait for: that agents have nothing under way, or a letter.
type Wait struct {
	Agents []agent.Agent // none: for a letter alone
	All    bool          // until none of them is busy; else until one is not
	Mail   *agent.Agent  // a letter that lies unread in this mailbox ends it too; nil: none does
}

// Waited is the result of a wait.
type Waited struct {
	Over    bool          // what was waited for has come; else the time was over
	Agents  []agent.Agent // as they are now
	Now     state.Now
	Letters []mail.Letter // unread in the mailbox
}

// Wait returns when what is waited for has come, or after so long a time. It changes
// nothing, and marks no letter. An agent that was killed is not busy.
func (w Turns) Wait(ctx context.Context, x Wait, most time.Duration) (Waited, error) {
	if x.Mail != nil {
		if err := w.ws.may(ctx, "wait for the mail of", *x.Mail); err != nil {
			return Waited{}, err
		}
	}
	until := time.Now().Add(most).Round(0) // the time in which the machine sleeps counts
	late := time.NewTimer(most)
	defer late.Stop()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		out, err := w.waited(ctx, x)
		if err != nil || out.Over || time.Now().After(until) {
			return out, err
		}
		select {
		case <-tick.C:
		case <-late.C:
			until = time.Time{}
		case <-ctx.Done():
			return out, llm.Ended(ctx)
		}
	}
}

// waited looks once.
func (w Turns) waited(ctx context.Context, x Wait) (out Waited, err error) {
	ids := make([]id.Agent, len(x.Agents))
	for i, a := range x.Agents {
		row, err := w.ws.Store.Agent(ctx, a.ID)
		if err != nil {
			return out, err
		}
		ids[i], out.Agents = a.ID, append(out.Agents, row)
	}
	rest := 0
	if len(ids) > 0 {
		if out.Now, err = w.ws.Agents().States(ctx, true, ids...); err != nil {
			return out, err
		}
		for _, a := range out.Agents {
			if !out.Now.Of(a).Busy() {
				rest++
			}
		}
	}
	if x.Mail != nil {
		// After the agents: what they wrote before they ended is there by now.
		if out.Letters, err = w.ws.Store.Letters(ctx, x.Mail.ID, mail.Filter{Unread: true}); err != nil {
			return out, err
		}
	}
	switch {
	case x.All && len(ids) > 0:
		out.Over = rest == len(ids)
	default:
		out.Over = rest > 0 || len(out.Letters) > 0
	}
	return out, nil
}

// Stop ends the turn of an agent, wherever it runs, and returns when it is over: nothing is
// read from the model any more, no command runs, and the history says so. It is the one
// way for every face: a key, a button, HTTP. A prompt of that ticket that was not said yet is
// taken back. It reports whether there was something to stop.
//
// The kernel of another process is told by a ring: on its socket, or through the database where it is another host's.
// If that one does not stop in time, or nothing reaches it, the error says so.
func (w Turns) Stop(ctx context.Context, s kernel.Stop) (bool, error) {
	stopped := false
	if w.ws.Kernel != nil {
		var err error
		if stopped, err = w.ws.Kernel.Interrupt(ctx, s); err != nil {
			return stopped, err
		}
	}
	lease, holds, err := agent.FindHolder(ctx, w.ws.Store, s.Agent, w.ws.Peers.Gone)
	if err != nil || !holds || lease.Owner == w.ws.owner() {
		return stopped, err
	}
	stop := w.stopFar
	if w.ws.Peers.Near(lease.Owner) {
		stop = w.stopNear
	}
	there, err := stop(ctx, s.Agent, lease.Owner)
	return stopped || there, err
}

// stopNear rings for a kernel of this machine, which answers when the turn is over.
func (w Turns) stopNear(ctx context.Context, a id.Agent, holder string) (bool, error) {
	doing, err := w.ws.Peers.AskStates(ctx, holder)
	if err != nil || !doing[a].Busy() {
		return false, err
	}
	return true, w.ws.Peers.Notify(ctx, holder, registry.Ring{Agent: a, What: registry.RingStop})
}

// farTime limits the wait for a kernel of another host to stop: its tools have their
// ladder, and it may notice late.
const farTime = 10 * time.Second

// stopFar rings for the kernel of another host, and waits until it has let the agent go.
func (w Turns) stopFar(ctx context.Context, a id.Agent, holder string) (bool, error) {
	before, err := w.ws.Store.Agent(ctx, a)
	if err != nil || before.Lease.Owner != holder {
		return false, err
	}
	heard, err := w.ws.Store.Call(ctx, registry.Ring{Agent: a, What: registry.RingStop})
	if err != nil {
		return false, err
	}
	if !heard {
		return false, notReached(before, "nothing carries a word to another host from a file")
	}
	late := time.NewTimer(farTime)
	defer late.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := w.ws.Store.Agent(ctx, a)
		if err != nil {
			return false, err
		}
		if now.Lease.Owner != holder || now.Lease.Epoch != before.Lease.Epoch {
			return true, nil
		}
		select {
		case <-tick.C:
		case <-late.C:
			return false, notReached(before, "it was asked to stop, and did not within "+farTime.String())
		case <-ctx.Done():
			return false, llm.Ended(ctx)
		}
	}
}

func notReached(a agent.Agent, why string) error {
	return fault.New(fault.Leased, "agent %s is not stopped: it works in %s, another host; %s", a.Label(), a.Lease.Owner, why).
		WithHint("stop it there, or end it with `ramet kill %s`: then nothing of it is written any more", a.Label())
}
