package operation

import (
	"context"

	"ramet/internal/operation/public"
)

// LineageInput has no fields.
type LineageInput struct{}

// Lineage returns what a picture of all agents in time is drawn from.
var Lineage = Op[LineageInput, public.Lineage]{
	Doc: Doc{Name: "lineage", Group: "agents", ID: "getLineage", Route: "GET /api/v1/lineage 200", Faces: HTTP, Effect: Reads,
		Summary: "Get all agents that ever were, in time, with marks, rewinds and mail: what a picture of the lineage is drawn from"},
	Run: func(ctx context.Context, e *Env, _ LineageInput) (public.Lineage, error) {
		return e.Agents().Lineage(ctx)
	},
}
