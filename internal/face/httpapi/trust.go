package httpapi

import (
	"context"
	"net/http"

	"ramet/internal/operation/public"
)

// Gate stands before what lies in the project; a workspace is one.
type Gate interface {
	// Trust lists what acts there, and how it differs from what a person accepted.
	Trust(ctx context.Context) (public.Trust, error)
	// Accept accepts what was listed under a digest; anything else is UNTRUSTED.
	Accept(ctx context.Context, digest string) (public.Trust, error)
}

// trusted are the routes of trust; without a workspace they find nothing.
type trusted struct{ gate Gate }

func (t trusted) routes() []Route {
	return []Route{
		Does(Route{Method: http.MethodGet, Path: "/api/v1/trust", Doc: Doc{
			ID: "getTrust", Tag: "trust", Summary: "List what in the project acts, and how it differs from what a person accepted",
		}}, http.StatusOK, t.list),
		Does(Route{Method: http.MethodPost, Path: "/api/v1/trust", Doc: Doc{
			ID: "acceptTrust", Tag: "trust", Summary: "Let act what was listed under a digest, in exactly these bytes",
		}}, http.StatusOK, t.accept),
	}
}

func (t trusted) list(c *Call, _ None) (public.Trust, error) {
	if t.gate == nil {
		return public.Trust{}, notHere("workspace")
	}
	return t.gate.Trust(c.Context())
}

// Acceptance names what a person has seen.
type Acceptance struct {
	Digest string `json:"digest"`
}

func (t trusted) accept(c *Call, a Acceptance) (public.Trust, error) {
	if t.gate == nil {
		return public.Trust{}, notHere("workspace")
	}
	return t.gate.Accept(c.Context(), a.Digest)
}
