package httpapi

import (
	"net/http"

	"ramet/internal/registry"
)

// Usage is where the calls of models are read; a workspace is one.
type Usage = registry.Receipts

func (s *Server) usageRoutes() []Route {
	return []Route{Does(Route{Method: http.MethodGet, Path: "/api/v1/usage", Doc: Doc{
		ID: "getUsage", Tag: "usage", Summary: "Add up what calls of models used and cost",
		Query: []Param{
			{Name: "by", About: "agent if absent", Enum: registry.Groupings},
			{Name: "since", About: "a date (2026-11-01) or an age (36h, 7d)"},
		},
	}}, http.StatusOK, s.usage)}
}

func (s *Server) usage(c *Call, _ None) (registry.Spending, error) {
	if s.o.Usage == nil {
		return registry.Spending{}, notHere("workspace")
	}
	since, err := registry.ParseSince(c.Query("since"), s.o.Now())
	if err != nil {
		return registry.Spending{}, badQuery("since", "is neither a date nor an age: write 2026-11-01, 36h or 7d", "")
	}
	by := c.Query("by")
	if by == "" {
		by = "agent"
	}
	return registry.AddUp(c.Context(), s.o.Usage, by, since)
}
