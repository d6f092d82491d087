// Package gateway stands between agents and the vendors of models, so that nothing is spent
// that no budget holds.
//
// A Reserver sets aside what a call may come to at worst before it is sent, in every budget
// that binds its agent, and gives it back when what it came to is in the history.
//
// # Promises
//
//   - No budget is exceeded, as the server counts it: two calls never spend the same rest,
//     whichever processes and hosts send them (registry.Budgets.Reserve is one transaction).
//   - A call is lowered to what is left before it is refused, if its sender allows that.
//   - A call that does not fit because of others that are under way waits for them, in the
//     order of asking, for a minute at most; one that could not fit even if they came to
//     nothing is refused at once.
//   - What a process that died had set aside counts as spent.
//   - Where no budget binds, nothing is written.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
)

// Budgets is what a reserver needs of a store (registry.Budgets).
type Budgets interface {
	Allowances(ctx context.Context, a id.Agent) ([]registry.Allowance, error)
	Reserve(ctx context.Context, h registry.Hold) error
	Settle(ctx context.Context, hold string) error
}

// Reserver sets aside what calls may come to. One serves a kernel; it is safe for concurrent use.
type Reserver struct {
	store Budgets
	owner string
	most  time.Duration // that a call waits for others
	again time.Duration // how often it looks what others did

	turn chan struct{} // held by the first of the calls that wait; the others follow in their order

	mu   sync.Mutex
	news chan struct{} // closed when something was given back here; guarded by mu
}

// shares: a call that must be lowered takes this part of what is left, so that as many can
// be under way.
const shares = 4

// patience is how long a call waits for others to be over.
const patience = time.Minute

// NewReserver makes a reserver for the kernel of that name.
func NewReserver(store Budgets, owner string) *Reserver {
	return &Reserver{store: store, owner: owner, most: patience, again: 100 * time.Millisecond, turn: make(chan struct{}, 1), news: make(chan struct{})}
}

// Held is what was set aside for one call.
type Held struct {
	Output int64 // what the call may write
	Bound  bool  // a budget binds

	reserver *Reserver
	id       string // empty: nothing was set aside
}

// settleTime is how long giving back may take.
const settleTime = 10 * time.Second

// Settle gives back what was set aside. What the call came to is written, or it was not sent.
// Where that cannot be told to the store it counts as spent.
func (h *Held) Settle(ctx context.Context) error {
	if h == nil || h.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	err := h.reserver.store.Settle(ctx, h.id)
	if err == nil {
		h.id = ""
		h.reserver.tell()
	}
	return err
}

// Reserve sets aside what a call may come to, lowered to what is left if it must be. It waits
// for others that are under way; BUDGET_EXCEEDED: it does not fit, and nothing is set aside.
func (p *Reserver) Reserve(ctx context.Context, c Call) (*Held, error) {
	if len(p.turn) == 0 { // no other call waits
		held, short, err := p.try(ctx, c)
		if err != nil || held != nil {
			return held, err
		}
		if !short.hopeful() {
			return nil, short.refusal()
		}
	}
	return p.wait(ctx, c)
}

// Left is BUDGET_EXCEEDED where a budget that binds an agent is used up.
func (p *Reserver) Left(ctx context.Context, a id.Agent) error {
	limits, err := p.store.Allowances(ctx, a)
	for _, l := range limits {
		l.Held = agent.Spending{} // what is under way may come to nothing
		if tokens, cost, bound, priced := l.Left(); bound && tokens == 0 || priced && cost == 0 {
			return (&short{Call{Agent: a}, l}).refusal()
		}
	}
	return err
}

// wait tries when its turn has come, until it fits, cannot, or the time is over.
func (p *Reserver) wait(ctx context.Context, c Call) (*Held, error) {
	late := time.NewTimer(p.most)
	defer late.Stop()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-late.C:
		return nil, fault.New(fault.BudgetExceeded, "others that share the budget were running for %s", p.most).WithHint("try again when they are done, or give more")
	case <-ctx.Done():
		return nil, llm.Ended(ctx)
	}
	again := time.NewTicker(p.again)
	defer again.Stop()
	for {
		news := p.listen() // before the look, so that nothing is missed
		held, short, err := p.try(ctx, c)
		if err != nil || held != nil {
			return held, err
		}
		if !short.hopeful() {
			return nil, short.refusal()
		}
		select {
		case <-news:
		case <-again.C: // another kernel may have given something back
		case <-late.C:
			return nil, short.refusal()
		case <-ctx.Done():
			return nil, llm.Ended(ctx)
		}
	}
}

