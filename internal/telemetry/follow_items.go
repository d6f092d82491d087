package telemetry

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/run"
)

// item is an attempt of a unit of work.
type item struct {
	record
	id, worker, scope string
	attempt           int
	effect            string
	inputs            int
	queued            string // when
	begun             bool   // it has a record
}

// itemOf finds an item. One that was queued in the log of another run, which this one
// was forked from, is known by its id: run:worker:attempt:scope.
func (f *Follow) itemOf(id string) *item {
	if it := f.items[id]; it != nil {
		return it
	}
	it := &item{id: id, worker: id, attempt: 1}
	if part := strings.SplitN(id, ":", 4); len(part) == 4 {
		if n, err := strconv.Atoi(part[2]); err == nil && n > 0 {
			it.worker, it.attempt, it.scope = part[1], n, part[3]
		}
	}
	f.items[id] = it
	return it
}

func (f *Follow) queued(p run.Queueing, at time.Time) {
	if p.WorkItemID == "" {
		return
	}
	it := f.itemOf(p.WorkItemID)
	if it.begun {
		return
	}
	it.worker, it.scope, it.effect, it.inputs, it.queued = p.Worker, p.ScopeKey, p.Effect, len(p.Inputs), formatTime(at)
	if p.Attempt > 0 && p.Attempt < 1<<31 {
		it.attempt = int(p.Attempt)
	}
	f.now.counts.discovered++
}

// started creates the record of an attempt: until then it only waited.
func (f *Follow) started(e run.Event, p run.Started, at time.Time) {
	if p.WorkItemID == "" {
		return
	}
	if it := f.itemOf(p.WorkItemID); !it.begun {
		f.begin(it, e, at, nil)
	}
}

// begin creates the record of an item; over changes it first.
func (f *Follow) begin(it *item, e run.Event, at time.Time, over func(*Record)) {
	l := f.now
	unit := it.worker
	if it.scope != "" {
		unit += ":" + it.scope
	}
	it.record, it.begun = l.below(Worker, l.fresh(Worker, unit, it.attempt, it.id), it.attempt), true
	it.start, it.span = at, e.SpanID
	if f.spans[e.SpanID] == nil {
		f.spans[e.SpanID] = it
	}
	about := fieldValues{"trace_id": e.TraceID, "span_id": e.SpanID, "parent_span_id": cmp.Or(e.ParentSpan, l.parent().span),
		"work_item_id": cutLine(it.id, MaxRef), "worker": cutLine(it.worker, MaxName), "attempt": it.attempt}
	for name, value := range map[string]string{"scope_key": cutLine(it.scope, MaxRef), "effect": it.effect, "queued_at": it.queued} {
		if value != "" {
			about[name] = value
		}
	}
	r := Record{EventID: it.eventID, RunID: it.runID, ParentRunID: l.parent().runID, AgentName: it.worker, JobType: Worker,
		Status: Running, StartTime: at, Context: about.object()}
	if it.inputs > 0 {
		r.InputSummary = text.Count(it.inputs, "file")
	}
	if over != nil {
		over(&r)
	}
	f.add(createDelivery(r))
	if r.Status == Running {
		l.open = append(l.open, &child{record: &it.record, item: it})
	} else {
		it.ended = true
	}
}

// finished ends an attempt, well or for a reason.
func (f *Follow) finished(e run.Event, id string, why reason, outputs int, at time.Time) {
	if id == "" {
		return
	}
	it := f.itemOf(id)
	switch {
	case !it.begun: // it ended while it waited
		f.begin(it, e, at, func(r *Record) {
			r.Status, r.EndTime, r.DurationMS = why.status(), &at, new(int64(0))
			if why.code != "" {
				r.ErrorSummary = why.summary()
			}
		})
	case it.ended && why.code == interrupted: // with its launch; this reason is the better one
		f.add(patchDelivery(it.eventID, fieldValues{"status": why.status(), "error_summary": why.summary()}))
		return
	case it.ended:
		f.add(it.end(why.status(), at, why, nil))
		return
	default:
		f.abandonCalls(it, at)
		f.now.closed(&it.record)
		var more fieldValues
		if why.code == "" {
			more = fieldValues{"output_summary": text.Count(outputs, "file")}
		}
		f.add(it.end(why.status(), at, why, more))
	}
	if why.code == "" {
		f.now.counts.succeeded++
	} else {
		f.now.counts.failed++
	}
}

// abandonCalls closes the calls of an item that ends.
func (f *Follow) abandonCalls(it *item, at time.Time) {
	l := f.now
	kept := l.open[:0]
	for _, c := range l.open {
		if c.call == nil || c.item != it {
			kept = append(kept, c)
			continue
		}
		f.close(c, at, Failure, reason{interrupted, "its work item ended before it", ""})
	}
	clear(l.open[len(kept):])
	l.open = kept
}

// fresh returns a name for a unit whose run_id is not used below this launch yet. The id tells apart units of one name.
func (l *launch) fresh(job JobType, unit string, attempt int, id string) string {
	name := RunID(l.runID, job, unit, attempt)
	if l.names[name] {
		unit += "~" + spanOf(id)
		name = RunID(l.runID, job, unit, attempt)
	}
	l.names[name] = true
	return unit
}

func (f *Follow) gateBegins(e run.Event, name string, at time.Time) {
	l := f.now
	if name == "" {
		return
	}
	if old := l.gates[name]; old != nil { // it never ended
		l.closed(old)
		f.add(old.end(Failure, at, reason{interrupted, "it was run again", ""}, nil))
	}
	l.gateRuns[name]++
	g := l.below(Gate, name, l.gateRuns[name])
	g.start, g.span = at, e.SpanID
	f.add(createDelivery(Record{EventID: g.eventID, RunID: g.runID, ParentRunID: l.parent().runID, AgentName: name, JobType: Gate,
		Status: Running, StartTime: at,
		Context: fieldValues{"trace_id": e.TraceID, "span_id": e.SpanID, "parent_span_id": cmp.Or(e.ParentSpan, l.parent().span),
			"gate": cutLine(name, MaxName)}.object()}))
	l.gates[name] = &g
	l.open = append(l.open, &child{record: &g})
}

func (f *Follow) gateEnds(p run.GateEnd, at time.Time) {
	l, name := f.now, p.Gate
	g := l.gates[name]
	if g == nil { // it was begun in another launch, and closed with it
		return
	}
	delete(l.gates, name)
	l.closed(g)
	found := fieldValues{"metrics_json": fieldValues{"issues": len(p.Issues)}.object(), "output_summary": text.Count(len(p.Issues), "open issue")}
	if p.OK {
		f.add(g.end(Success, at, reason{}, found))
		return
	}
	f.add(g.end(Failure, at, reason{string(fault.GateFailed), text.Count(len(p.Issues), "open issue"), ""}, found))
}
