package loop

import (
	"context"
	"errors"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/turn/tool"
)

// batches carries out the calls of each tool that takes them together.
func (r *turn) batches(ctx context.Context, jobs []*job) error {
	for len(jobs) > 0 && ctx.Err() == nil {
		var mine, rest []*job
		for _, j := range jobs {
			if j.spec.Name == jobs[0].spec.Name {
				mine = append(mine, j)
			} else {
				rest = append(rest, j)
			}
		}
		if err := r.batch(ctx, mine); err != nil {
			return err
		}
		jobs = rest
	}
	return nil
}

func (r *turn) batch(ctx context.Context, jobs []*job) error {
	var permitted []*job
	var calls []tool.Call
	for _, j := range jobs {
		if err := r.permit(ctx, j); err != nil {
			return err
		}
		if j.denied {
			if err := r.conclude(ctx, j); err != nil {
				return err
			}
			continue
		}
		j.started = false // nothing happens before all of it does
		j.made.Note = j.note
		permitted, calls = append(permitted, j), append(calls, j.made)
	}
	if len(calls) == 0 {
		return nil
	}
	broken, err := runAll(ctx, permitted[0].tool.(tool.Batch), calls)
	why, isFault := fault.Of(err)
	switch {
	case broken != nil: // it may have happened
	case err == nil:
	case ctx.Err() != nil:
		return ContextFault(ctx)
	case !isFault || LostAgent(err) || isStorageFault(err):
		return err
	default:
		for _, j := range permitted {
			j.answer = tool.Failed(why.Error())
			if c := (*tool.Culprit)(nil); errors.As(err, &c) && c.CallID != j.call.CallID {
				j.answer = tool.Failed(c.Others(j.call.Name))
			}
			if err := r.conclude(ctx, j); err != nil {
				return err
			}
		}
		return nil
	}
	for _, j := range permitted {
		j.started = true
	}
	entries, err := r.catchUp(ctx)
	if err != nil {
		return err
	}
	for _, j := range permitted {
		if r.waits(j) {
			j.answer = tool.Failed("The tool gave no result for this call; what it did is not known.")
			if broken != nil {
				j.answer = answerPanic(broken)
			}
			if err := r.conclude(ctx, j); err != nil {
				return err
			}
			continue
		}
		answer, failed := r.told(j, entries)
		if failed {
			continue
		}
		said, err := r.happened(ctx, j, answer)
		if err != nil {
			return err
		}
		r.aside(said)
	}
	return nil
}

// told counts a result that the tool wrote, and tells of it.
func (r *turn) told(j *job, entries []history.Entry) (answer string, failed bool) {
	j.written = true
	out := Event{Type: CallEnded, CallID: j.call.CallID, Tool: j.call.Name}
	for _, e := range entries {
		if e.Kind != history.ToolResult {
			continue
		}
		parts, err := e.Parts()
		if err != nil {
			continue // it was read a moment ago
		}
		for _, p := range parts {
			if p.Type != history.Result || p.CallID != j.call.CallID {
				continue
			}
			if out.IsError, out.Text = p.IsError, p.Show; out.Text == "" {
				out.Text = clipEnd(p.Text, maxShow)
			}
		}
	}
	r.repeats.note(j.call, out.Text, out.IsError, r.Limits.Repeats)
	r.count(j, out.IsError)
	r.emit(out)
	return out.Text, out.IsError
}

func runAll(ctx context.Context, t tool.Batch, calls []tool.Call) (broken any, err error) {
	defer func() { broken = recover() }()
	return nil, t.RunAll(ctx, calls)
}
