package runner

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// endTime limits how long the end of an item may take to be written after its context
// ended.
const endTime = 30 * time.Second

// agent lets an agent do an item.
func (c *WorkerPool) agent(ctx context.Context, it Attempt, d Orchestrator) (res Result, err error) {
	files := it.Task.Driver != "" || it.Task.Tree != nil || len(it.Task.Tools) > 0 || slices.ContainsFunc(it.Task.Outputs, func(o Output) bool { return !o.Answer })
	p, err := c.makeWorkdir(ctx, it, d, files)
	if err != nil {
		return res, err
	}
	defer p.remove()
	s := &agentAttempt{item: it, orchestrator: d, agent: id.NewAgent()}
	c.mu.Lock()
	c.attempts[s.agent], c.runs[id.Agent(it.Agent)] = s, true
	c.mu.Unlock()
	defer c.endWith(ctx, s, &res, &err)
	said, err := c.work(ctx, s, p.work)
	if err == nil {
		res, err = p.collect(ctx, it, []byte(said))
	}
	if err == nil {
		err = c.inspect(it, res)
	}
	switch {
	case err == nil:
		c.mu.Lock()
		c.answers[it.RunID] = append(c.answers[it.RunID], s.calls.Keys()...) // its run may fail all the same
		c.mu.Unlock()
	case ctx.Err() == nil && !fault.Is(err, fault.Interrupted) && !fault.Is(err, fault.Killed) && !fault.Is(err, fault.Fenced):
		c.dropAnswers(s.calls.Keys())
	}
	if fault.Is(err, fault.OutputInvalid) {
		err = WithAnswer(err, said)
	}
	return res, err
}

// endWith ends the agent of an item, also of one that broke. It is deferred.
func (c *WorkerPool) endWith(ctx context.Context, s *agentAttempt, res *Result, err *error) {
	if broken := recover(); broken != nil {
		c.endAttempt(ctx, s, fault.New(fault.Failed, "the item broke"))
		panic(broken)
	}
	if failed := c.endAttempt(ctx, s, *err); failed != nil && *err == nil {
		*res, *err = Result{}, failed
	}
}

// work forks the agent, lets it take its turn, and gives its last words.
func (c *WorkerPool) work(ctx context.Context, s *agentAttempt, dir string) (string, error) {
	// An agent that is forked has not started: the ledger may take as long as that.
	entered := make(chan error, 1)
	go func() { entered <- c.recordStart(ctx, s) }()
	err := c.fork(ctx, s, dir)
	if entering := <-entered; entering != nil {
		return "", entering
	}
	if err != nil {
		return "", err
	}
	forks := slices.Contains(s.item.Task.Tools, "fork")
	prompt := kernel.Prompt{Last: killReason, Schema: s.item.Task.Form, Held: s.held}
	if s.item.Task.Driver != "" {
		prompt.Schema = nil // no program can be asked for one; inspect looks
	}
	if forks {
		prompt.Last = nil // its children may still write files
	}
	turn, err := c.kernel.Exec(ctx, s.agent, prompt)
	if err != nil {
		return "", explainTurn(ctx, s, err)
	}
	outcome, err := turn.Wait()
	s.dead = outcome.Ended && !forks
	if fault.Is(err, fault.OutputInvalid) {
		err = nil // the check of outputs says what is wrong, with all of them
	}
	if err == nil && forks {
		err = turn.Tasks(ctx)
	}
	return outcome.Text, explainTurn(ctx, s, err)
}

// killReason returns the reason recorded for the death of an item's agent.
func killReason(err error) string {
	if err == nil {
		return "item finished"
	}
	return "item failed: " + string(fault.CodeOf(err))
}

// explainTurn returns the fault of a turn in the words of a run.
func explainTurn(ctx context.Context, s *agentAttempt, err error) error {
	switch {
	case err == nil:
		return nil
	case fault.Is(err, fault.DeadAgent):
		return fault.New(fault.Killed, "the agent of %s %s was killed", s.item.Worker, s.item.Scope)
	case ctx.Err() == nil && (fault.Is(err, fault.Cancelled) || fault.Is(err, fault.Interrupted)):
		return fault.New(fault.Interrupted, "the agent of %s %s was stopped: %w", s.item.Worker, s.item.Scope, err)
	}
	return err
}

