package httpapi

import (
	"net/http"
	"time"

	"ramet/internal/core/registry"
)

// Usage is where the calls of models are read; a workspace is one.
type Usage = registry.Receipts

// spent are the routes of usage; without receipts they find nothing.
type spent struct {
	receipts Usage
	now      func() time.Time
}

func (u spent) routes() []Route {
	return []Route{Does(Route{Method: http.MethodGet, Path: "/api/v1/usage", Doc: Doc{
		ID: "getUsage", Tag: "usage", Summary: "Add up what calls of models used and cost",
		Query: []Param{
			{Name: "by", About: "agent if absent", Enum: registry.Groupings},
			{Name: "since", About: "a date (2026-11-01) or an age (36h, 7d)"},
		},
	}}, http.StatusOK, u.sum)}
}

func (u spent) sum(c *Call, _ None) (registry.Spending, error) {
	if u.receipts == nil {
		return registry.Spending{}, notHere("workspace")
	}
	since, err := registry.ParseSince(c.Query("since"), u.now())
	if err != nil {
		return registry.Spending{}, badQuery("since", "is neither a date nor an age: write 2026-11-01, 36h or 7d", "")
	}
	by := c.Query("by")
	if by == "" {
		by = "agent"
	}
	return registry.AddUp(c.Context(), u.receipts, by, since)
}
