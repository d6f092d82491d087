package kernel

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	acts "ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// StartMode selects the work that begins with a fork.
type StartMode string

// The ways to start. Only a task reports to the parent, with a letter.
const (
	StartLater StartMode = ""
	StartTurn  StartMode = "turn"
	StartTask  StartMode = "task"
)

// Fork makes children of an agent, for a user. It waits for the tools that the
// agent is running, so that no call is separated from its result; ctx ends the
// wait. Unless start is StartLater, a turn of each child begins, for the prompt that
// its entries end with. A claim agent.Beside forks also an agent that another
// process holds; any other claim is replaced by the kernel's own.
func (k *Kernel) Fork(ctx context.Context, f registry.Fork, start StartMode) ([]agent.Agent, error) {
	p, err := k.process(f.Parent) // also of an idle one, whose turn may begin meanwhile
	if err != nil {
		return nil, err
	}
	defer k.leave(p)
	select {
	case p.barrier <- struct{}{}:
	default:
		if _, err := k.living(ctx, f.Parent); err != nil {
			return nil, err
		}
		k.Events.Publish(loop.Event{Type: loop.Waiting, Agent: f.Parent, Text: "fork waits for running tools"})
		select {
		case p.barrier <- struct{}{}:
		case <-ctx.Done():
			return nil, fault.New(fault.Cancelled, "fork: cancelled while tools of the agent were running; nothing was forked")
		case <-p.killed:
			return nil, errKilled()
		}
	}
	defer func() { <-p.barrier }()
	var born []agent.Agent
	fork := func(c agent.Claim) (err error) {
		f.Claim = c
		born, err = k.Store.Fork(ctx, f)
		return err
	}
	if _, _, held := k.claim(f.Parent).Holder(); f.Claim.IsBeside() && !held {
		err = fork(f.Claim)
	} else {
		err = k.entitled(ctx, f.Parent, fork)
	}
	if err != nil {
		return nil, err
	}
	k.drafts.moved(f.Parent)
	k.Events.Publish(loop.Event{Type: loop.Forked, Agent: f.Parent, Children: idsOf(born)})
	if start != StartLater {
		for _, c := range born {
			task := start == StartTask
			if err := k.submit(c.ID, &job{ctx: k.ctx, task: task, entered: task}); err != nil {
				return born, err
			}
		}
	}
	return born, nil
}

// Bear is Fork for children that have their only turn here and now: the kernel holds them from
// their birth, so that Exec, told since when (Prompt.Held), need not acquire the lease. Whoever
// does not let them begin ends them.
func (k *Kernel) Bear(ctx context.Context, f registry.Fork) (since time.Time, err error) {
	since = k.Now()
	f.Holder, f.Tenure = k.Owner, k.Lease
	_, err = k.Fork(ctx, f, StartLater)
	return since, err
}

func idsOf(agents []agent.Agent) []id.Agent {
	out := make([]id.Agent, len(agents))
	for i, a := range agents {
		out[i] = a.ID
	}
	return out
}

var _ acts.Kernel = verbs{}

// Fork is the fork of a model, in the middle of its turn: the barrier is held
// already. Children inherit the conversation in memory too.
func (h verbs) Fork(ctx context.Context, f registry.Fork) ([]agent.Agent, error) {
	// One fork of the family at a time, or two would both find room for the last.
	h.family.forking.Lock()
	defer h.family.forking.Unlock()
	if n := h.family.now(); h.MostAgents > 0 && n+len(f.Children) > h.MostAgents {
		return nil, fault.New(fault.Conflict, "%d agents work or wait already that came from this prompt; with %d more it would be over %d", n, len(f.Children), h.MostAgents).
			WithHint("none was forked; do it yourself, or wait for some to end")
	}
	f.Claim = h.claim
	for i := range f.Children {
		c := &f.Children[i]
		if c.Provider == "" && c.Model == "" { // it inherits the model too
			c.Provider, c.Model = h.asked.Vendor, h.asked.Name
		}
	}
	if err := h.narrow(ctx, &f); err != nil {
		return nil, err
	}
	if err := h.fire(ctx, f.Parent, h.claim, forking(f)); err != nil {
		return nil, err
	}
	born, err := h.Store.Fork(ctx, f)
	if err != nil {
		return nil, err
	}
	h.Events.Publish(loop.Event{Type: loop.Forked, Agent: f.Parent, Children: idsOf(born)})
	for i, c := range born {
		if err := h.start(c, f.Children[i]); err != nil {
			// It is born all the same; it waits to be continued.
			h.Events.Publish(loop.Event{Type: loop.Note, Agent: c.ID, Text: "its task did not begin: " + err.Error()})
		}
	}
	return born, nil
}