// fork makes the agent of an item. Its prompt is its first message.
func (c *WorkerPool) fork(ctx context.Context, s *agentAttempt, dir string) error {
	words := s.item.Task.Prompt
	if s.item.Task.Command != "" {
		words = "[ramet] This agent is a command of the recipe:\n" + s.item.Task.Command
	}
	if more := s.item.Task.Assignment; more != "" {
		words = strings.TrimRight(words, " \n") + "\n\n" + more
	}
	said, err := history.Say(history.User, words)
	if err != nil {
		return err
	}
	role, err := agentEntries(s.item.Task)
	if err != nil {
		return err
	}
	child := registry.Child{ID: s.agent, Cwd: dir, Entries: append(role, said)}
	if s.item.Task.Model != "" && s.item.Task.Command == "" {
		ref, err := llm.ParseRef(s.item.Task.Model)
		if err != nil {
			return err
		}
		child.Provider, child.Model = ref.Vendor, ref.Name
	}
	if e := s.item.Task.Effort; e != "" {
		child.Entries = append([]history.Draft{registry.EffortEntry(llm.Effort(e))}, child.Entries...)
	}
	for _, child.Name = range agentNames(s.item) {
		// The orchestrator holds the run's agent, perhaps on another host.
		fork := registry.Fork{Parent: id.Agent(s.item.Agent), Claim: agent.Beside(), Children: []registry.Child{child}}
		if err = c.createAgent(ctx, s, fork); !fault.Is(err, fault.Conflict) || child.Name == "" {
			break
		}
		if err := c.killPredecessor(ctx, s, child.Name); err != nil {
			return err
		}
		if err = c.createAgent(ctx, s, fork); !fault.Is(err, fault.Conflict) {
			break
		}
	}
	if fault.Is(err, fault.DeadAgent) {
		return fault.New(fault.DeadAgent, "the agent of run %s is dead, and cannot be forked: %w", s.item.RunID, err)
	}
	return err
}

// createAgent makes the agent. One that takes a turn is held from its birth.
func (c *WorkerPool) createAgent(ctx context.Context, s *agentAttempt, f registry.Fork) (err error) {
	if s.item.Task.Command != "" {
		_, err = c.kernel.Fork(ctx, f, "")
		return err
	}
	s.held, err = c.kernel.Bear(ctx, f)
	return err
}

// killPredecessor ends what an earlier attempt at the same item left: its host died, or lost it.
func (c *WorkerPool) killPredecessor(ctx context.Context, s *agentAttempt, name string) error {
	old, ok, err := c.Store.Named(ctx, name)
	if err != nil || !ok || old.Status != agent.Running || old.Parent != id.Agent(s.item.Agent) {
		return err
	}
	if other, _ := c.at(old.ID); other != nil && other.item.ID == s.item.ID {
		return fault.New(fault.Conflict, "item %s is being done here already", s.item.ID)
	}
	_, err = c.kernel.Kill(ctx, registry.Kill{Agent: old.ID, Cascade: true, By: old.Parent, Reason: "another attempt took its place"})
	return err
}

// maxAgentName is the longest name of an agent.
const maxAgentName = 63

// agentNames returns possible names for the agent of an item, best first; the last is empty.
// The second is for a name that an agent of another run has.
func agentNames(it Attempt) []string {
	whole := it.Worker + "-" + it.Scope
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, whole)
	if plain[0] < 'a' || plain[0] > 'z' {
		plain = "w" + plain
	}
	if plain != whole || len(plain) > maxAgentName-7 {
		plain = plain[:min(len(plain), maxAgentName-7-7)] + "-" + shortHash(whole)
	}
	return []string{plain, plain + "-" + shortHash(it.RunID), ""}
}

func shortHash(s string) string { return chain.Sum([]byte(s)).String()[:6] }

// dropAnswers takes answers out of the cache that led to nothing: the next request asks the model again.
func (c *WorkerPool) dropAnswers(keys []string) {
	if c.Cache == nil {
		return
	}
	for _, key := range keys {
		if err := c.Cache.Drop(key); err != nil {
			c.kernel.Events.Publish(loop.Event{Type: loop.Note, Text: "an answer that was no good stays in the cache: " + err.Error()})
		}
	}
}

// Forget takes the answers of a run that failed out of the cache.
func (c *WorkerPool) Forget(runID string) {
	c.mu.Lock()
	keys := c.answers[runID]
	delete(c.answers, runID)
	c.mu.Unlock()
	c.dropAnswers(keys)
}

// recordStart records the item in the ledger before its agent exists.
func (c *WorkerPool) recordStart(ctx context.Context, s *agentAttempt) error {
	book := c.book(s.item)
	if book == nil {
		return nil
	}
	scope := text.Line(s.item.Scope, 200)
	_, err := book.Spawn(ctx, ledger.Start{ID: string(s.agent), Type: s.item.Worker, Plan: s.item.RunID, Group: scope,
		Description: s.item.Worker + " " + scope, Owner: c.Owner, Minutes: s.item.Task.Timeout.Minutes()})
	s.entered = err == nil
	return err
}

func (c *WorkerPool) book(it Attempt) ledger.Book {
	if c.Book == nil {
		return nil
	}
	return c.Book(it)
}

