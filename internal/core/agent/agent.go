// Package agent is the registry of processes: who exists, who descends from
// whom, who may write for whom.
//
// An agent is made by a fork and never deleted; it is running or dead, and its
// parent never changes. Agent 0 is the root of its workspace. What a running
// agent is doing at the moment is not here: that is the kernel's knowledge.
package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// Status of an agent in the registry.
type Status string

// The two states of a process.
const (
	Running Status = "running"
	Dead    Status = "dead"
)

// Agent is one row of the registry.
type Agent struct {
	ID          id.Agent
	Name        string     // optional; unique among the living
	Parent      id.Agent   // empty for agent 0 only
	ForkMessage id.Message // the parent's last own entry before the fork; 0 for agent 0
	Depth       int        // generations below agent 0

	Status    Status
	EndReason string
	CreatedAt time.Time
	EndedAt   time.Time // zero while running

	Provider, Model, Cwd string

	Lease Lease

	Genesis  id.Message // first own entry: agents are listed in this order
	Head     id.Message // newest own entry
	HeadHash chain.Hash
	Own      int64 // own entries that reach the model
	Total    int64 // messages in its context now, inherited ones included
	Unread   int64 // letters waiting; filled by Directory.Agents

	Spent  Spending // by its own calls of models
	Budget Budget   // its own; those of its ancestors bind it too
}

// IsZero reports whether this is agent 0.
func (a Agent) IsZero() bool { return a.Parent == "" }

// Label returns what people call the agent: its name, else 0, else its short id.
func (a Agent) Label() string {
	switch {
	case a.Name != "":
		return a.Name
	case a.IsZero():
		return "0"
	}
	return a.ID.Short()
}

// longestName limits how long a name may be.
const longestName = 63

// isValidName reports whether a name keeps the rule: [a-z][a-z0-9._-]*. Every command that names an agent
// asks, so it is no expression that would be compiled for that.
func isValidName(name string) bool {
	if name == "" || len(name) > longestName || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// reserved are words with another meaning.
var reserved = []string{"you", "user", "parent", "kernel"}

// CheckName refuses names that break the rule, and words with another meaning.
func CheckName(name string) error {
	if slices.Contains(reserved, name) || name == "0" {
		return fault.New(fault.InvalidName, "no agent can be called %q: the word has another meaning", name).
			WithHint("choose another name")
	}
	if isValidName(name) {
		return nil
	}
	return fault.New(fault.InvalidName, "%.80q is not a name for an agent", name).
		WithHint("a name begins with a-z, followed by a-z 0-9 . _ -, at most 63 characters")
}

// NeedLiving refuses the dead.
func NeedLiving(a Agent) error {
	if a.Status == Running {
		return nil
	}
	return fault.New(fault.DeadAgent, "agent %s is dead since %s (%s)", a.Label(),
		a.EndedAt.UTC().Format(time.RFC3339), a.EndReason).
		WithHint("read it with `ramet log %s`, or fork a living one", a.ID)
}

// Filter chooses agents for Directory.Agents.
type Filter struct {
	Dead     bool // the dead too
	OnlyDead bool // none but the dead
	Brief    bool // only what a tree shows: ID, Genesis, Parent, Status, Name, CreatedAt, Own, Total, Unread, Provider, Model
}

// Directory finds agents. It never changes anything.
type Directory interface {
	// Agent reads one row. Unknown: NOT_FOUND.
	Agent(ctx context.Context, a id.Agent) (Agent, error)
	// Zero reads agent 0.
	Zero(ctx context.Context) (Agent, error)
	// Agents lists in creation order, with unread counts and without the hashes of heads.
	Agents(ctx context.Context, f Filter) ([]Agent, error)
	// Named finds the living agent of that name, else the one that died last.
	Named(ctx context.Context, name string) (Agent, bool, error)
	// Prefixed lists at most limit agents whose uuid begins so.
	Prefixed(ctx context.Context, prefix string, limit int) ([]Agent, error)
	// Names lists the names of the living.
	Names(ctx context.Context) ([]string, error)
}

// DriverVendor is the vendor of agents that another program drives: driver/NAME or driver/NAME/MODEL.
const DriverVendor = "driver"

// SplitDriver splits a provider and model into a driver's name and the model that its program is to use.
// ok is false if no program drives such an agent.
func SplitDriver(provider, ref string) (name, model string, ok bool) {
	if provider != DriverVendor {
		return "", "", false
	}
	name, model, _ = strings.Cut(ref, "/")
	return name, model, true
}

// Driver returns the name of the program that drives the agent, or "" for ramet's own loop.
func (a Agent) Driver() string {
	name, _, _ := SplitDriver(a.Provider, a.Model)
	return name
}

// Spending describes what calls of models used, from birth on: an agent's own, or
// those of a whole subtree.
type Spending struct {
	Tokens int64
	Cost   int64 // in billionths of a US dollar
}

// most bounds counts: the largest number that the JSON of a history
// keeps exactly. No process can spend it; a server that lies about usage can.
const most = 1<<53 - 1

// Plus adds, and stops at the largest number that can be told exactly.
func (s Spending) Plus(o Spending) Spending {
	return Spending{Tokens: min(s.Tokens+o.Tokens, most), Cost: min(s.Cost+o.Cost, most)}
}

// Budget describes what an agent and everything below it, the dead included, may spend
// in all. The zero Budget limits nothing.
type Budget struct {
	Tokens Limit
	Cost   Limit // in billionths of a US dollar
}

// IsZero reports whether nothing is limited.
func (b Budget) IsZero() bool { return b == Budget{} }

// Limit is an upper limit, or none at all. The zero Limit is none; AtMost(0)
// allows nothing.
type Limit struct {
	at  int64
	set bool
}

// AtMost returns a limit.
func AtMost(n int64) Limit { return Limit{n, true} }

// MaybeAtMost returns a limit, or none for nil.
func MaybeAtMost(n *int64) Limit {
	if n == nil {
		return Limit{}
	}
	return AtMost(*n)
}

// Get returns the number, and whether there is a limit.
func (l Limit) Get() (int64, bool) { return l.at, l.set }

// Left returns what remains of a limit after spending, never less than 0; ok is
// false where there is no limit.
func (l Limit) Left(spent int64) (n int64, ok bool) { return max(0, l.at-spent), l.set }
