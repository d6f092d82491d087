package telemetry

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"ramet/internal/run"
)

// launch is the work of one process on the run.
type launch struct {
	record
	node     *record // of the state that the run is in; nil: not known
	visits   map[run.State]int
	gates    map[string]*record // that are running
	gateRuns map[string]int
	open     []*child        // in the order of beginning
	names    map[string]bool // the run_ids below it
	counts   counts
	resuming bool // only events of a resume so far
}

// child is a record that is open and what closes with it.
type child struct {
	*record
	item *item // whose call or record it is; nil: none
	call *call
}

type counts struct{ discovered, succeeded, failed int64 }

func (c counts) fields() fieldValues {
	return fieldValues{"items_discovered": c.discovered, "items_succeeded": c.succeeded, "items_failed": c.failed}
}

// isResume reports whether an event is one that a resume begins with, or may continue with.
func isResume(e run.Event) (begins, continues bool) {
	switch e.Type {
	case run.RunReopened, run.ResumeRewind:
		return true, true
	case run.RunStateChanged:
		why := run.ReadPayload[run.Step](e.Payload).Reason
		back := why == run.ReasonReopen || why == run.ReasonRewind || why == run.ReasonForce
		return back, back
	case run.WorkItemFailed:
		why := run.ReadPayload[run.ItemFailure](e.Payload).Error
		lost := why.Code == interrupted && why.Message == run.Gone
		return lost, lost
	case run.WorkItemInvalidated:
		return false, true
	}
	return false, false
}

// launchFor makes sure that there is a launch that the event belongs to.
func (f *Follow) launchFor(e run.Event, at time.Time) {
	begins, continues := isResume(e)
	switch {
	case f.now == nil:
		f.launch(f.begun, e, at)
		f.now.resuming = begins
	case begins && (!f.now.resuming || f.now.ended):
		f.abandon()
		f.launch(e, e, at)
		f.now.resuming = true
	case !continues:
		f.now.resuming = false
	}
}

// launch creates the record of a launch, and of the state that it finds. from is the
// event that has its span, first the one that it begins with.
func (f *Follow) launch(from, first run.Event, at time.Time) {
	f.n++
	runID := f.run
	if f.n > 1 {
		runID += "-l" + strconv.Itoa(f.n)
	}
	span := from.SpanID
	if from.Type == run.WorkItemFailed || span == "" { // the span of an item, which has its own record
		span = spanOf(runID)
	}
	l := &launch{visits: map[run.State]int{}, gates: map[string]*record{}, gateRuns: map[string]int{}, names: map[string]bool{}}
	l.record = record{eventID: EventID(f.run, string(Launch), "", strconv.Itoa(f.n)), runID: runID, span: span, start: at}
	f.now, f.why = l, reason{}
	about := fieldValues{"trace_id": first.TraceID, "span_id": span, "launch": f.n}
	for k, v := range f.origin {
		about[k] = v
	}
	f.add(createDelivery(Record{EventID: l.eventID, RunID: runID, AgentName: orchestrator, JobType: Launch, Status: Running,
		StartTime: at, Product: f.recipe, Context: about.object()}))
	switch first.Type {
	case run.RunStateChanged, run.RunReopened, run.ResumeRewind: // says itself which state it is
	default:
		if f.state != "" {
			f.enter(run.Event{TraceID: first.TraceID}, f.state, at)
		}
	}
}

const orchestrator = "orchestrator"

// below makes the ids of something below the launch.
func (l *launch) below(job JobType, unit string, attempt int) record {
	runID := RunID(l.runID, job, unit, attempt)
	return record{runID: runID, eventID: EventID(l.runID, string(job), unit, strconv.Itoa(attempt))}
}

// parent returns the record that a child without a nearer parent belongs to.
func (l *launch) parent() *record {
	if l.node != nil {
		return l.node
	}
	return &l.record
}