// endAttempt ends the agent and all below it, and records how the item ended.
func (c *WorkerPool) endAttempt(ctx context.Context, s *agentAttempt, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	s.over.Store(true)
	c.mu.Lock()
	delete(c.attempts, s.agent)
	c.mu.Unlock()
	var failed error
	if !s.dead {
		_, failed = c.kernel.Kill(ctx, registry.Kill{Agent: s.agent, By: s.agent, Cascade: true, Reason: killReason(err)})
	}
	if fault.Is(failed, fault.NotFound) { // it was never born
		failed = nil
	}
	if err == nil {
		err = failed
	}
	if !s.entered {
		return failed
	}
	if err != nil {
		c.recordEnd(ctx, s, err)
		return failed
	}
	// The end of what went well is not waited for.
	c.ends.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		c.recordEnd(ctx, s, nil)
	})
	return nil
}

// recordEnd records in the ledger how an item ended; nil: well.
func (c *WorkerPool) recordEnd(ctx context.Context, s *agentAttempt, err error) {
	how, why := ledger.Completed, ""
	if err != nil {
		switch code := fault.CodeOf(err); code {
		case fault.TimedOut:
			how, why = ledger.Timeout, text.Line(err.Error(), 200)
		case fault.Cancelled, fault.Interrupted, fault.Fenced:
			how, why = ledger.Interrupted, text.Line(err.Error(), 200)
		default:
			how, why = ledger.Failed, string(code)
		}
	}
	if _, err := c.book(s.item).Move(ctx, string(s.agent), how, why); err != nil {
		c.kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: s.agent, Text: "its end is not in the ledger: " + err.Error()})
	}
}

// killPoll is the interval between checks for a kill of a command's agent, here or elsewhere.
const killPoll = 500 * time.Millisecond

// runAsAgent does an item that has no model in the name of an agent: it is in the registry and in the
// ledger while it is done, can be killed there, and is dead afterwards. It calls no model.
func (c *WorkerPool) runAsAgent(ctx context.Context, it Attempt, d Orchestrator, dir string, do func(context.Context, id.Agent) (Result, error)) (res Result, err error) {
	s := &agentAttempt{item: it, orchestrator: d, agent: id.NewAgent()}
	c.mu.Lock()
	c.runs[id.Agent(it.Agent)] = true
	c.mu.Unlock()
	defer c.endWith(ctx, s, &res, &err)
	if err := c.recordStart(ctx, s); err != nil {
		return res, err
	}
	if err := c.fork(ctx, s, dir); err != nil {
		return res, err
	}
	ctx, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.watchForKill(ctx, s, end)
	}()
	res, err = do(ctx, s.agent)
	end(nil)
	<-over
	return res, err
}

// watchForKill ends the work of an agent that was killed.
func (c *WorkerPool) watchForKill(ctx context.Context, s *agentAttempt, end context.CancelCauseFunc) {
	tick := time.NewTicker(killPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if a, err := c.Store.Agent(ctx, s.agent); err == nil && agent.NeedLiving(a) != nil {
			end(fault.New(fault.Killed, "the agent of %s %s was killed", s.item.Worker, s.item.Scope))
			return
		}
	}
}

// nano is the number of parts of a dollar that budgets count in.
const nano = 1e9

// agentEntries drafts what the agent of an item begins with: what it may not exceed, by its definition or because a
// program drives it, and the prompt of a definition. nil: nothing.
func agentEntries(t Task) ([]history.Draft, error) {
	var out []history.Draft
	if b := itemBudget(t); b != nil {
		out = append(out, history.Draft{Kind: history.Command, Meta: history.Meta{Command: registry.BudgetCommand, Budget: b}})
	}
	d := t.Role
	if d == nil {
		return out, nil
	}
	if d.Tools != nil {
		out = append(out, registry.LimitEntry(history.Limit{By: "agent " + d.Name, Tools: d.Tools}))
	}
	where := "the recipe"
	if d.From != "" {
		where = d.From
	}
	said, err := history.Say(history.System, "You are the agent "+d.Name+", defined in "+where+":\n\n"+d.Prompt)
	return append(out, said), err
}

// itemBudget returns the smaller of the budget that the definition allows and the one that the run has left;
// nil: no limit.
func itemBudget(t Task) *history.Budget {
	var tokens, cost int64
	least := func(a, b int64) int64 {
		if a == 0 || b > 0 && b < a {
			return b
		}
		return a
	}
	nanos := func(dollars float64) int64 { return int64(math.Ceil(dollars * nano)) }
	if t.Role != nil {
		tokens, cost = t.Role.Tokens, int64(math.Round(t.Role.CostUSD*nano))
	}
	if t.Left != nil {
		tokens, cost = least(tokens, t.Left.Tokens), least(cost, nanos(t.Left.CostUSD))
	}
	out := &history.Budget{}
	if tokens > 0 {
		out.Tokens = &tokens
	}
	if cost > 0 {
		out.Cost = &cost
	}
	if *out == (history.Budget{}) {
		return nil
	}
	return out
}
