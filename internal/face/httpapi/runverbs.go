package httpapi

import (
	"context"

	"ramet/internal/operation/public"
)

// RunVerbs carry out runs (session.Runs). What a recipe does is permitted by whoever names it:
// the routes are the person's, not those of agents.
type RunVerbs interface {
	Start(ctx context.Context, s public.RunStart) (public.RunMade, error)
	Resume(ctx context.Context, runID string, s public.RunResume) (public.RunMade, error)
	Cancel(ctx context.Context, runID string, s public.RunCancel) (public.RunMade, error)
	Fork(ctx context.Context, runID string, s public.RunFork) (public.RunMade, error)
}

func (l runLogs) start(c *Call, in public.RunStart) (public.RunMade, error) {
	if l.verbs == nil {
		return public.RunMade{}, notHere("verbs of runs")
	}
	return l.verbs.Start(c.Context(), in)
}

func (l runLogs) resume(c *Call, in public.RunResume) (public.RunMade, error) {
	if l.verbs == nil {
		return public.RunMade{}, notHere("verbs of runs")
	}
	return l.verbs.Resume(c.Context(), c.Param("run_id"), in)
}

func (l runLogs) cancel(c *Call, in public.RunCancel) (public.RunMade, error) {
	if l.verbs == nil {
		return public.RunMade{}, notHere("verbs of runs")
	}
	return l.verbs.Cancel(c.Context(), c.Param("run_id"), in)
}

func (l runLogs) fork(c *Call, in public.RunFork) (public.RunMade, error) {
	if l.verbs == nil {
		return public.RunMade{}, notHere("verbs of runs")
	}
	return l.verbs.Fork(c.Context(), c.Param("run_id"), in)
}
