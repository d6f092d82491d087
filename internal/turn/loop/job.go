package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// permit begins a call: it is announced and asked for. A refusal is an answer; an
// error is the end of the turn.
func (r *turn) permit(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return ContextFault(ctx)
	}
	line := string(j.call.Args)
	if j.tool != nil && j.spec.Summary != nil {
		line = j.spec.Summary(j.made.Args)
	}
	r.emit(Event{Type: CallStarted, CallID: j.call.CallID, Tool: j.call.Name, Text: text.Line(line, maxLine)})
	if j.tool == nil {
		return nil
	}
	asking, err := r.objected(ctx, j)
	if err != nil || j.denied {
		return err
	}
	if j.spec.Access == tool.Writes && j.spec.Subject != nil {
		j.made.Subject = j.spec.Subject(j.made.Args)
	}
	grant, record, err := r.Guard.Decide(asking, j.spec, j.made)
	j.record = record
	switch {
	case err == nil:
		// A person's yes is durable before anything happens because of it.
		if record != nil && record.By == history.ByPerson {
			if err := r.write(ctx, draftPermission(j)); err != nil {
				return err
			}
		}
		j.made.Grant, j.started = grant, true
		return nil
	case fault.Is(err, fault.Denied):
		j.denied, j.answer = true, tool.Failed(err.Error())
		r.out.Denied++
		return nil
	}
	return err
}

// run runs a tool. Its panic is its own.
func (r *turn) run(ctx context.Context, j *job) {
	out := printer{turn: r, job: j}
	j.made.Output = out.print
	defer close(j.over)
	defer out.flush()
	defer func() {
		if broken := recover(); broken != nil {
			j.answer, j.err = answerPanic(broken), nil
		}
	}()
	defer r.writes(j)()
	j.made.Note = j.note
	j.answer, j.err = j.tool.Run(ctx, j.made)
}

func answerPanic(broken any) tool.Answer {
	return tool.Answer{IsError: true, Text: "The tool itself broke; what it did before is not known.",
		Show: "panic: " + text.Line(fmt.Sprint(broken), maxLine)}
}

// conclude writes the result of a call, if the tool has not, and counts it.
func (r *turn) conclude(ctx context.Context, j *job) error {
	a := j.answer
	if j.note != "" {
		a.Text = strings.TrimSuffix(a.Text, "\n") + "\n" + j.note
	}
	if j.started && !a.IsError && !a.Ends {
		said, err := r.happened(ctx, j, j.answer.Text)
		switch {
		case err != nil && ctx.Err() == nil: // else the result is written all the same
			return err
		case a.Recorded:
			r.aside(said)
		case said != "":
			a.Text = strings.TrimSuffix(a.Text, "\n") + "\n" + said
		}
	}
	a.Text, a.Show = text.Middle(r.kept(a.Text), maxResult), clipEnd(r.kept(a.Show), maxShow)
	if a.Show == a.Text {
		a.Show = ""
	}
	if warning := r.repeats.note(j.call, a.Text, a.IsError, r.Limits.Repeats); warning != "" {
		a.Text = strings.TrimSuffix(a.Text, "\n") + "\n" + warning
	}
	r.out.Ended = r.out.Ended || a.Ends
	err := r.keep(ctx, j, a)
	if err != nil && !(a.Ends && LostAgent(err)) {
		return err
	}
	j.written = true
	r.count(j, a.IsError)
	people := cmp.Or(a.Show, clipEnd(a.Text, maxShow))
	r.emit(Event{Type: CallEnded, CallID: j.call.CallID, Tool: j.call.Name, Text: people, IsError: a.IsError})
	return nil
}

func (r *turn) keep(ctx context.Context, j *job, a tool.Answer) error {
	if a.Recorded {
		if _, err := r.catchUp(ctx); err != nil {
			return err
		}
		if a.Ends || !r.waits(j) {
			return nil
		}
	}
	return r.write(ctx, j.result(a))
}

// waits reports whether a call has no result yet.
func (r *turn) waits(j *job) bool {
	return slices.ContainsFunc(r.c.Unanswered(), func(p llm.Part) bool { return p.CallID == j.call.CallID })
}

func (r *turn) count(j *job, failed bool) {
	if !failed {
		r.out.Worked++
	}
}
