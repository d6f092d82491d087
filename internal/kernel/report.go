package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/ledger"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// report tells whoever asked for a task how it ended; the facts that we know stand at its
// end. The agent's lease is still held.
func (p *agentProcess) report(ctx context.Context, a agent.Agent, j *job, o loop.Outcome, err error) {
	if !j.task || o.Ended || errors.Is(err, errKilled()) {
		return // it said so itself, or who killed it does
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err != nil && !o.Began {
		p.regret(ctx, err)
	}
	facts := p.facts(ctx, a, j, o, err)
	p.heard(ctx, j)
	// Whoever reads the letter finds an agent that has ended: merge asks.
	p.becomes(func(d *doing) { *d = doing{now: state.After(err), shown: d.shown} })
	told, failed := p.tell(ctx, a, j, o, err, facts)
	if failed != nil && !lost(failed) {
		p.kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: "the parent could not be notified: " + failed.Error()})
	}
	if failed == nil && told != "" {
		p.kernel.askedFor(ctx, told, p.id, j.family)
	}
}

// tell writes the letter: in the agent's own words, or where it has none, in ours.
func (p *agentProcess) tell(ctx context.Context, a agent.Agent, j *job, o loop.Outcome, err error, facts string) (id.Agent, error) {
	k := p.kernel
	switch {
	case fault.Is(err, fault.Cancelled) || fault.Is(err, fault.Interrupted):
		what := "was interrupted."
		if o.Text != "" {
			what += " Its last words were:\n" + o.Text
		}
		return k.tellOf(ctx, a, j.reply, ended(what, facts))
	case err != nil:
		return k.tellOf(ctx, a, j.reply, ended("failed: error["+string(fault.CodeOf(err))+"]: "+err.Error(), facts))
	case o.Text == "":
		return k.tellOf(ctx, a, j.reply, ended("is done, and has nothing to say.", facts))
	}
	return k.notify(ctx, a, j.reply, k.claim(p.id), ended(o.Text, facts), state.Well)
}

// ended is a letter with the facts at its end, whatever of it must be cut.
func ended(what, facts string) string {
	if facts == "" {
		return cut(what, 0)
	}
	return cut(what, len(facts)+2) + "\n\n" + facts
}

// tellOf sends a notice of the kernel about an agent, and says to whom.
func (k *Kernel) tellOf(ctx context.Context, a agent.Agent, reply id.Agent, what string) (id.Agent, error) {
	up, ok, err := k.addressee(ctx, a, reply)
	if err != nil || !ok {
		return "", err
	}
	_, err = k.send(ctx, registry.Send{From: id.Kernel, About: a.ID, To: up.ID, Body: cut("Agent "+a.Label()+" ("+string(a.ID)+") "+what, 0)}, nil)
	return up.ID, err
}

// owe notes that an agent waits for the report of a job.
func (k *Kernel) owe(j *job, to, by id.Agent, wakes bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.debts == nil {
		k.debts = debts{}
	}
	if k.debts[to] == nil {
		k.debts[to] = map[id.Agent]bool{}
	}
	k.debts[to][by] = wakes || k.debts[to][by]
	j.owed, j.debtor = to, by
}

// owing lists who still works for an agent.
func (k *Kernel) owing(to id.Agent) []id.Agent {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []id.Agent
	for by := range k.debts[to] {
		out = append(out, by)
	}
	slices.Sort(out)
	return out
}

// open lists who still works for an agent that would end its turn, and whose reports wake no agent.
// Those who report at this moment are waited for: their letters may have been read already.
func (k *Kernel) open(ctx context.Context, to id.Agent) []id.Agent {
	ctx, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	for {
		work, report := k.openNow(to)
		if !report {
			return work
		}
		select {
		case <-ctx.Done():
			return work
		case <-time.After(reportPause):
		}
	}
}

// reportPause is the interval for checking whether a report is finished.
const reportPause = 5 * time.Millisecond

// openNow lists who still works for an agent, and reports whether others are about to report.
func (k *Kernel) openNow(to id.Agent) (work []id.Agent, report bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for by, wakes := range k.debts[to] {
		p := k.live[by]
		switch {
		case wakes:
		case p == nil || p.reports(): // the death of one is reported before it owes nothing
			report = true
		default:
			work = append(work, by)
		}
	}
	slices.Sort(work)
	return work, report
}