// start starts the task of a child, which inherits the conversation in memory.
func (h verbs) start(child agent.Agent, asked registry.Child) error {
	p, err := h.process(child.ID)
	if err != nil {
		return err
	}
	defer h.leave(p)
	point := child.ForkMessage
	for _, d := range asked.Entries {
		if d.Kind == history.Rewind {
			if point, err = id.ParseMessage(d.Meta.Target); err != nil {
				return err
			}
		}
	}
	if legacy, ok := h.p.talk.Fork(point); ok {
		h.mu.Lock()
		p.legacy = legacy
		h.mu.Unlock()
	}
	then := history.Then("") // the action that its report triggers
	for _, d := range asked.Entries {
		then = cmp.Or(then, d.Meta.Then)
	}
	return h.task(child, then, h.family)
}

// Before implements process.Kernel.
func (h verbs) Before() id.Message {
	before, _ := h.p.talk.BeforeCalls()
	return before
}

func (h verbs) Send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	if err := h.fire(ctx, h.p.id, h.claim, Mailing(s)); err != nil {
		return mail.Letter{}, err
	}
	s.Claim, s.Most = h.claim, h.MostUnread
	return h.send(ctx, s, h.family)
}

// Kill is the kill of a model, which hooks may object to.
func (h verbs) Kill(ctx context.Context, k registry.Kill) (registry.Killed, error) {
	if err := h.fire(ctx, h.p.id, h.claim, Killing(k)); err != nil {
		return registry.Killed{}, err
	}
	return h.Kernel.Kill(ctx, k)
}

func (h verbs) Read(ctx context.Context, r registry.Read) (mail.Letter, bool, error) {
	r.Claim = h.claim
	return h.Store.Read(ctx, r)
}

func (h verbs) Worktree(ctx context.Context, parent agent.Agent, child id.Agent, name string) (acts.Place, func(), error) {
	return h.Options.Worktree(ctx, parent, child, name)
}

// Worktrees implements process.Kernel.
func (h verbs) Worktrees() acts.Trees { return h.Options.Trees }

// Recent implements process.Kernel.
func (h verbs) Recent(ctx context.Context, a id.Agent, most int) ([]history.Entry, error) {
	return history.Newest(ctx, h.Store, history.Range{Agent: a}, most)
}

// Defined implements process.Kernel.
func (h verbs) Defined() bool { return h.Options.Roles != nil && h.Options.Roles() }

// Role implements process.Kernel.
func (h verbs) Role(name string) (acts.Role, error) {
	if h.Options.Role == nil {
		return acts.Role{}, fault.New(fault.NotFound, "no agent %.60q is defined", name)
	}
	return h.Options.Role(name)
}

// Driver implements process.Kernel.
func (h verbs) Driver(name string) (llm.Ref, error) {
	if h.Options.Driver == nil {
		return llm.Ref{}, fault.New(fault.NotFound, "no driver %.60q is known", name)
	}
	return h.Options.Driver(name)
}

// Drivers implements process.Kernel.
func (h verbs) Drivers() []string {
	if h.Options.Drivers == nil {
		return nil
	}
	return h.Options.Drivers()
}

// verbs are the kernel as the tools of one agent's turn use it.
type verbs struct {
	*Kernel
	p      *agentProcess
	claim  agent.Claim
	family *counter
	asked  llm.Ref // the model that this turn was asked to use; zero: the agent's own
	around *surroundings
}

// narrow gives children no more tools than their parent has at this moment. Limits that stand in
// its history are theirs by birth; what it follows until its turn ends is written into theirs. Tools
// of another program are not ours to take away: who is limited cannot have a child driven by one.
func (h verbs) narrow(ctx context.Context, f *registry.Fork) error {
	var now []history.Draft
	for _, limit := range following(h.around.box) {
		now = append(now, registry.LimitEntry(limit))
	}
	limited := len(now) > 0
	if !limited {
		standing, err := registry.Limits(ctx, h.Store, f.Parent)
		if err != nil {
			return err
		}
		limited = len(standing) > 0
	}
	for i := range f.Children {
		c := &f.Children[i]
		if limited && c.Provider != "" {
			if m, err := h.Model(agent.Agent{ID: c.ID, Parent: f.Parent, Provider: c.Provider, Model: c.Model}, llm.Ref{}); err == nil && m.Foreign != nil {
				return fault.New(fault.Denied, "your tools are limited, and those of %s are not: it cannot drive a child of yours", c.Model).
					WithHint("none was forked; fork without a driver")
			}
		}
		c.Entries = slices.Concat(now, c.Entries)
	}
	return nil
}

// following returns the limits that end with a turn which has these tools.
func following(box tool.Box) []history.Limit {
	var out []history.Limit
	for _, t := range box {
		if l, ok := t.(tool.Limiter); ok {
			out = append(out, l.Limits()...)
		}
	}
	return out
}

// Following returns the limits of an agent's tools that end with the turn which it has here; those for
// good stand in its history.
func (k *Kernel) Following(a id.Agent) []history.Limit {
	k.mu.Lock()
	var box tool.Box
	if p := k.live[a]; p != nil {
		box = p.box
	}
	k.mu.Unlock()
	return following(box)
}

// works notes what the turn of a process has to work with; nil: it is over.
func (p *agentProcess) works(box tool.Box) {
	p.kernel.mu.Lock()
	defer p.kernel.mu.Unlock()
	p.box = box
}
