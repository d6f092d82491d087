package httpapi

import (
	"ramet/internal/operation"
	"ramet/internal/operation/session"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
)

// Agents serves the routes below /api/v1/agents, /api/v1/permissions and /api/v1/events. Without a store they answer
// NOT_FOUND.
type Agents struct {
	Client    operation.Client
	Workspace *session.Workspace // a kernel runs there
	Store     AgentStore
	Events    *Events // what happens in the kernel and in the store
	Asks      *Asks   // what the kernel's policy asks; nil: nothing is asked
}

// AgentStore is the part of a workspace that routes read.
type AgentStore interface {
	agent.Directory
	history.Log
	history.Viewer
	mail.Boxes
}

// here refuses where there is no kernel.
func (a Agents) here() error {
	if a.Store == nil {
		return notHere("kernel")
	}
	return nil
}

func (a Agents) find(c *Call) (agent.Agent, error) {
	if err := a.here(); err != nil {
		return agent.Agent{}, err
	}
	return agent.Find(c.Context(), a.Store, c.Param("ref"))
}