// reports reports whether the agent's turn has ended, or its goroutine exits, and the report is about to be sent; the
// caller holds the mutex.
func (p *agentProcess) reports() bool {
	s := p.doing.seen()
	return p.exits || s.Word != "" && !s.Busy()
}

// then returns the action that the report of an agent's task triggers; empty if no tool forked it.
func (k *Kernel) then(ctx context.Context, a id.Agent) (history.Then, error) {
	task, err := registry.TaskOf(ctx, k.Store, a)
	return task.Then, err
}

// lookedAt limits the entries searched for children that were handed over: those of the last turns.
const lookedAt = 256

// wanted reports whether the report of a child wakes its parent.
func (k *Kernel) wanted(ctx context.Context, parent, child id.Agent) (bool, error) {
	then, err := k.then(ctx, child)
	if err != nil || then == history.ThenWake {
		return err == nil, err
	}
	for e, err := range k.Store.QueryRange(ctx, history.Range{Agent: parent}, history.Selection{Newest: lookedAt, Any: true}) {
		if err != nil {
			return false, err
		}
		if e.Kind != history.Command {
			continue
		}
		if m, err := e.Decode(); err != nil {
			return false, err
		} else if m.Command == history.ThenCommand && slices.Contains(m.Children, child) {
			return true, nil
		}
	}
	return false, nil
}

// HandOver implements process.Kernel: it lets the reports of those who still work for the agent wake it.
func (h verbs) HandOver(ctx context.Context) ([]id.Agent, error) {
	k, p := h.Kernel, h.p
	open := k.owing(p.id)
	if len(open) == 0 {
		return nil, nil
	}
	if _, err := k.Store.Append(ctx, p.id, h.claim, history.Draft{Kind: history.Command,
		Meta: history.Meta{Command: history.ThenCommand, Then: history.ThenWake, Children: open}}); err != nil {
		return nil, err
	}
	k.drafts.moved(p.id)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, by := range open {
		if _, still := k.debts[p.id][by]; still {
			k.debts[p.id][by] = true
		}
	}
	return open, nil
}

// askedFor begins a turn of a parent that does nothing and asked for the report that was
// just sent.
func (k *Kernel) askedFor(ctx context.Context, parent, child id.Agent, family *counter) {
	if k.Wake == WakeNever {
		return
	}
	asked, err := k.wanted(ctx, parent, child)
	if err != nil {
		k.trouble(ctx, "look whether a report wakes", err)
		return
	}
	if !asked {
		return
	}
	then, err := k.then(ctx, parent)
	if err != nil {
		k.trouble(ctx, "look whose task it is", err)
		return
	}
	k.call(parent, &job{ctx: k.ctx, woken: true, reported: true, task: then != "", family: family})
}

// nudge lets agents that wait look again: an agent ended.
func (k *Kernel) nudge() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for p := range k.waiters {
		p.ring()
	}
}

// forgive forgets what the dead owe, once it was told that they are.
func (k *Kernel) forgive(dead []id.Agent) {
	k.mu.Lock()
	for to, by := range k.debts {
		for _, a := range dead {
			delete(by, a)
		}
		if len(by) == 0 {
			delete(k.debts, to)
		}
	}
	k.mu.Unlock()
	k.nudge()
}

// ending returns a function that is called when the model of a turn has said its last word. It says once that
// others still work for it, and once that letters are unread which it could have read: who
// ends a turn over them loses them, mostly without knowing.
func (p *agentProcess) ending(j *job, box tool.Box) func(context.Context) (string, error) {
	waits := slices.ContainsFunc(box, func(t tool.Tool) bool { return tool.NameOf(t) == "wait" })
	if !waits || j.prompt.Leaves || j.only != nil {
		return nil
	}
	toldWork, toldMail := false, false
	return func(ctx context.Context) (string, error) {
		if ctx.Err() != nil {
			return "", llm.Ended(ctx)
		}
		if open := p.kernel.open(ctx, p.id); len(open) > 0 && !toldWork {
			toldWork, toldMail = true, true
			work := "still work"
			if len(open) == 1 {
				work = "still works"
			}
			return "Your turn is not over: " + p.kernel.listed(ctx, open) + " " + work + " for you, and no one would read the results. " +
				`wait for them, or kill what is not needed; wait with then: "wake" lets you end your turn now, and the reports wake you.`, nil
		}
		if toldMail {
			return "", nil
		}
		unread, err := p.kernel.Store.Letters(ctx, p.id, mail.Filter{Unread: true})
		if err != nil || len(unread) == 0 {
			return "", err
		}
		toldMail = true
		return fmt.Sprintf("Your turn is not over: %s unread, from %s. Read with read_mail, or end your turn if you do not need them.",
			text.Count(len(unread), "mail message"), p.kernel.listed(ctx, senders(unread))), nil
	}
}