// try looks once. short: it does not fit now.
func (p *Reserver) try(ctx context.Context, c Call) (*Held, *short, error) {
	limits, err := p.store.Allowances(ctx, c.Agent)
	if err != nil {
		return nil, nil, err
	}
	if len(limits) == 0 {
		return &Held{Output: c.Output}, nil, nil
	}
	output := c.Output
	for _, l := range limits {
		tokens, cost, bound, priced := l.Left()
		if priced && !c.Priced {
			return nil, nil, fault.New(fault.BudgetExceeded, "the budget of agent %s is in money, and the price of %s is unknown", l.Of.Label(), c.Model).
				WithHint("limit it by tokens, or ask a model whose price is known")
		}
		fits := c.fits(tokens, cost, bound, priced)
		if fits < c.Least {
			return nil, &short{c, l}, nil
		}
		output = min(output, fits)
	}
	if output < c.Output { // others that share the rest would have to wait for it
		output = max(c.Least, output/shares)
	}
	h := registry.Hold{ID: uuid.NewString(), Agent: c.Agent, Owner: p.owner, Worst: c.Worst(output)}
	err = p.store.Reserve(ctx, h)
	if lacks, ok := errors.AsType[registry.Short](err); ok {
		return nil, &short{c, lacks.Allowance}, nil // somebody was faster
	}
	if err != nil {
		return nil, nil, err
	}
	return &Held{Output: output, Bound: true, reserver: p, id: h.ID}, nil, nil
}

// short is a call that does not fit into a limit.
type short struct {
	call  Call
	limit registry.Allowance
}

// hopeful says that it might fit when others are over.
func (s *short) hopeful() bool {
	l := s.limit
	l.Held.Tokens, l.Held.Cost = 0, 0
	tokens, cost, bound, priced := l.Left()
	return l.Held != s.limit.Held && s.call.fits(tokens, cost, bound, priced) >= s.call.Least
}

// refusal says what is lacking, and whose limit it is.
func (s *short) refusal() error {
	tokens, cost, bound, priced := s.limit.Left()
	worst := s.call.Worst(s.call.Least)
	of := s.limit.Of.Label()
	hint := "give more with --max-cost or --max-tokens, or stop here"
	if h := s.limit.Held; bound && h.Tokens > 0 { // else it would not be clear where the budget went
		hint += fmt.Sprintf("; %d tokens are reserved for calls that are running or whose cost is unknown", h.Tokens)
	} else if priced && h.Cost > 0 {
		hint += fmt.Sprintf("; %s is reserved for calls that are running or whose cost is unknown", llm.Money(h.Cost))
	}
	switch {
	case bound && tokens == 0 || priced && cost == 0:
		return fault.New(fault.BudgetExceeded, "agent %s and its subtree have used up their budget: %s", of, s.used()).WithHint("%s", hint)
	case bound && worst.Tokens > tokens:
		return fault.New(fault.BudgetExceeded, "agent %s and its subtree may use %d more tokens, and the next call can take %d", of, tokens, worst.Tokens).WithHint("%s", hint)
	}
	return fault.New(fault.BudgetExceeded, "agent %s and its subtree may spend %s more, and the next call can cost %s", of, llm.Money(cost), llm.Money(worst.Cost)).WithHint("%s", hint)
}

func (s *short) used() string {
	l := s.limit
	if limit, ok := l.Budget.Tokens.Get(); ok && l.Spent.Tokens+l.Held.Tokens >= limit {
		return fmt.Sprintf("%d of %d tokens", l.Spent.Tokens, limit)
	}
	limit, _ := l.Budget.Cost.Get()
	return fmt.Sprintf("%s of %s", llm.Money(l.Spent.Cost), llm.Money(limit))
}

// listen is closed when something is given back here.
func (p *Reserver) listen() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.news
}

func (p *Reserver) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.news)
	p.news = make(chan struct{})
}

