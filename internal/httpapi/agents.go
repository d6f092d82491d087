package httpapi

import (
	"context"
	"net/http"

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
	Events *Events // of the kernel and the store
	Asks   *Asks   // what the kernel's policy asks; nil: nothing is asked
}

// Verbs is what a person asks over HTTP (package session). A kernel runs there.
type Verbs interface {
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

// agentRoutes are the routes of agents; without a kernel they find nothing.
func agentRoutes(a Agents, _ *Server) []Route {
	const one = "/api/v1/agents/{ref}"
	doc := func(id, summary string, query ...Param) Doc {
		return Doc{ID: id, Tag: "agents", Summary: summary, Query: query}
	}
	cascade := Param{Name: "cascade", About: "everything below it too, as if absent", Form: "boolean"}
	table := []Route{
		Does(Route{Method: http.MethodGet, Path: "/api/v1/agents", Doc: doc("listAgents", "List agents, parents before children",
			Param{Name: "all", About: "the dead too", Form: "boolean"})}, http.StatusOK, a.list),
		Does(Route{Method: http.MethodGet, Path: one, Doc: doc("getAgent", "Get one agent: 0, a name, a uuid or the beginning of one")},
			http.StatusOK, a.one),
		Does(Route{Method: http.MethodGet, Path: one + "/messages", Doc: doc("listMessages", "Read a page of an agent's messages, oldest first",
			Param{Name: "after", About: "only behind this message", Form: "integer"},
			Param{Name: "before", About: "the newest before this message, instead", Form: "integer"},
			Param{Name: "limit", About: "1 to 1000; 100 if absent", Form: "integer"},
			Param{Name: "own", About: "1: those that it stored itself, of every kind; 0: its whole lineage, back to the last clear", Form: "boolean"})},
			http.StatusOK, a.messages),
		Does(Route{Method: http.MethodGet, Path: one + "/messages/{message}/parts/{part}", Doc: doc("getPart", "Read the content of a part that stands elsewhere",
			Param{Name: "offset", About: "bytes to leave out", Form: "integer"})}, http.StatusOK, a.part),
		Does(Route{Method: http.MethodGet, Path: one + "/mail", Doc: doc("listMail", "List an agent's letters, unread first; marks nothing",
			Param{Name: "unread", About: "only those that wait", Form: "boolean"},
			Param{Name: "limit", About: "1 to 1000; 200 if absent", Form: "integer"})}, http.StatusOK, a.mail),
		Does(Route{Method: http.MethodPost, Path: one + "/prompt", Limit: recordBody, Doc: doc("promptAgent", "Say something to an agent: a turn begins, or waits for the one before")},
			http.StatusAccepted, a.prompt),
		Does(Route{Method: http.MethodPost, Path: one + "/fork", Limit: recordBody, Doc: doc("forkAgent", "Fork an agent; with a prompt, the child begins to work")},
			http.StatusCreated, a.fork),
		Does(Route{Method: http.MethodGet, Path: one + "/kill-preview", Doc: doc("previewKill", "Count those that a kill would end", cascade)},
			http.StatusOK, a.preview),
		Does(Route{Method: http.MethodPost, Path: one + "/kill", Doc: doc("killAgent", "End an agent; confirm is the number of those that end")},
			http.StatusOK, a.kill),
		Does(Route{Method: http.MethodPost, Path: one + "/interrupt", Doc: doc("interruptAgent", "Stop the turn of an agent, if there is one")},
			http.StatusOK, a.interrupt),
		Does(Route{Method: http.MethodPost, Path: one + "/send", Limit: 2 * mail.MaxBody, Doc: doc("sendLetter", "Send an agent a letter, from you")},
			http.StatusCreated, a.send),
		a.eventRoute(),
	}
	return append(append(table, a.permissionRoutes()...), a.modeRoutes()...)
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