// enter creates the record of a state.
func (f *Follow) enter(e run.Event, state run.State, at time.Time) {
	l := f.now
	l.visits[state]++
	n := l.below(Node, string(state), l.visits[state])
	if n.start, n.span = at, e.SpanID; n.span == "" {
		n.span = spanOf(n.runID)
	}
	r := Record{EventID: n.eventID, RunID: n.runID, ParentRunID: l.runID, AgentName: orchestrator, JobType: Node,
		Status: Running, StartTime: at,
		Context: fieldValues{"trace_id": e.TraceID, "span_id": n.span, "parent_span_id": cmp.Or(e.ParentSpan, l.span), "state": cutLine(string(state), MaxName)}.object()}
	if end, over := ends[state]; over {
		n.ended = true
		r.Status, r.EndTime = end, &at
		r.DurationMS = new(int64(0))
	}
	l.node = &n
	f.add(createDelivery(r))
}

// ends are the states in which a run is over.
var ends = map[run.State]Status{run.Done: Success, run.Failed: Failure, run.Cancelled: Cancelled}

// step leaves a state and enters another.
func (f *Follow) step(e run.Event, at time.Time) {
	p := run.ReadPayload[run.Step](e.Payload)
	l, to := f.now, p.New
	if to == "" {
		return
	}
	end, over := ends[to]
	why := f.why
	if over && end != Success && why.code == "" {
		why = reason{string(to), p.Reason, ""}
	}
	if over {
		f.settle(at, end)
	}
	if l.node != nil && !l.node.ended {
		if over && end != Success {
			f.add(l.node.end(end, at, why, nil))
		} else {
			f.add(l.node.end(Success, at, reason{}, fieldValues{"error_summary": nil})) // see Stop
		}
	}
	f.state = to
	f.enter(e, to, at)
	if !over {
		return
	}
	more := l.counts.fields()
	if end == Success {
		why = reason{}
		more["error_summary"] = nil // of a process that stopped on the way
	}
	f.add(l.record.end(end, at, why, more))
	f.why = reason{}
}

// ending remembers why the run will end. The reason of one that has ended is delivered at once.
func (f *Follow) ending(why reason) {
	if !f.now.ended {
		f.why = why
		return
	}
	if end := ends[f.state]; end == Failure || end == Cancelled {
		f.add(patchDelivery(f.now.eventID, fieldValues{"error_summary": why.summary()}))
	}
}

// settle closes what is open below the launch when the run ends.
func (f *Follow) settle(at time.Time, how Status) {
	if how == Success {
		how = Failure
	}
	f.closeAll(at, how, reason{interrupted, "the run ended before it", ""})
}

// abandon closes a launch whose process is gone, at its last sign of life.
func (f *Follow) abandon() {
	l := f.now
	why := reason{interrupted, "the process ended", ""}
	f.closeAll(f.last, Failure, why)
	if l.node != nil && !l.node.ended {
		f.add(l.node.end(Failure, f.last, why, nil))
	}
	if !l.ended {
		f.add(l.record.end(Failure, f.last, why, l.counts.fields()))
	}
}

// closeAll closes the newest first.
func (f *Follow) closeAll(at time.Time, how Status, why reason) {
	open := f.now.open
	f.now.open = nil
	for _, c := range slices.Backward(open) {
		f.close(c, at, how, why)
	}
	clear(f.now.gates)
}

func (f *Follow) close(c *child, at time.Time, how Status, why reason) {
	var more fieldValues
	if c.call != nil {
		more = c.call.lostEvidence()
	}
	f.add(c.end(how, at, why, more))
}

// closed takes a record from the open ones.
func (l *launch) closed(r *record) {
	for i, c := range slices.Backward(l.open) {
		if c.record == r {
			l.open = slices.Delete(l.open, i, i+1)
			return
		}
	}
}

// cloned records the first repository that the run works on.
func (f *Follow) cloned(clones []run.Clone) {
	at := slices.IndexFunc(clones, func(c run.Clone) bool { return c.URL != "" })
	if at < 0 {
		return
	}
	first := clones[at]
	from := cutLine(withoutUser(first.URL), MaxRef)
	about := fieldValues{"git_repo": from, "source_ref": from}
	if isCommit(first.Commit) {
		about["git_commit_hash"], about["git_commit_source"] = first.Commit, "input"
	}
	f.add(patchDelivery(f.now.eventID, about))
}