// unreadNotice begins a turn while mail waits.
func (p *agentProcess) unreadNotice(ctx context.Context) ([]history.Draft, error) {
	unread, err := p.kernel.Store.Letters(ctx, p.id, mail.Filter{Unread: true})
	if err != nil || len(unread) == 0 {
		return nil, err
	}
	return []history.Draft{loop.Notice(p.waiting(ctx, senders(unread)))}, nil
}

// cutToo begins a turn that continues alone: the agents that worked for this one were interrupted too,
// and do not continue.
func (p *agentProcess) cutToo(ctx context.Context) ([]history.Draft, error) {
	k := p.kernel
	all, err := k.Store.Agents(ctx, agent.Filter{Brief: true})
	if err != nil {
		return nil, err
	}
	var children []id.Agent
	for _, a := range all {
		if a.Parent == p.id {
			children = append(children, a.ID)
		}
	}
	if len(children) == 0 {
		return nil, nil
	}
	now, err := k.Sources().Look(ctx, false, children...)
	if err != nil {
		return nil, err
	}
	var cut []id.Agent
	for _, a := range all {
		if _, busy := k.busy(a.ID); a.Parent != p.id || busy || now.Of(a).Word != state.Interrupted {
			continue
		}
		task, err := registry.TaskOf(ctx, k.Store, a.ID)
		if err != nil {
			return nil, err
		}
		if task.Then != "" {
			cut = append(cut, a.ID)
		}
	}
	if len(cut) == 0 {
		return nil, nil
	}
	return []history.Draft{loop.Notice("Interrupted too, and idle now: " + k.listed(ctx, cut) + ". Mail from you sets one to work again.")}, nil
}

func senders(letters []mail.Letter) []id.Agent {
	out := make([]id.Agent, len(letters))
	for i, l := range letters {
		if out[i] = l.From; l.From == id.Kernel {
			out[i] = l.About
		}
	}
	return out
}

// enter records a task in the ledger before it starts.
func (p *agentProcess) enter(ctx context.Context, a agent.Agent, j *job) error {
	if p.kernel.Book == nil || !j.task || j.entered {
		return nil
	}
	asked, _ := p.talk.Newest(llm.User)
	start := ledger.Start{ID: string(a.ID), Type: "agent", Group: a.Label(), Description: text.Line(asked.Words(), 200),
		Owner: p.kernel.BookOwner, Minutes: p.kernel.TaskTime.Minutes()}
	if up, err := p.kernel.Store.Agent(ctx, a.Parent); err == nil {
		start.Plan = up.Label()
	}
	_, err := p.kernel.Book.Spawn(ctx, start)
	if fault.Is(err, fault.Conflict) && (j.woken || j.prompt.Again) {
		j.unbooked, err = true, nil // there it stays interrupted: only a new agent resumes it
	}
	return err
}

// close records how a task ended. If that cannot be recorded, a notice says so: the history
// says it anyway.
func (p *agentProcess) close(ctx context.Context, j *job, err error) {
	if p.kernel.Book == nil || !j.task || j.unbooked {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	how, why := ledger.Failed, string(fault.CodeOf(err))
	switch {
	case err == nil:
		how, why = ledger.Completed, ""
	case fault.Is(err, fault.Cancelled) || fault.Is(err, fault.Interrupted) || fault.Is(err, fault.Fenced):
		how, why = ledger.Interrupted, err.Error()
	case fault.Is(err, fault.TimedOut):
		how, why = ledger.Timeout, err.Error()
	case errors.Is(err, errKilled()):
		why = "killed"
	}
	if _, err := p.kernel.Book.Move(ctx, string(p.id), how, why); err != nil {
		p.kernel.note(p.id, "its end is not in the ledger: "+err.Error())
	}
}

// interrupted records that a kernel died with an agent at work. Most were no tasks:
// the ledger does not know them.
func (k *Kernel) interrupted(ctx context.Context, a id.Agent) error {
	if k.Book == nil {
		return nil
	}
	_, err := k.Book.Move(ctx, string(a), ledger.Interrupted, "the process that ran it ended")
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.IllegalTransition) {
		return nil
	}
	return err
}
