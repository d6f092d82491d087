package operation

import (
	"context"

	"ramet/internal/operation/public"
)

// ShowTrust lists what acts in the project. On the command line "trust" does it without a workspace.
var ShowTrust = Op[NoInput, public.Trust]{
	Doc: Doc{Name: "trust show", Group: "trust", ID: "getTrust", Route: "GET /api/v1/trust 200", Faces: HTTP, Effect: Reads,
		Summary: "List the files of the project that act, and how they differ from what a person accepted"},
	Run: func(ctx context.Context, e *Env, _ NoInput) (public.Trust, error) { return e.Project().Trust(ctx) },
}

// AcceptTrustInput names what a person has seen.
type AcceptTrustInput struct {
	Digest string `json:"digest" help:"of the list"`
}

// AcceptTrust lets act what was listed under a digest.
var AcceptTrust = Op[AcceptTrustInput, public.Trust]{
	Doc: Doc{Name: "trust accept", Group: "trust", ID: "acceptTrust", Route: "POST /api/v1/trust 200", Faces: HTTP, Persons: true,
		Summary: "Accept what was listed under a digest, in exactly these bytes"},
	Run: func(ctx context.Context, e *Env, in AcceptTrustInput) (public.Trust, error) {
		return e.Project().Accept(ctx, in.Digest)
	},
}
