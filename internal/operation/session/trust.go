package session

import (
	"context"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/core/config"
	"ramet/internal/core/kit"
	"ramet/internal/core/trust"
	"ramet/internal/driver"
	"ramet/internal/files/worktree"
	"ramet/internal/operation/public"
	"ramet/internal/tools/hookprogram"
	"ramet/internal/tools/mcp"
)

// Gate stands before the project that the command was given in, with every kind of thing
// that acts.
func (s *Session) Gate(ctx context.Context) (trust.Gate, error) {
	home, err := s.HomeDir()
	if err != nil {
		return trust.Gate{}, err
	}
	project, err := config.ProjectFolder(s.Dir)
	return openGate(ctx, home, project), err
}

func openGate(ctx context.Context, home, project string) trust.Gate {
	return trust.Gate{Home: home, Project: project, Sources: slices.Concat(trust.Standard(), kit.Sources(), []trust.Source{hookprogram.Source(), mcp.Source(), driver.PresetSource(), worktree.Programs(ctx)})}
}

// Trust lists what acts in the project of the workspace.
func (w Project) Trust(ctx context.Context) (public.Trust, error) {
	r, err := openGate(ctx, w.ws.Home, w.ws.Place.Project).Review()
	if err != nil {
		return public.Trust{}, err
	}
	return FormatReview(r)
}

// Accept lets act what was listed under a digest; if it is something else by now,
// UNTRUSTED, and nothing is accepted.
func (w Project) Accept(ctx context.Context, digest string) (public.Trust, error) {
	g := openGate(ctx, w.ws.Home, w.ws.Place.Project)
	r, err := g.Review()
	if err == nil {
		err = AcceptReview(ctx, g, r, digest)
	}
	if err != nil {
		return public.Trust{}, err
	}
	return w.Trust(ctx)
}

// AcceptReview accepts a review, if it has the digest that a person named.
func AcceptReview(ctx context.Context, g trust.Gate, r trust.Review, digest string) error {
	if now := r.Digest(); now != digest {
		return fault.New(fault.Untrusted, "what would act is not %.64s: it is %s", digest, now).
			WithHint("nothing was accepted; look again with `ramet trust --list`")
	}
	return g.Accept(ctx, r)
}

// FormatReview returns the public shape of a review.
func FormatReview(r trust.Review) (public.Trust, error) {
	out := public.Trust{Project: r.Project, Trusted: r.Trusted(), Given: r.Given, Digest: r.Digest(), Things: []public.Thing{}}
	for _, i := range r.Items {
		t := public.Thing{Kind: string(i.Kind), Path: i.Path, Size: len(i.Data), Does: i.Does, Change: string(i.Change),
			Link: public.Optional(trust.Reveal(i.Link)), Refused: public.Optional(i.Refused), Invisible: []string{}}
		if i.Refused == "" && i.Change != trust.Gone {
			t.SHA256 = public.Optional(i.SHA256())
		}
		for _, m := range trust.Invisible(i.Data) {
			t.Invisible = append(t.Invisible, m.String())
		}
		if i.Change != trust.Same && i.Refused == "" {
			var err error
			if t.Diff, err = r.Diff(i); err != nil {
				return out, err
			}
		}
		out.Things = append(out.Things, t)
	}
	return out, nil
}
