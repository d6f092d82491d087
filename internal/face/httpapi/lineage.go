package httpapi

import (
	"net/http"

	"ramet/internal/operation/public"
)

func (a Agents) lineageRoute() Route {
	return Does(Route{Method: http.MethodGet, Path: "/api/v1/lineage", Doc: Doc{ID: "getLineage", Tag: "agents",
		Summary: "Everybody who ever was, in time, with marks, rewinds and letters: what a picture of the lineage is made of"}}, http.StatusOK, a.lineage)
}

func (a Agents) lineage(c *Call, _ None) (public.Lineage, error) {
	if err := a.here(); err != nil {
		return public.Lineage{}, err
	}
	return a.Workspace.Agents().Lineage(c.Context())
}
