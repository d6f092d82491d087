package kernel

import (
	"context"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// memory shares conversations between the children of one parent: the newest
// conversation of each parent that a child was restored from, up to its fork
// point. It is a cache of replay; what it holds never changes.
type memory struct {
	mu      sync.Mutex
	parents map[id.Agent]remembered
	order   []id.Agent // oldest first
}

// remembered is a conversation that is whole up to an entry. That need not be a
// message: a turn ends with what it cost, and the conversation does not know of it.
type remembered struct {
	talk *loop.Conversation
	upTo id.Message
}

// maxParents bounds how many parents are remembered.
const maxParents = 32

func (m *memory) get(parent id.Agent, at id.Message) (*loop.Conversation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.parents[parent]
	if known.talk == nil || known.upTo < at {
		return nil, false
	}
	return known.talk.Fork(at)
}

func (m *memory) put(parent id.Agent, c *loop.Conversation, upTo id.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parents == nil {
		m.parents = map[id.Agent]remembered{}
	}
	if m.parents[parent].talk == nil {
		m.order = append(m.order, parent)
		if len(m.order) > maxParents {
			delete(m.parents, m.order[0])
			m.order = m.order[1:]
		}
	}
	m.parents[parent] = remembered{c, upTo}
}

// newest is the conversation of a parent as far as it is remembered, and how far
// that is.
func (m *memory) newest(parent id.Agent) (*loop.Conversation, id.Message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.parents[parent]
	if known.talk == nil {
		return nil, 0, false
	}
	talk, ok := known.talk.Fork(known.upTo)
	return talk, known.upTo, ok
}

// append writes entries, tells of them and takes them into the conversation.
func (p *agentProcess) append(ctx context.Context, claim agent.Claim, drafts ...history.Draft) error {
	entries, err := p.kernel.record(ctx, p.id, claim, drafts...)
	if err != nil {
		return err
	}
	return p.addEntries(ctx, entries)
}

// addEntries publishes entries and takes them into the conversation.
func (p *agentProcess) addEntries(ctx context.Context, entries []history.Entry) error {
	for _, e := range entries {
		p.kernel.Events.Publish(loop.Event{Type: loop.Recorded, Agent: p.id, Entry: &e})
	}
	if fresh, err := p.talk.Add(ctx, entries...); err != nil || fresh {
		return err
	}
	return p.reread(ctx)
}

// reread makes the conversation anew, from the history.
func (p *agentProcess) reread(ctx context.Context) error {
	p.talk = nil
	a, err := p.kernel.Store.Agent(ctx, p.id)
	if err != nil {
		return err
	}
	return p.recall(ctx, a)
}

// inherited returns the context that a child begins with, from memory; nil if only the history has it. If the parent
// continued since the last fork, only new entries are read: ten thousand forks don't read ten thousand entries each.
func (k *Kernel) inherited(ctx context.Context, a agent.Agent) (*loop.Conversation, error) {
	if talk, ok := k.memory.get(a.Parent, a.ForkMessage); ok {
		return talk, nil
	}
	forgot := k.forgot.Load()
	talk, upTo, ok := k.memory.newest(a.Parent)
	if !ok || upTo > a.ForkMessage {
		return nil, nil
	}
	for e, err := range k.Store.QueryRange(ctx, history.Range{Agent: a.Parent, Start: upTo, End: history.UpTo(a.ForkMessage)}, history.Selection{}) {
		if err != nil {
			return nil, err
		}
		if fresh, err := talk.Add(ctx, e); err != nil || !fresh {
			return nil, err
		}
	}
	out, ok := talk.Fork(a.ForkMessage)
	if !ok || k.forgot.Load() != forgot {
		return nil, nil
	}
	k.memory.put(a.Parent, talk, a.ForkMessage)
	return out, nil
}

// Forget drops everything remembered: a redaction took content away. Turns that
// are under way go on with what their model has seen.
func (k *Kernel) Forget() {
	k.forgot.Add(1)
	k.mu.Lock()
	for _, was := range k.idle {
		was.talk, was.legacy = nil, nil
	}
	k.mu.Unlock()
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	k.memory.parents, k.memory.order = nil, nil
}

// recall makes the conversation that of the agent as it is now: what is in memory
// and the entries since, or a replay.
func (p *agentProcess) recall(ctx context.Context, a agent.Agent) error {
	k := p.kernel
	k.mu.Lock()
	legacy := p.legacy
	p.legacy = nil
	k.mu.Unlock()
	if now := k.forgot.Load(); now != p.forgot {
		p.talk, legacy, p.forgot = nil, nil, now
	}
	if p.talk == nil {
		p.talk = legacy
	}
	if p.talk == nil && !a.IsZero() {
		var err error
		if p.talk, err = k.inherited(ctx, a); err != nil {
			return err
		}
	}
	if p.talk != nil && p.talk.Last() == a.Head {
		return nil // nothing was written since
	}
	if p.talk != nil {
		entries, err := since(ctx, k.Store, p.id, p.talk.Last())
		if err != nil {
			return err
		}
		fresh, err := p.talk.Add(ctx, entries...)
		if err != nil || fresh {
			return err
		}
	}
	talk, err := k.restore(ctx, p.id)
	if err != nil {
		return err
	}
	if p.talk = talk; a.IsZero() {
		return nil
	}
	if prefix, ok := p.talk.Fork(a.ForkMessage); ok {
		k.memory.put(a.Parent, prefix, a.ForkMessage)
	}
	return nil
}

// restore reads the conversation of an agent as it is at one moment.
func (k *Kernel) restore(ctx context.Context, a id.Agent) (*loop.Conversation, error) {
	var c *history.Context
	err := k.Store.View(ctx, func(log history.Log) (err error) {
		c, err = history.Recall(ctx, log, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return loop.NewConversation(ctx, c, k.Store.Blob)
}

// known caches what a process read of its agent's history besides the conversation, so that a turn reads only new
// entries. It is derived from the entries, which never change, up to the one named here.
type known struct {
	task     *registry.Task // nil: not asked yet, or it has no prompt yet
	effort   llm.Effort
	effortAt id.Message // the newest own entry when effort was what it is; 0: not asked yet
	idle     time.Time  // when its last turn was over; zero: there was none
}

// task returns how the agent's work began.
func (p *agentProcess) task(ctx context.Context) (registry.Task, error) {
	if p.known.task != nil {
		return *p.known.task, nil
	}
	task, told, err := registry.FirstTask(ctx, p.kernel.Store, p.id)
	if told {
		p.known.task = &task
	}
	return task, err
}

// effort returns the agent's reasoning effort. a is the agent as read under the lease.
func (p *agentProcess) effort(ctx context.Context, a agent.Agent) (told llm.Effort, err error) {
	if p.known.effortAt == 0 {
		told, _, err = registry.Effort(ctx, p.kernel.Store, a.ID)
	} else {
		told, err = registry.EffortSince(ctx, p.kernel.Store, a.ID, p.known.effort, p.known.effortAt)
	}
	if err == nil {
		p.known.effort, p.known.effortAt = told, a.Head
	}
	return told, err
}

// warmth returns what vendors' caches depend on: the tree whose agents share a beginning, and the time since the agent's
// last activity. It leaves out what can't be read: that costs money, not correctness.
func (p *agentProcess) warmth(ctx context.Context, a agent.Agent) (tree string, paused time.Duration) {
	if root, err := p.kernel.zero(ctx); err == nil {
		tree = "ramet-" + string(root)
	}
	if p.talk != nil && p.talk.Last() == a.Head && !p.known.idle.IsZero() {
		return tree, time.Since(p.known.idle)
	}
	if last, err := p.kernel.Store.Entry(ctx, a.Head); err == nil {
		paused = time.Since(last.CreatedAt)
	}
	return tree, paused
}

// restAfter is the time for which an idle agent's conversation stays in memory. Later it is read again.
const restAfter = 10 * time.Minute

// kept is the part of an agent that the kernel keeps between its turns. While the agent works, its process owns it;
// otherwise it is all there is: no goroutine, no channel, no tool.
type kept struct {
	talk     *loop.Conversation
	forgot   int64              // Kernel.forgot when talk was made
	legacy   *loop.Conversation // what a child inherits, until it is first needed; guarded by the kernel's mutex
	known    known
	restarts restarts
	opened   bool      // hooks were told that a person talks with it
	since    time.Time // when the agent had no work any more; guarded by the kernel's mutex
}

// leave ends a visit.
func (k *Kernel) leave(p *agentProcess) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.visits--
	p.idles()
}

// idles leaves of an agent only what is kept, if nothing is done, waits or is about to come; the caller
// has the mutex. From then on the process has no owner.
func (p *agentProcess) idles() {
	k := p.kernel
	if p.serves || p.visits > 0 || p.pending > 0 || len(p.inbox) > 0 || k.live[p.id] != p {
		return
	}
	delete(k.live, p.id)
	if p.talk != nil || p.legacy != nil || p.opened || len(p.restarts) > 0 {
		p.since = time.Now()
		k.idle[p.id] = p.kept
	}
}

// rest forgets agents that had no work for a long time.
func (k *Kernel) rest() {
	for {
		select {
		case <-time.After(k.tire(time.Now())):
		case <-k.ctx.Done():
			return
		}
	}
}

// tire forgets those whose time is over, and says when to look again: at the next one's, but not all the
// time.
func (k *Kernel) tire(now time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := k.Rest
	for a, was := range k.idle {
		left := k.Rest - now.Sub(was.since)
		if left <= 0 {
			delete(k.idle, a)
			continue
		}
		next = min(next, left)
	}
	return max(next, k.Rest/60, time.Millisecond)
}

// tidier says when the memory that turns needed is given back to the system: once, when there was none
// between two looks. By itself the runtime keeps it for minutes, and an idle kernel is most of the time idle.
type tidier struct {
	seen, tidied int64 // turns that had begun at the last look, and when it was due
}

// due reports at each look whether memory is given back; begun counts the turns so far, busy is set while one runs.
func (t *tidier) due(begun int64, busy bool) bool {
	quiet := begun == t.seen && !busy
	t.seen = begun
	if !quiet || begun == t.tidied {
		return false
	}
	t.tidied = begun
	return true
}

// journal is the history of a process, for its turn.
type journal struct {
	p     *agentProcess
	claim agent.Claim
}

func (j *journal) Append(ctx context.Context, drafts ...history.Draft) ([]history.Entry, error) {
	j.p.kernel.drafts.forget(j.p.id)
	return j.p.kernel.record(ctx, j.p.id, j.claim, drafts...)
}

func (j *journal) Since(ctx context.Context, after id.Message) ([]history.Entry, error) {
	return since(ctx, j.p.kernel.Store, j.p.id, after)
}

func (j *journal) Replay(ctx context.Context) (*history.Context, error) {
	return replay(ctx, j.p.kernel.Store, j.p.id)
}

// replay reads a context as it is at one moment.
func replay(ctx context.Context, v history.Viewer, a id.Agent) (c *history.Context, err error) {
	err = v.View(ctx, func(log history.Log) error {
		c, err = history.Replay(ctx, log, a)
		return err
	})
	return c, err
}

func (j *journal) Blob(ctx context.Context, h chain.Hash) ([]byte, error) {
	return j.p.kernel.Store.Blob(ctx, h)
}

func (j *journal) Streaming(text func() string) { j.p.kernel.drafts.put(j.p.id, j.claim, text) }

// record appends entries to the history of an agent that is held here. While the store
// cannot be reached it continues trying, as long as the lease lasts: what a model said or a
// tool did is not thrown away because a connection was lost.
func (k *Kernel) record(ctx context.Context, a id.Agent, claim agent.Claim, drafts ...history.Draft) ([]history.Entry, error) {
	until := time.Now().Add(k.margin())
	for {
		entries, err := k.Store.Append(ctx, a, claim, drafts...)
		if fault.Is(err, fault.UnknownOutcome) && len(entries) > 0 {
			var done bool
			if done, err = k.recorded(ctx, claim, entries[0], until); done && err == nil {
				return entries, nil
			}
			if err == nil {
				continue // it did not happen: once more
			}
		}
		if err != nil && ctx.Err() != nil && !lost(err) {
			return nil, fault.New(fault.StorageUnreachable, "the store did not take what was to be written in time: %w", err)
		}
		if !unreachable(err) || !again(ctx, until) {
			return entries, err
		}
	}
}

// Order writes what a person decided about an agent, also while it works.
func (k *Kernel) Order(ctx context.Context, a id.Agent, d history.Draft) (history.Entry, error) {
	if _, err := k.living(ctx, a); err != nil {
		return history.Entry{}, err
	}
	var entries []history.Entry
	err := k.insert(ctx, a, func(c agent.Claim) (err error) {
		entries, err = k.Store.Append(ctx, a, c, d)
		return err
	})
	if err != nil {
		return history.Entry{}, err
	}
	k.drafts.moved(a)
	k.Events.Publish(loop.Event{Type: loop.Recorded, Agent: a, Entry: &entries[0]})
	return entries[0], nil
}

// since reads own entries of an agent that are newer than one.
func since(ctx context.Context, log history.Log, a id.Agent, after id.Message) ([]history.Entry, error) {
	var out []history.Entry
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a, Start: after, End: history.NoLimit}, history.Selection{}) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// flushEvery limits the age of the newest words on disk, a little below the promised second.
const flushEvery = 500 * time.Millisecond

// drafts are the replies that are being streamed. One writer keeps them all, in
// one transaction, twice a second.
type drafts struct {
	kernel *Kernel

	mu   sync.Mutex
	open map[id.Agent]*draft
}

type draft struct {
	claim agent.Claim
	text  func() string
	after id.Message // newest own entry when the reply began; 0: not asked yet
	dirty bool
}

func (d *drafts) put(a id.Agent, claim agent.Claim, text func() string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[id.Agent]*draft{}
	}
	one := d.open[a]
	if one == nil {
		one = &draft{claim: claim}
		d.open[a] = one
	}
	one.text, one.dirty = text, true
}

// forget ends a reply: an entry is about to take its place.
func (d *drafts) forget(a id.Agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, a)
}

