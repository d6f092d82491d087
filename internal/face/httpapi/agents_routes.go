package httpapi

import (
	"net/http"
)

// agentRoutes are the routes of agents; without a kernel they find nothing.
func agentRoutes(a Agents) []Route {
	const one = "/api/v1/agents/{ref}"
	doc := func(id, summary string, query ...Param) Doc {
		return Doc{ID: id, Tag: "agents", Summary: summary, Query: query}
	}
	table := append(a.operationRoutes(),
		Does(Route{Method: http.MethodGet, Path: "/api/v1/home", Doc: doc("getHome", "List the living as the screens of all agents show them: by what a person can do about them")},
			http.StatusOK, a.home),
		Does(Route{Method: http.MethodGet, Path: one + "/messages", Doc: doc("listMessages", "Read a page of an agent's messages, oldest first",
			Param{Name: "after", About: "only after this message", Form: "integer"},
			Param{Name: "before", About: "the newest before this message, instead", Form: "integer"},
			Param{Name: "limit", About: "1 to 1000; 100 if absent", Form: "integer"},
			Param{Name: "own", About: "1: its own entries, of every kind; 0: its whole lineage, back to the last clear", Form: "boolean"})},
			http.StatusOK, a.messages),
		Does(Route{Method: http.MethodGet, Path: one + "/messages/{message}/parts/{part}", Doc: doc("getPart", "Read the content of a part that is stored separately",
			Param{Name: "offset", About: "bytes to leave out", Form: "integer"})}, http.StatusOK, a.part),
		a.eventRoute(),
	)
	return append(table, a.permissionRoutes()...)
}
