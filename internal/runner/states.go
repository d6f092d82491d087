package runner

import (
	"context"

	"ramet/internal/run"
)

// walk goes from state to state. The work of a transitional state is done in it, that
// of a stable one before it is entered.
func (r *Run) walk(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		next, err := r.onwards(ctx)
		if err != nil {
			return err
		}
		if next.Stable() {
			if err := r.work(ctx, next); err != nil {
				return err
			}
		}
		if err := r.enter(ctx, next); err != nil || next == run.Done {
			return err
		}
	}
}

// onwards does what is left to do in the present state and finds the next.
func (r *Run) onwards(ctx context.Context) (run.State, error) {
	state := r.now()
	switch state {
	case run.Validating:
		return r.validate(ctx)
	case run.Drafting, run.Linking, run.Fixing:
		if err := r.work(ctx, state); err != nil {
			return "", err
		}
	}
	return state.Next("")[0], nil
}

func (r *Run) now() run.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// enter changes the state, and with it those of the sections.
func (r *Run) enter(ctx context.Context, to run.State) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped != nil {
		return r.stopped
	}
	var records []Record
	switch to {
	case run.PlanReady:
		records = r.allSections(run.Outlined)
	case run.Validating:
		if r.state == run.Linking {
			records = r.allSections(run.Merged)
		}
	case run.ReadyForPR:
		records = r.allSections(run.Validated)
	case run.Done:
		records = append(records, Record{Type: run.RunCompleted, Payload: []byte("{}")})
	}
	if err := r.append(ctx, append(records, r.step(to, ""))...); err != nil {
		return err
	}
	r.state = to
	return nil
}

// work does all the work of a state, level by level: a worker's inputs are there before
// it begins.
func (r *Run) work(ctx context.Context, state run.State) error {
	for _, level := range r.Recipe.Order(state) {
		if err := r.level(ctx, level); err != nil {
			return err
		}
	}
	return nil
}
