package kernel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	acts "ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// Send puts a letter into a mailbox, under the sender's lease where we hold it,
// and wakes the receiver, whoever runs it.
func (k *Kernel) Send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	s.Most = k.MostUnread
	if !s.From.Keeps() {
		return k.send(ctx, s, nil)
	}
	var l mail.Letter
	err := k.insert(ctx, s.From, func(c agent.Claim) (err error) {
		s.Claim = c
		l, err = k.send(ctx, s, nil)
		return err
	})
	return l, err
}

// send is Send with the right to write. family is that of the turn that sends it.
func (k *Kernel) send(ctx context.Context, s registry.Send, family *counter) (mail.Letter, error) {
	l, err := k.Store.Send(ctx, s)
	if err != nil {
		return l, err
	}
	k.drafts.moved(s.From)
	l.Fate, l.Why = k.rouse(ctx, l, family)
	ring := registry.Ring{Agent: s.To, What: registry.RingMail}
	k.Ring(ctx, ring)
	k.Tell(ctx, ring)
	return l, nil
}

// Ring takes news of an agent: that it has mail, was forked by another host, is to stop, or is dead. An empty
// agent means that anything may have happened.
func (k *Kernel) Ring(ctx context.Context, r registry.Ring) {
	switch {
	case r.Agent == "":
		k.look(ctx)
		k.wake("")
	case r.What == registry.RingForked:
		k.drafts.moved(r.Agent)
	case r.What == registry.RingStop:
		k.Interrupt(ctx, Stop{Agent: r.Agent}) // whoever asked sees it at the lease
	case r.What == registry.RingKilled:
		k.lose(ctx, r.Agent)
		k.wake("") // a letter of the dead will never come
	default:
		k.Events.Publish(loop.Event{Type: loop.Mailed, Agent: r.Agent})
		k.wake(r.Agent)
		if family, busy := k.busy(r.Agent); busy { // it looks for mail again when its turn is over
			k.call(r.Agent, &job{ctx: k.ctx, woken: true, looks: true, family: family})
		}
	}
}

// wake lets an agent that waits for mail look again; all of them for "".
func (k *Kernel) wake(a id.Agent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a != "" {
		if p := k.live[a]; p != nil {
			p.ring()
		}
		return
	}
	for _, p := range k.live {
		p.ring()
	}
}

// regret writes into a history why the agent's task could not begin: nothing else there
// tells of it.
func (p *agentProcess) regret(ctx context.Context, why error) {
	note, err := history.Say(history.Note, "the task did not begin: "+text.Line(why.Error(), 400))
	if err != nil {
		return
	}
	note.Meta.Reason = state.Why(why)
	if _, err := p.kernel.Store.Append(ctx, p.id, p.kernel.claim(p.id), note); err != nil && !lost(err) {
		p.kernel.trouble(ctx, "record why "+p.id.Short()+" did not begin", err)
	}
}

// cut makes a text fit into a letter in which so many bytes follow it.
func cut(body string, follow int) string {
	const mark = "\n[cut]"
	body = strings.ToValidUTF8(strings.ReplaceAll(body, "\x00", ""), "\uFFFD")
	if len(body) <= mail.MaxBody-follow {
		return body
	}
	end := mail.MaxBody - follow - len(mark)
	for end > 0 && !utf8.RuneStart(body[end]) {
		end--
	}
	return body[:end] + mark
}

// notify sends a letter of an agent, and says to whom. Agent 0 has nobody to write to. why
// is how its task ended; empty: it reports nothing.
func (k *Kernel) notify(ctx context.Context, a agent.Agent, reply id.Agent, claim agent.Claim, body, why string) (id.Agent, error) {
	up, ok, err := k.addressee(ctx, a, reply)
	if err != nil || !ok {
		return "", err
	}
	_, err = k.send(ctx, registry.Send{From: a.ID, Claim: claim, To: up.ID, Body: body, Reason: why}, nil)
	return up.ID, err
}

// addressee returns the recipient of a task's report: the agent that asked for it, else the nearest living ancestor.
func (k *Kernel) addressee(ctx context.Context, a agent.Agent, reply id.Agent) (agent.Agent, bool, error) {
	if reply != "" {
		asked, err := k.Store.Agent(ctx, reply)
		if err != nil || asked.Status == agent.Running {
			return asked, err == nil, err
		}
	}
	return k.ancestor(ctx, a)
}