// moved records that another entry was written during the agent's reply, so the reply now follows that entry.
func (d *drafts) moved(a id.Agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.open[a]; one != nil {
		one.after, one.dirty = 0, true
	}
}

func (d *drafts) flushAll() {
	d.kernel.every(flushEvery, func() {
		if err := d.flush(d.kernel.ctx); err != nil {
			d.kernel.trouble(d.kernel.ctx, "keep the replies that are being streamed", err)
		}
	})
}

// flush writes what is new. A reply counts as long as the newest entry of its
// agent is the one that it began behind; so that entry is asked for once, and must
// not have changed while it was.
func (d *drafts) flush(ctx context.Context) error {
	d.mu.Lock()
	var todo []id.Agent
	for a, one := range d.open {
		if one.dirty {
			todo = append(todo, a)
		}
	}
	d.mu.Unlock()
	var replies []registry.Reply
	for _, a := range todo {
		reply, ok, err := d.reply(ctx, a)
		if err != nil {
			return err
		}
		if ok {
			replies = append(replies, reply)
		}
	}
	if len(replies) == 0 {
		return nil
	}
	err := d.kernel.Store.KeepReplies(ctx, replies)
	if err == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range replies { // they are kept with the next ones
		if one := d.open[r.Agent]; one != nil {
			one.dirty = true
		}
	}
	return err
}

func (d *drafts) reply(ctx context.Context, a id.Agent) (registry.Reply, bool, error) {
	d.mu.Lock()
	one := d.open[a]
	known := one != nil && one.after != 0
	d.mu.Unlock()
	if one == nil {
		return registry.Reply{}, false, nil
	}
	var head id.Message
	if !known {
		found, err := d.kernel.Store.Agent(ctx, a)
		if err != nil {
			return registry.Reply{}, false, err
		}
		head = found.Head
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[a] != one { // it ended meanwhile, and the head may be its own entry
		return registry.Reply{}, false, nil
	}
	if !known {
		one.after = head
	}
	one.dirty = false
	return registry.Reply{Agent: a, Claim: one.claim, After: one.after, Text: one.text()}, true, nil
}