// Call bounds the usage of a call of a model.
type Call struct {
	Agent  id.Agent
	Model  string // for people
	Input  int64  // tokens that are read, at most
	Output int64  // tokens that are written, at most, if nothing binds
	Least  int64  // what Output may be lowered to
	Price  llm.Price
	Priced bool  // Price is known; it may be nothing
	Search int64 // searches of the web at the vendor, at most
}

// Worst returns the most that a call with that output can come to.
func (c Call) Worst(output int64) agent.Spending {
	// What is read may go into a cache, which costs more.
	plain := c.Price.Cost(llm.Usage{Input: c.Input, Output: output, Searches: c.Search})
	kept := c.Price.Cost(llm.Usage{CacheWrite: c.Input, CacheHour: c.Input, Output: output, Searches: c.Search})
	return agent.Spending{Tokens: c.Input + output, Cost: int64(max(plain, kept))}
}

// fits returns the largest output whose worst case is within tokens and cost, or less than 0 if none is.
func (c Call) fits(tokens, cost int64, bound, priced bool) int64 {
	out := c.Output
	if bound {
		out = min(out, tokens-c.Input)
	}
	if !priced || out < 0 || c.Worst(out).Cost <= cost {
		return out
	}
	// The first that is too much, less one.
	return int64(sort.Search(int(out)+1, func(n int) bool { return c.Worst(int64(n)).Cost > cost })) - 1
}

// Total sums up the calls that went through a door.
type Total struct {
	Calls     int64 // of models, that were sent
	Uncounted int64 // of them, whose usage is unknown
	Refused   int64 // that no budget held, and were not sent
	Usage     llm.Usage
	Cost      llm.Money
}

// Since returns the calls after an earlier total.
func (t Total) Since(was Total) Total {
	t.Calls -= was.Calls
	t.Uncounted -= was.Uncounted
	t.Refused -= was.Refused
	t.Cost -= was.Cost
	u, v := t.Usage, was.Usage
	t.Usage = llm.Usage{Input: u.Input - v.Input, Output: u.Output - v.Output, CacheRead: u.CacheRead - v.CacheRead, CacheWrite: u.CacheWrite - v.CacheWrite,
		Reasoning: u.Reasoning - v.Reasoning, CacheHour: u.CacheHour - v.CacheHour, Billed: u.Billed - v.Billed, Searches: u.Searches - v.Searches}
	return t
}

// counter adds up what goes through a door.
type counter struct {
	mu   sync.Mutex
	sum  Total              // guarded by mu
	open map[*underway]bool // calls that are not recorded yet; guarded by mu
	news chan struct{}      // closed when one is recorded; guarded by mu
}

// underway is a call whose answer is on its way.
type underway struct {
	told atomic.Bool // the program may know already that it is all
}

func (t *counter) begin() *underway {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open, t.news = map[*underway]bool{}, make(chan struct{})
	}
	u := &underway{}
	t.open[u] = true
	return u
}

// refuse counts a call that no budget held.
func (t *counter) refuse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Refused++
}

// end takes what a call came to; nil: it was not sent, or refused.
func (t *counter) end(u *underway, r *Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, u)
	close(t.news)
	t.news = make(chan struct{})
	if r == nil {
		return
	}
	t.sum.Calls++
	if !r.Counted {
		t.sum.Uncounted++
	}
	t.sum.Cost += r.Cost
	t.sum.Usage = t.sum.Usage.Plus(r.Usage)
}

// recordTime limits the time that the record of an answer that a program has may take.
const recordTime = 5 * time.Second

// Total returns the calls that went through so far. Calls whose whole answer the program may have are waited
// for, so that a caller that asks after the program has spoken finds all that led to it.
func (t *counter) Total(ctx context.Context) Total {
	late := time.NewTimer(recordTime)
	defer late.Stop()
	for {
		sum, news := t.look()
		if news == nil {
			return sum
		}
		select {
		case <-news:
		case <-late.C:
			return sum
		case <-ctx.Done():
			return sum
		}
	}
}

// look returns the sum; news is nil if nothing has to be waited for.
func (t *counter) look() (sum Total, news <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for u := range t.open {
		if u.told.Load() {
			return t.sum, t.news
		}
	}
	return t.sum, nil
}
