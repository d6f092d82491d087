package loop

import (
	"context"
)

// goesOn asks, when the model has said its last word, whether the turn may end there. What
// it is told instead is a notice, and it is asked again.
func (r *turn) goesOn(ctx context.Context) (bool, error) {
	if r.out.Ended {
		return false, nil
	}
	if r.Ending != nil {
		what, err := r.Ending(ctx)
		if err != nil {
			return false, err
		}
		if what != "" {
			return true, r.write(ctx, Notice(r.kept(what)))
		}
	}
	return r.mayStop(ctx)
}
