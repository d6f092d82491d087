package httpapi

import (
	"context"
	"net/http"

	"ramet/internal/public"
)

// Gate stands before what lies in the project; a workspace is one.
type Gate interface {
	// Trust lists what acts there, and how it differs from what a person accepted.
	Trust(ctx context.Context) (public.Trust, error)
	// Accept accepts what was listed under a digest; anything else is UNTRUSTED.
	Accept(ctx context.Context, digest string) (public.Trust, error)
}

func (s *Server) trustRoutes() []Route {
	return []Route{
		Does(Route{Method: http.MethodGet, Path: "/api/v1/trust", Doc: Doc{
			ID: "getTrust", Tag: "trust", Summary: "List what in the project acts, and how it differs from what a person accepted",
		}}, http.StatusOK, s.trust),
		Does(Route{Method: http.MethodPost, Path: "/api/v1/trust", Doc: Doc{
			ID: "acceptTrust", Tag: "trust", Summary: "Let act what was listed under a digest, in exactly these bytes",
		}}, http.StatusOK, s.accept),
	}
}

func (s *Server) trust(c *Call, _ None) (public.Trust, error) {
	if s.o.Gate == nil {
		return public.Trust{}, notHere("workspace")
	}
	return s.o.Gate.Trust(c.Context())
}

// Acceptance names what a person has seen.
type Acceptance struct {
	Digest string `json:"digest"`
}

func (s *Server) accept(c *Call, a Acceptance) (public.Trust, error) {
	if s.o.Gate == nil {
		return public.Trust{}, notHere("workspace")
	}
	return s.o.Gate.Accept(c.Context(), a.Digest)
}
