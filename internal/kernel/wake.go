package kernel

import (
	"context"
	"fmt"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/turn/loop"
)

// rouse lets a letter that was just sent begin a turn of its receiver, where nothing is
// under way there; else it is looked for when that turn is over. family is that of the
// sender's turn; nil: a person's letter.
func (k *Kernel) rouse(ctx context.Context, l mail.Letter, family *counter) (mail.Fate, string) {
	to, err := k.Store.Agent(ctx, l.To)
	if err != nil {
		k.trouble(ctx, "find the agent that mail wakes", err)
		return "", ""
	}
	why := k.sleeps(ctx, l, to)
	if its, busy := k.busy(to.ID); busy {
		if family == nil {
			family = its
		}
		if why == "" {
			k.call(to.ID, k.callOf(l, family))
		}
		return mail.Meets, ""
	}
	lease, holds, err := agent.FindHolder(ctx, k.Store, to.ID, k.Gone)
	switch {
	case err != nil:
		k.trouble(ctx, "look who holds a receiver of mail", err)
		return "", ""
	case holds && lease.Owner != k.Owner:
		return mail.Meets, "" // that kernel hears of it
	case why == "" && !family.wakes(to.ID, k.MostWakes):
		why = fmt.Sprintf("mail woke it %d times since a person last asked for something (max_wakes)", k.MostWakes)
	}
	if why != "" {
		return mail.Waits, why
	}
	k.call(to.ID, k.callOf(l, family))
	return mail.Wakes, ""
}

// callOf is the job that a letter leads to. Who wrote it gets the last words.
func (k *Kernel) callOf(l mail.Letter, family *counter) *job {
	return &job{ctx: k.ctx, woken: true, task: l.From.Keeps(), reply: l.From, family: family}
}

// sleeps returns the reason why a message begins no turn of an agent; empty if it begins one.
func (k *Kernel) sleeps(ctx context.Context, l mail.Letter, to agent.Agent) string {
	switch {
	case k.Wake == WakeNever:
		return "mail wakes no agent here (wake = never)"
	case k.Sleeps != nil && k.Sleeps(to):
		return "it is the agent of a run"
	case l.From == "":
		return ""
	case l.From == id.Kernel || l.From == to.ID:
		return "it begins no turn by itself"
	case k.Wake == WakeAll:
		return ""
	}
	for up := to.Parent; up != ""; {
		if up == l.From {
			return ""
		}
		a, err := k.Store.Agent(ctx, up)
		if err != nil {
			return "its family could not be read: " + err.Error()
		}
		up = a.Parent
	}
	return "only the user and its ancestors wake it (wake = family)"
}

// call puts a job that was woken into an inbox, unless one waits there. It never waits: who
// sends a letter may be in the middle of a turn.
func (k *Kernel) call(a id.Agent, j *job) {
	p, err := k.process(a)
	if err != nil {
		return // the kernel ends
	}
	defer k.leave(p)
	k.mu.Lock()
	waits := p.called
	p.called, p.awaited = true, p.awaited || !j.looks
	if j.reported {
		p.asked = report{true, p.asked.task || j.task}
	}
	k.mu.Unlock()
	if waits {
		return
	}
	if j.family == nil {
		j.family = &counter{}
	}
	k.count(p, j) // before the sender's own job can be over
	k.work.Go(func() {
		if err := k.submit(a, j); err != nil {
			k.mu.Lock()
			p.called, p.awaited = false, false
			k.mu.Unlock()
		}
	})
}

// heard forgets of the job that looks for mail that it finds some, if everything was read: then
// nothing follows what the agent does now.
func (p *agentProcess) heard(ctx context.Context, j *job) {
	k := p.kernel
	k.mu.Lock()
	before := p.called && p.awaited
	p.awaited = false // a letter that comes from here on says so again
	reported := j.reported || p.asked.came
	k.mu.Unlock()
	if !before {
		return
	}
	letters, err := p.callers(ctx, &job{reported: reported})
	if err != nil || len(letters) > 0 {
		k.mu.Lock()
		p.awaited = p.called
		k.mu.Unlock()
	}
}

// busy reports whether an agent works here, or is about to, and returns the counter of its turn.
func (k *Kernel) busy(a id.Agent) (*counter, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.live[a]
	if p == nil || p.pending == 0 {
		return nil, false
	}
	return p.family, true
}

