package loop

import (
	"context"
	"fmt"
	"slices"
	"sync"

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
	if open := r.Tools.Open(); !offersExactly(r.offer, open.Told()) {
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

// offersExactly reports whether the model was told of exactly these tools.
func offersExactly(offer []llm.Tool, box tool.Box) bool {
	return slices.EqualFunc(offer, box, func(o llm.Tool, t tool.Tool) bool { return o.Name == tool.NameOf(t) })
}
