package registry

import (
	"context"
	"iter"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// Reply describes what was shown of a reply that is not in the history yet.
type Reply struct {
	Agent id.Agent
	Claim agent.Claim // the right to write; not stored
	After id.Message  // the agent's newest own entry, which the reply follows
	Text  string
}

// Replies keeps what a crash would lose of replies that are being streamed, one
// for each agent. What is kept ends by itself: a reply counts only as long as
// the agent lives and its newest own entry is the one that the reply follows.
type Replies interface {
	// KeepReplies keeps replies, all in one transaction; each takes the place
	// of its agent's former one. A reply that is over (its claim is no longer
	// good, or its agent has gone on from After, or is dead or unknown) is left
	// out without an error, and the others are kept.
	KeepReplies(ctx context.Context, replies []Reply) error
	// Reply reads what was kept of an agent's reply, if it still counts.
	Reply(ctx context.Context, a id.Agent) (Reply, bool, error)
}

// Allowance is one limit that binds an agent.
type Allowance struct {
	Of     agent.Agent // whose limit it is
	Budget agent.Budget
	Spent  agent.Spending // by Of and everything below it, the dead included
	Held   agent.Spending // by calls under way there, at worst (Hold); those of dead kernels too
}

// Left returns what may still be set aside: what neither is spent nor may be. false: no limit.
func (l Allowance) Left() (tokens, cost int64, tokensLimited, costLimited bool) {
	used := l.Spent.Plus(l.Held)
	tokens, tokensLimited = l.Budget.Tokens.Left(used.Tokens)
	cost, costLimited = l.Budget.Cost.Left(used.Cost)
	return tokens, cost, tokensLimited, costLimited
}

// Hold describes what a call of a model may come to at worst. It is set aside before the call is
// sent, and given back when what it came to is in the history.
type Hold struct {
	ID    string // drawn by the sender of the call
	Agent id.Agent
	Owner string // the kernel that sends it
	Worst agent.Spending
}

// Short is the error of a hold that does not fit.
type Short struct{ Allowance Allowance }

func (s Short) Error() string {
	return "the budget of agent " + s.Allowance.Of.Label() + " does not hold the call"
}

// Budgets knows what may be spent.
type Budgets interface {
	// Allowances lists the agent's own limits and those of its ancestors,
	// nearest first, through the dead. No limits: none, at the cost of a look
	// at the ancestors; each limit costs a look at all agents below it.
	// Unknown: NOT_FOUND.
	Allowances(ctx context.Context, a id.Agent) ([]Allowance, error)
	// Spent returns what the agent and everything below it, the dead included, spent so
	// far.
	Spent(ctx context.Context, a id.Agent) (agent.Spending, error)
	// Held returns what their calls may come to at worst that are under way, or of which it is unknown what they
	// came to.
	Held(ctx context.Context, a id.Agent) (agent.Spending, error)
	// Reserve sets a hold aside in every limit that binds its agent, or in none: then it is
	// Short, and says which limit it does not fit. No two holds are set aside in the same
	// rest, for every caller. Without limits it does nothing. The same hold again changes
	// nothing. A dead agent: DEAD_AGENT.
	Reserve(ctx context.Context, h Hold) error
	// Settle gives a hold back. What the call came to was written before, or nothing was
	// sent; a caller that does not know leaves the hold, which then counts as spent.
	Settle(ctx context.Context, hold string) error
	// Calls streams the usage entries of all histories, in order of id, since a
	// moment. Each call of a model is one entry of one history, so forks count
	// nothing twice. The entries have no content.
	Calls(ctx context.Context, since time.Time) iter.Seq2[history.Entry, error]
}

// The reasons to ring.
const (
	RingMail   = "mail"   // a letter came for the agent
	RingKilled = "killed" // the agent was killed
	RingForked = "forked" // another process wrote to the agent's history while a kernel held it (agent.Beside)
	RingStop   = "stop"   // another process wants the agent's turn to end
)

// Ring is a call to look at an agent. The zero Ring says: something may have
// happened to anybody, look yourself.
type Ring struct {
	Agent id.Agent
	What  string // RingMail, RingKilled, RingForked or RingStop
}

// Bell reports what other processes did to agents, so that no process has to poll. It
// only calls to look: what happened is in the store.
type Bell interface {
	// Listen calls ring for each letter and each end of an agent that becomes
	// durable, until ctx ends, and returns nil then. It rings Ring{} when it has
	// begun to listen: what happened before then is not told. After a lost
	// connection it connects again and rings Ring{}. An error is returned only if it could
	// not begin at all. ring is called by one goroutine at a time, must return
	// soon, and may be called for the caller's own doings.
	//
	// On SQLite no other process can ring, so that nothing can be missed
	// before it listens: nothing comes.
	Listen(ctx context.Context, ring func(Ring)) error
	// Call rings for those who listen. false: no other process can hear it.
	Call(ctx context.Context, r Ring) (bool, error)
}
