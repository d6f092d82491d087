package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

const (
	sideBySide = 8  // calls that only read run so many at a time
	mostCalls  = 64 // of one answer; the rest is refused
)

// act carries out the calls of one message, or refuses them all where the message was
// cut. Each gets a result; only when nothing may be written any more, or nothing can, some do not.
func (r *turn) act(ctx context.Context, calls []llm.Part, cut bool) error {
	r.repeats.begin(calls)
	jobs := make([]*job, len(calls))
	var single, batch []*job
	for i, call := range calls {
		j := &job{call: call, over: make(chan struct{})}
		jobs[i] = j
		j.made = tool.Call{Agent: r.Agent, ID: call.CallID, Name: call.Name, Args: call.Args, Output: func([]byte) {}, Model: r.Model}
		found, refused, ok := r.Tools.Open().Find(call)
		if j.answer = refused; ok {
			j.tool, j.spec, j.made.Args, j.note = found.Tool, found.Spec(), found.Args, found.Note
		}
		switch {
		case cut:
			j.tool, j.answer = nil, tool.Failed(notOfLength)
		case i >= mostCalls:
			j.tool, j.answer = nil, tool.Failed(fmt.Sprintf(notOfMany, mostCalls))
		}
		if _, together := j.tool.(tool.Batch); together {
			batch = append(batch, j)
		} else {
			single = append(single, j)
		}
	}
	r.out.Calls += len(calls)
	err := r.singles(ctx, single)
	if err == nil && !r.out.Ended {
		err = r.batches(ctx, batch)
	}
	return r.leave(ctx, jobs, err)
}

// leave writes results for what has none, at the end of everything.
func (r *turn) leave(ctx context.Context, jobs []*job, err error) error {
	if r.out.Ended && (err == nil || LostAgent(err)) {
		return nil // it ended itself, and its history with it
	}
	if err == nil && ctx.Err() != nil {
		err = ContextFault(ctx)
	}
	if err != nil && LostAgent(err) {
		return err
	}
	var drafts []history.Draft
	var cut []*job
	for _, j := range jobs {
		switch {
		case j.written:
		case j.started:
			drafts = append(drafts, j.result(tool.Failed(unknownOutcome)))
			cut = append(cut, j)
		default:
			drafts = append(drafts, j.result(tool.Failed(notBegun)))
		}
	}
	writing := r.write(ctx, drafts...)
	for _, j := range cut {
		if writing != nil {
			break
		}
		r.emit(Event{Type: CallEnded, CallID: j.call.CallID, Tool: j.call.Name, Text: unknownOutcome, IsError: true})
	}
	if err == nil {
		return writing
	}
	return err
}

// singles carries out calls in their order; neighbours that only read run side by
// side.
func (r *turn) singles(ctx context.Context, jobs []*job) error {
	for len(jobs) > 0 && !r.out.Ended && ctx.Err() == nil {
		n := 1
		for onlyReads(jobs[0]) && n < len(jobs) && onlyReads(jobs[n]) {
			n++
		}
		if err := r.together(ctx, jobs[:n]); err != nil {
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

func onlyReads(j *job) bool { return j.tool != nil && j.spec.Access == tool.Reads }

// together runs jobs side by side and writes their results in order, each as soon
// as it is there.
func (r *turn) together(ctx context.Context, jobs []*job) error {
	running, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for _, j := range jobs {
		if err := r.permit(ctx, j); err != nil {
			for _, j := range jobs {
				j.started = false
			}
			return err
		}
	}
	var stopped error
	slots := make(chan struct{}, sideBySide)
	for _, j := range jobs {
		if !j.started {
			continue
		}
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			r.run(running, j)
		})
	}
	for _, j := range jobs {
		if j.started {
			<-j.over
		}
		if j.err != nil && ctx.Err() == nil && stopped == nil {
			stopped = j.err
		}
		if j.err != nil || stopped != nil && LostAgent(stopped) {
			continue // leave answers it
		}
		if err := r.conclude(ctx, j); err != nil {
			cancel()
			return err
		}
	}
	return stopped
}

// join writes what the calls of a message brought with them, and tells the model of tools
// that were opened.
func (r *turn) join(ctx context.Context, calls []llm.Part) error {
	open := r.Tools.Open()
	if told := slices.EqualFunc(r.offer, open.Told(), func(o llm.Tool, t tool.Tool) bool { return o.Name == tool.NameOf(t) }); !told {
		r.fixed -= sizeOfTools(r.offer)
		r.tell(open)
	}
	if r.Joins == nil {
		return nil
	}
	made := make([]tool.Call, len(calls))
	for i, c := range calls {
		made[i] = tool.Call{Agent: r.Agent, ID: c.CallID, Name: c.Name, Args: c.Args}
	}
	drafts, err := r.Joins(ctx, r.c.memos(), made)
	if err != nil {
		return err
	}
	return r.write(ctx, drafts...)
}

// tell lets the model know of tools from the next request on.
func (r *turn) tell(open tool.Box) {
	told := open.Told().Names()
	r.untold = slices.DeleteFunc(open.Names(), func(name string) bool { return slices.Contains(told, name) })
	r.offer = open.Offer()
	r.fixed += sizeOfTools(r.offer)
}

// sizeOfTools returns how much a model has to read of tools, about.
func sizeOfTools(offer []llm.Tool) (n int64) {
	for _, t := range offer {
		n += int64(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	return n
}

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
		if err := r.recordYes(ctx, j, record); err != nil {
			return err
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

// recordYes writes into the history that a person permitted a call, or something that the call does.
func (r *turn) recordYes(ctx context.Context, j *job, record *history.Permission) error {
	if record == nil || record.By != history.ByPerson {
		return nil
	}
	yes := history.Meta{Command: history.PermitCommand, CallID: text.Storable(j.call.CallID), Permission: record, Actor: record.Actor}
	return r.write(ctx, history.Draft{Kind: history.Command, Meta: yes})
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
	if j.spec.Access == tool.Commands { // such calls run one at a time, and nothing else is written meanwhile
		var writing sync.Mutex
		j.made.Record = func(ctx context.Context, record *history.Permission) error {
			writing.Lock()
			defer writing.Unlock()
			return r.recordYes(ctx, j, record)
		}
	}
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
	if !a.IsError {
		r.out.Worked++
	}
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
	return r.write(ctx, append(r.foreign(a.Foreign...), j.result(a))...)
}

// foreign drafts the mark of an agent that takes in content from these sources, once in a turn for each. It is written
// together with the content.
func (r *turn) foreign(sources ...string) []history.Draft {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s string) bool { return slices.Contains(r.sources, s) })
	if len(sources) == 0 {
		return nil
	}
	r.sources = append(r.sources, sources...)
	for i := range sources {
		sources[i] = r.kept(sources[i])
	}
	return []history.Draft{history.NewForeign(sources...)}
}

// waits reports whether a call has no result yet.
func (r *turn) waits(j *job) bool {
	return slices.ContainsFunc(r.c.Unanswered(), func(p llm.Part) bool { return p.CallID == j.call.CallID })
}

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
	if !out.IsError {
		r.out.Worked++
	}
	r.emit(out)
	return out.Text, out.IsError
}

func runAll(ctx context.Context, t tool.Batch, calls []tool.Call) (broken any, err error) {
	defer func() { broken = recover() }()
	return nil, t.RunAll(ctx, calls)
}