// ancestor is the nearest living one. Agent 0 has none.
func (k *Kernel) ancestor(ctx context.Context, a agent.Agent) (agent.Agent, bool, error) {
	for parent := a.Parent; parent != ""; {
		up, err := k.Store.Agent(ctx, parent)
		if err != nil || up.Status == agent.Running {
			return up, err == nil, err
		}
		parent = up.Parent
	}
	return agent.Agent{}, false, nil
}

// lookAgain is the interval at which a wait checks whether agents of other kernels still work: their mail wakes it, but
// an end without mail doesn't.
const lookAgain = 5 * time.Second

// Await implements process.Kernel: it blocks until the letters have come, or no agent is left that could send them.
func (h verbs) Await(ctx context.Context, w acts.Wait) (acts.Waited, error) {
	k, p := h.Kernel, h.p
	until := time.Now().Add(w.Timeout).Round(0) // the time in which the machine sleeps counts
	late := time.NewTimer(w.Timeout)
	defer late.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	k.mu.Lock()
	k.waiters[p] = true
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		delete(k.waiters, p)
		k.mu.Unlock()
	}()
	whom := p.whom(ctx, w)
	p.becomes(func(d *doing) { d.now = state.State{Word: state.Waits, Detail: whom} })
	if w.All && len(w.From) == 0 {
		w.From = k.owing(p.id)
	}
	for {
		// Who works first: what they wrote before they ended is there by then.
		working, err := p.working(ctx, w)
		if err != nil {
			return acts.Waited{}, err
		}
		letters, err := k.Store.Letters(ctx, p.id, mail.Filter{Unread: true})
		if err != nil {
			return acts.Waited{}, err
		}
		came := slices.ContainsFunc(letters, func(l mail.Letter) bool { return acts.From(l, w.From) })
		switch out := (acts.Waited{Came: came, Working: working}); {
		case came && !w.All, len(working) == 0:
			return out, nil
		case time.Now().After(until):
			out.Late = true
			return out, nil
		}
		select {
		case <-p.mail:
		case <-again.C:
		case <-late.C:
			until = time.Time{}
		case <-ctx.Done():
			return acts.Waited{}, llm.Ended(ctx)
		}
	}
}

// working lists the agents among those waited for that could still write: they work, or wait
// while others work. If all of them wait, none will write. The user may always write.
func (p *agentProcess) working(ctx context.Context, w acts.Wait) ([]id.Agent, error) {
	busy, moving, err := p.kernel.others(ctx, p.id)
	if err != nil {
		return nil, err
	}
	var out []id.Agent
	for _, a := range w.From {
		if a == "" {
			out, moving = append(out, a), true
		}
	}
	for a := range busy {
		if len(w.From) == 0 || slices.Contains(w.From, a) {
			out = append(out, a)
		}
	}
	if !moving {
		return nil, nil
	}
	slices.Sort(out)
	return out, nil
}

// others returns the agents that work or wait, here or in another kernel, but for one; moving
// says that one of them does more than to wait.
func (k *Kernel) others(ctx context.Context, but id.Agent) (busy map[id.Agent]bool, moving bool, err error) {
	busy = map[id.Agent]bool{}
	for a, s := range k.States() {
		if a != but && s.Busy() {
			busy[a] = true
			moving = moving || s.Word != state.Waits
		}
	}
	k.mu.Lock()
	for a, p := range k.live {
		if p.reports() && a != but && !busy[a] {
			busy[a], moving = true, true // its letter is on the way
		}
	}
	k.mu.Unlock()
	for _, a := range k.owing(but) {
		moving = moving || !busy[a] // it died, and that is about to be told
		busy[a] = true
	}
	leased, now, err := k.Store.Leased(ctx)
	left := agent.OwnersGone(now, k.Gone)
	for _, a := range leased {
		if a.Lease.Owner != k.Owner && !left(a.Lease) {
			busy[a.ID], moving = true, true
		}
	}
	return busy, moving, err
}

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

// callOf returns the job that a letter leads to. Who wrote it gets the last words.
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

// callers returns the unread letters for which a job that was woken begins a turn; none: they
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
	if j.reply == "" && !j.task { // the sender of the letter is not known
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
			return // nothing was announced: it may wake again
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

// named returns an agent in a sentence.
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
