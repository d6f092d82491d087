package driver

import (
	"context"
	"time"

	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// farewell is how long the end of a turn that was stopped may be held up by its files.
const farewell = 100 * time.Millisecond

// stating is what a turn knows of its files: the state before the first call that may write
// is told, and that after the last.
type stating struct {
	taking loop.Taking
	wrote  bool
}

// look begins to take the state that the turn begins with.
func (s *stating) look(ctx context.Context, t loop.Turn) {
	if t.Files != nil {
		s.taking = t.Files.Take(ctx)
	}
}

// before drafts the state before calls that may write, once.
func (s *stating) before(ctx context.Context, calls []*call) []history.Draft {
	if s.taking == nil {
		return nil
	}
	for _, c := range calls {
		if !c.mayWrite() {
			continue
		}
		draft, ok := s.taking.Done(ctx, history.BeforeCalls)
		s.taking = nil
		if ok {
			return []history.Draft{draft}
		}
		return nil
	}
	return nil
}

// begin says that a call begins that may write.
func (s *stating) begin(t loop.Turn) (end func()) {
	s.wrote = true
	if t.Files == nil {
		return func() {}
	}
	return t.Files.Begin()
}

// last writes the state that the turn ended with.
func (s *stating) last(ctx context.Context, r *turn) {
	if r.Files == nil || !s.wrote || r.failed != nil {
		return
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
	}
	if draft, ok := r.Files.Take(ctx).Done(ctx, history.AfterCalls); ok {
		r.write(ctx, draft) // the next turn tells it, if this cannot
	}
}
