package rundir

import (
	"context"
	"slices"

	"ramet/internal/run"
)

// admit refuses an event that cannot follow what is in the log, nor what comes with it. The log is
// read for it once (follow), and only when an event comes that needs it.
func (x *Session) admit(d run.Draft) error {
	if x.course == nil { // nothing that comes with it needs it
		return (&run.Course{}).Admit(x.reducer.State(), d.Type, d.Payload)
	}
	if err := x.course.Admit(x.reducer.State(), d.Type, d.Payload); err != nil {
		return err
	}
	x.course.Note(d.Type, d.Payload)
	return nil
}

// follow brings the course up to the end of the log.
func (x *Session) follow(ctx context.Context) error {
	if x.course != nil {
		return nil
	}
	course := &run.Course{}
	for e, err := range x.Events(ctx, 0) {
		if err != nil {
			return err
		}
		course.Note(e.Type, e.Payload)
	}
	x.course = course
	return nil
}

// completeEnd lets a run end of which a crash kept the first half: it is written how it
// ended, but not the step to that state. Whoever comes with both again writes the
// step alone.
func (x *Session) completeEnd(ctx context.Context, drafts []run.Draft) ([]run.Draft, error) {
	end := slices.IndexFunc(drafts, func(d run.Draft) bool {
		return d.Type == run.RunCompleted || d.Type == run.RunFailed || d.Type == run.RunCancelled
	})
	if end < 0 || end+1 >= len(drafts) || !run.EndsRun(drafts[end+1].Type, drafts[end+1].Payload) || x.reducer.State().Terminal() {
		return drafts, nil
	}
	if err := x.follow(ctx); err != nil {
		return nil, err
	}
	if _, ended := x.course.Ended(); !ended {
		return drafts, nil
	}
	return slices.Delete(drafts, end, end+1), nil
}