// callers are the unread letters for which a job that was woken begins a turn; none: they
// were read meanwhile, or a turn was begun for them before and left them unread: a bell may
// come late, and a letter wakes once.
func (p *agentProcess) callers(ctx context.Context, j *job) ([]mail.Letter, error) {
	a, err := p.kernel.Store.Agent(ctx, p.id)
	if err != nil {
		return nil, err
	}
	unread, err := p.kernel.Store.Letters(ctx, p.id, mail.Filter{Unread: true})
	if err != nil {
		return nil, err
	}
	p.kernel.mu.Lock()
	told := p.kernel.announced[p.id]
	p.kernel.mu.Unlock()
	var out []mail.Letter
	fresh := false
	for _, l := range unread {
		if j.reported || p.kernel.sleeps(ctx, l, a) == "" {
			out, fresh = append(out, l), fresh || l.Number > told
		}
	}
	if !fresh {
		return nil, nil
	}
	if j.reply == "" && !j.task { // nobody said whose letter it is
		for _, l := range out {
			if l.From.Keeps() && !j.reported {
				j.task, j.reply = true, l.From
			}
		}
	}
	return out, nil
}

// woken reports whether a woken job begins a turn.
func (p *agentProcess) woken(j *job) bool {
	k := p.kernel
	k.mu.Lock()
	p.called, p.awaited = false, false
	if p.asked.came {
		j.reported, j.task = true, j.task || p.asked.task
	}
	p.asked = report{}
	k.mu.Unlock()
	letters, err := p.callers(k.ctx, j)
	switch {
	case err != nil:
		k.trouble(k.ctx, "look for mail of "+p.id.Short(), err)
		return false
	case len(letters) == 0:
		return false
	case !j.family.wake(p.id, k.MostWakes):
		k.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: fmt.Sprintf("mail is waiting: mail woke this agent %d times already (max_wakes)", k.MostWakes)})
		return false
	}
	j.letters = letters
	return true
}

// announce begins a woken turn: a letter of the user is quoted, with the user's authority,
// and read thereby; of others it is said that they wait.
func (p *agentProcess) announce(ctx context.Context, claim agent.Claim, letters []mail.Letter) (err error) {
	defer func() {
		if err != nil {
			return // nobody was told: it may wake again
		}
		p.kernel.mu.Lock()
		defer p.kernel.mu.Unlock()
		for _, l := range letters {
			p.kernel.announced[p.id] = max(p.kernel.announced[p.id], l.Number)
		}
	}()
	var senders []id.Agent
	for _, l := range letters {
		if l.From != "" {
			senders = append(senders, l.From)
			continue
		}
		_, _, err := p.kernel.Store.Read(ctx, registry.Read{Owner: p.id, Number: l.Number, Claim: claim,
			Entries: func(l mail.Letter) []history.Draft {
				return []history.Draft{loop.Notice(fmt.Sprintf("Mail from the user, %s. It is the user's word, as if they had said it here:\n\n%s",
					l.CreatedAt.UTC().Format("2006-01-02T15:04:05Z07:00"), l.Body))}
			}})
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	if err := p.absorb(ctx); err != nil || len(senders) == 0 {
		return err
	}
	return p.append(ctx, claim, loop.Notice(p.waiting(ctx, senders)))
}

// waiting tells of letters that wait, and of whom they are.
func (p *agentProcess) waiting(ctx context.Context, senders []id.Agent) string {
	if len(senders) == 1 {
		return "Mail from " + p.kernel.named(ctx, senders[0]) + " is waiting" + readIt
	}
	return fmt.Sprintf("%d mail messages are waiting, from %s", len(senders), p.kernel.listed(ctx, senders)) + readIt
}

// readIt ends the notice that letters wait.
const readIt = ": read_mail."

// named is an agent in a sentence.
func (k *Kernel) named(ctx context.Context, who id.Agent) string {
	switch who {
	case "":
		return "the user"
	case id.Kernel:
		return "ramet"
	}
	a, err := k.Store.Agent(ctx, who)
	if err != nil || a.Label() == a.ID.Short() {
		return who.Short()
	}
	return a.Label() + " (" + who.Short() + ")"
}

// listed names some, each once.
func (k *Kernel) listed(ctx context.Context, all []id.Agent) string {
	const most = 12
	seen := map[id.Agent]bool{}
	var names []string
	for _, a := range all {
		if !seen[a] && len(seen) < most {
			names = append(names, k.named(ctx, a))
		}
		seen[a] = true
	}
	if more := len(seen) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// absorb takes what was written beside the conversation, and tells of it.
func (p *agentProcess) absorb(ctx context.Context) error {
	entries, err := since(ctx, p.kernel.Store, p.id, p.talk.Last())
	if err != nil {
		return err
	}
	return p.addEntries(ctx, entries)
}
