package kernel

import (
	"context"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// over ends a job: it is told of, then its result is there.
func (p *agentProcess) over(j *job, o loop.Outcome, err error) {
	p.kernel.Events.Publish(loop.Event{Type: loop.TurnEnded, Agent: p.id, Turn: j.number, Outcome: &o, Err: err})
	j.finish(p.kernel, o, err)
}

func (j *job) finish(k *Kernel, o loop.Outcome, err error) {
	j.result = result{o, err}
	k.mu.Lock()
	k.settle(j)
	k.mu.Unlock()
	close(j.done)
	if j.within {
		j.family.done()
	}
	k.jobs.done()
	k.nudge()
}

// count makes a job one of those that are under way.
func (k *Kernel) count(p *agentProcess, j *job) {
	j.done, j.number = make(chan struct{}), k.turns.Add(1)
	if j.family == nil {
		j.family = &counter{attended: k.attended(j.by), of: p.id, terms: j.prompt.Terms}
	}
	if j.within = j.task || j.woken; j.within {
		j.family.add()
	}
	k.jobs.add()
	k.mu.Lock()
	defer k.mu.Unlock()
	p.pending++
	j.of = p
}

// settle takes a job out of those that are pending; the caller has the mutex.
func (k *Kernel) settle(j *job) {
	mourned := j.of != nil && j.of.mourned
	if j.of != nil {
		j.of.pending--
		j.of = nil
	}
	if !mourned && j.owed != "" {
		delete(k.debts[j.owed], j.debtor)
		if len(k.debts[j.owed]) == 0 {
			delete(k.debts, j.owed)
		}
	}
	j.owed = "" // of the mourned, until it is told
}

// counter counts what is under way. The zero counter counts nothing.
type counter struct {
	forking  sync.Mutex // held while children of the family are made
	attended bool       // a person sees what the family does
	of       id.Agent   // whose prompt it is, where it has terms
	terms    *Terms     // nil: none

	mu   sync.Mutex
	n    int
	woke map[id.Agent]int // how often letters began a turn of each
	// before returns the count of the process whose work continues here; nil if there is none.
	before func(id.Agent) int
	none   chan struct{} // closed when n falls to 0; made when it leaves 0
}

func (t *counter) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		t.none = make(chan struct{})
	}
	t.n++
}

// now returns the count.
func (t *counter) now() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

func (t *counter) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 {
		close(t.none)
	}
}

// wait returns when the count is 0 at some moment.
func (t *counter) wait(ctx context.Context) error {
	t.mu.Lock()
	n, none := t.n, t.none
	t.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return llm.Ended(ctx)
	}
}

// wakes reports whether mail may begin another turn of an agent.
func (t *counter) wakes(a id.Agent, most int) bool {
	if t == nil || most == 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.woken(a) < most
}

// woken returns the number of turns of an agent that mail began; the caller holds the mutex.
func (t *counter) woken(a id.Agent) int {
	if t.woke == nil {
		t.woke = map[id.Agent]int{}
	}
	if _, known := t.woke[a]; !known && t.before != nil {
		t.woke[a] = t.before(a)
	}
	return t.woke[a]
}

// wake counts a turn of an agent that a letter begins, if it may.
func (t *counter) wake(a id.Agent, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.woken(a); most > 0 && n >= most {
		return false
	}
	t.woke[a]++
	return true
}

// What a person says to an agent that works joins the turn which is under way: it arrives behind
// the results of the running step, as the user's words. The caller that asked for it gets the outcome of
// that turn. What is more than words (another model, a budget, a new context), and what comes
// from programs, waits for the end of the turn.

// joins reports whether a job can join the turn of another.
func (j *job) joins(turn *job) bool {
	p := j.prompt
	person := j.by != nil && (j.by.Face == history.Terminal || j.by.Face == history.Page)
	same := p.Model == (llm.Ref{}) || p.Model == turn.prompt.Model
	return person && same && p.Text != "" && len(p.Files) == 0 && p.Effort == "" && !p.Fresh && p.Budget == nil && p.Last == nil &&
		!j.task && j.only == nil && turn.only == nil
}

// hear takes what was said meanwhile out of the inbox, in its order: as far as it can join the turn.
func (p *agentProcess) hear(ctx context.Context, a agent.Agent, turn *job) loop.Heard {
	var drafts []history.Draft
	var joined []*job
	for len(p.ahead) == 0 {
		j := p.received()
		if j == nil {
			break
		}
		said, err := history.Say(history.User, j.prompt.Text)
		if err != nil || !j.joins(turn) {
			p.ahead = append(p.ahead, j)
			break
		}
		if !p.kernel.take(j, nothing) {
			continue // taken back
		}
		added, err := p.submits(ctx, p.kernel.hooksOf(a), j)
		if err != nil {
			drafts = append(drafts, added...)
			p.over(j, loop.Outcome{}, err)
			continue
		}
		said.Meta.Actor = j.by
		drafts, joined = append(append(drafts, said), added...), append(joined, j)
	}
	return loop.Heard{Drafts: drafts, Written: func(err error) {
		if err != nil { // they were not said
			for _, j := range joined {
				p.over(j, loop.Outcome{}, err)
			}
			return
		}
		p.joined = append(p.joined, joined...)
	}}
}

// part ends the jobs that joined a turn, as it ended.
func (p *agentProcess) part(o loop.Outcome, err error) {
	o.Began = true
	for _, j := range p.joined {
		why := err
		if j.ctx.Err() != nil && err != nil {
			why = stopped(j.ctx, err)
		}
		p.over(j, o, why)
	}
	p.joined = nil
}
