package httpapi

import (
	"net/http"

	"ramet/internal/core/agent"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func (a Agents) searchRoute() Route {
	return Does(Route{Method: http.MethodGet, Path: "/api/v1/search", Doc: Doc{ID: "searchMessages", Tag: "agents", Summary: "Find messages that hold some words, newest first",
		Query: []Param{
			{Name: "q", About: "the words, whatever their case"},
			{Name: "agent", About: "only in the history of this agent, inherited messages included: 0, a name, a uuid or the beginning of one"},
			{Name: "limit", About: "1 to 1000; 100 if absent", Form: "integer"},
		}}}, http.StatusOK, a.search)
}

func (a Agents) search(c *Call, _ None) (public.Search, error) {
	out := public.Search{Found: []public.Hit{}}
	if err := a.here(); err != nil {
		return out, err
	}
	limit, err := c.Number("limit", 1, 1000, 100)
	if err != nil {
		return out, err
	}
	query := c.Request.URL.Query()
	ask := session.Search{Words: query.Get("q"), Limit: int(limit)}
	if ref := query.Get("agent"); ref != "" {
		found, err := agent.Find(c.Context(), a.Store, ref)
		if err != nil {
			return out, err
		}
		ask.Of = found.ID
	}
	return a.Workspace.History().Search(c.Context(), ask)
}
