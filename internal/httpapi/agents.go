package httpapi

import (
	"context"

	"ramet/internal/public"
	"ramet/internal/registry"
	"ramet/internal/session"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/mail"
	"ramet/internal/permit"
	"ramet/internal/proc"
	"ramet/internal/state"
)

// Agents is what the routes below /api/v1/agents, /api/v1/permissions and
// /api/v1/events work on. Without a store they answer NOT_FOUND.
type Agents struct {
	Verbs  Verbs
	Store  AgentStore
	Events *Events // what happens in the kernel and in the store
	Asks   *Asks   // what the kernel's policy asks; nil: nothing is asked
}

// Verbs is what a person asks over HTTP (package session). A kernel runs there.
type Verbs interface {
	FileVerbs
	Begin(ctx context.Context, a agent.Agent, p proc.Prompt, work func(func(context.Context))) (int64, error)
	Fork(ctx context.Context, f session.Fork) (session.Forked, error)
	Victims(ctx context.Context, k session.Kill) (n int, cascade bool, err error)
	Kill(ctx context.Context, k session.Kill) (registry.Killed, error)
	Stop(ctx context.Context, s proc.Stop) (bool, error)
	Send(ctx context.Context, l session.Letter) (mail.Letter, error)
	List(ctx context.Context, all, brief bool) ([]agent.Node, error)
	States(ctx context.Context, all bool, only ...id.Agent) (state.Now, error)
	Standing(ctx context.Context, a agent.Agent) (permit.Standing, error)
	SetMode(ctx context.Context, a agent.Agent, m permit.Mode) error
}

// AgentStore is what routes read of a workspace.
type AgentStore interface {
	agent.Directory
	history.Log
	history.Viewer
	mail.Boxes
}

// AgentNow is an agent and what it does at the moment.
type AgentNow struct {
	public.Agent
	Doing *string `json:"doing"` // in a word or two; null: nothing
}

// AgentList is agents, parents before children.
type AgentList struct {
	Agents []AgentNow `json:"agents"`
}

// here refuses where there is no kernel.
func (a Agents) here() error {
	if a.Store == nil {
		return notHere("kernel")
	}
	return nil
}

// find is the agent that a path names.
func (a Agents) find(c *Call) (agent.Agent, error) {
	if err := a.here(); err != nil {
		return agent.Agent{}, err
	}
	return agent.Find(c.Context(), a.Store, c.Param("ref"))
}

func (a Agents) list(c *Call, _ None) (AgentList, error) {
	out := AgentList{[]AgentNow{}}
	if err := a.here(); err != nil {
		return out, err
	}
	all, err := c.Flag("all")
	if err != nil {
		return out, err
	}
	nodes, err := a.Verbs.List(c.Context(), all, false)
	if err != nil {
		return out, err
	}
	now, err := a.Verbs.States(c.Context(), all)
	if err != nil {
		return out, err
	}
	for _, n := range nodes {
		out.Agents = append(out.Agents, formatNow(*n.Agent, now))
	}
	return out, nil
}

func (a Agents) one(c *Call, _ None) (AgentNow, error) {
	found, err := a.find(c)
	if err != nil {
		return AgentNow{}, err
	}
	unread, err := a.Store.Letters(c.Context(), found.ID, mail.Filter{Unread: true})
	if err != nil {
		return AgentNow{}, err
	}
	found.Unread = int64(len(unread))
	now, err := a.Verbs.States(c.Context(), false, found.ID)
	return formatNow(found, now), err
}

// formatNow is an agent with what it does.
func formatNow(a agent.Agent, now state.Now) AgentNow {
	out := AgentNow{Agent: public.FormatNow(a, now)}
	if s := now.Of(a); s.Busy() {
		doing := s.Short(80)
		out.Doing = &doing
	}
	return out
}
