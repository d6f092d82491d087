package httpapi

import (
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/state"
)

// Agents is what the routes below /api/v1/agents, /api/v1/permissions and
// /api/v1/events work on. Without a store they answer NOT_FOUND.
type Agents struct {
	Client    operation.Client
	Workspace *session.Workspace // a kernel runs there
	Store     AgentStore
	Events    *Events // what happens in the kernel and in the store
	Asks      *Asks   // what the kernel's policy asks; nil: nothing is asked
}

// AgentStore is what routes read of a workspace.
type AgentStore interface {
	agent.Directory
	history.Log
	history.Viewer
	mail.Boxes
}

// AgentNow is an agent and what it does at the moment.
type AgentNow = public.AgentNow

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

// unread counts the letters that wait for an agent.
func (a Agents) unread(c *Call, one *agent.Agent) error {
	letters, err := a.Store.Letters(c.Context(), one.ID, mail.Filter{Unread: true})
	one.Unread = int64(len(letters))
	return err
}

func (a Agents) one(c *Call, _ None) (AgentNow, error) {
	found, err := a.find(c)
	if err != nil {
		return AgentNow{}, err
	}
	if err := a.unread(c, &found); err != nil {
		return AgentNow{}, err
	}
	now, err := a.Workspace.Agents().States(c.Context(), false, found.ID)
	if err != nil {
		return AgentNow{}, err
	}
	return a.format(c, found, now)
}

// format is an agent with what it does and, where another program drives it, what that spent.
func (a Agents) format(c *Call, one agent.Agent, now state.Now) (AgentNow, error) {
	out := public.FormatDoing(one, now)
	var err error
	out.Driven, err = a.Workspace.Programs().DrivenOf(c.Context(), one)
	return out, err
}
