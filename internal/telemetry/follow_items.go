package telemetry

import (
	"cmp"
	"maps"
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

// call is one call of a model.
type call struct {
	record
	about fieldValues // its context; nil once its end is delivered
}

// lostEvidence returns the change for a call that was cut off: its evidence was never written.
func (c *call) lostEvidence() fieldValues {
	if c.about["evidence_path"] == nil {
		return nil
	}
	about := maps.Clone(c.about)
	delete(about, "evidence_path")
	return fieldValues{"context_json": about.object()}
}

// call reads an event of a model's call. The record is found by trace and span, so that there is one for each call,
// whichever event comes first.
func (f *Follow) call(e run.Event, at time.Time) {
	c, known := f.calls[e.TraceID+e.SpanID], true
	if c == nil {
		c, known = f.callBegins(e, at), false
	}
	if e.Type == run.LLMCallStarted && known {
		return // told twice
	}
	if e.Type == run.LLMCallStarted {
		l := f.now
		l.open = append(l.open, &child{record: &c.record, item: f.spans[e.ParentSpan], call: c})
		return
	}
	if !known {
		return // created with its end
	}
	f.now.closed(&c.record)
	end := endOf(e)
	more := end.fields()
	if c.ended && c.about != nil { // it was taken for cut off, and then it came
		more["context_json"] = c.about.object()
	}
	c.about = nil // there are many calls
	f.add(c.end(end.status, at, end.why, more))
}

// ending describes the end of a call.
type ending struct {
	status  Status
	why     reason
	took    int64 // milliseconds
	timed   bool  // took was measured
	metrics fieldValues
}

func (d ending) fields() fieldValues {
	out := fieldValues{"metrics_json": d.metrics.object()}
	if d.timed {
		out["duration_ms"] = d.took
	}
	return out
}

// endOf reads how a call ended from the event that says so.
func endOf(e run.Event) ending {
	switch e.Type {
	case run.LLMCallFailed:
		p := run.ReadPayload[run.CallFailure](e.Payload)
		why := reason{orFailed(p.Class), p.Summary, p.Details}
		about := fieldValues{"error_class": cutLine(why.code, MaxName), "finish_reason": "error", "retryable": p.Retryable}
		if p.HTTPStatus != 0 {
			about["http_status"] = p.HTTPStatus
		}
		return withLatency(ending{status: why.status(), why: why, metrics: about}, p.LatencyMS)
	case run.LLMCacheHit:
		return ending{status: Success, metrics: fieldValues{"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}}
	}
	p := run.ReadPayload[run.CallEnd](e.Payload)
	used := fieldValues{"input_tokens": p.Usage.Input, "output_tokens": p.Usage.Output, "total_tokens": p.Usage.Total}
	if p.CostUSD != nil {
		used["api_cost_usd"] = *p.CostUSD
	}
	if p.FinishReason != "" {
		used["finish_reason"] = cutLine(p.FinishReason, MaxName)
	}
	out := ending{status: Success, metrics: used}
	if p.FinishReason == "error" {
		out.status, out.why = Failure, reason{string(fault.Failed), "the model or its vendor refused to continue", ""}
	}
	return withLatency(out, p.LatencyMS)
}

// withLatency adds how long a call took, if it can have.
func withLatency(d ending, ms int64) ending {
	if ms >= 0 && ms < 1<<53 {
		d.took, d.timed = ms, true
	}
	return d
}

// callBegins creates the record of a call. That of a call without a start in the log, and of an answer from the
// cache, is finished.
func (f *Follow) callBegins(e run.Event, at time.Time) *call {
	p := run.ReadPayload[run.CallStart](e.Payload) // of another event, the id alone
	l, parent, attempt, name := f.now, f.now.parent(), 1, p.CallID
	it := f.spans[e.ParentSpan]
	who := orchestrator
	if it != nil {
		attempt, who = it.attempt, it.worker
		if !it.ended { // nothing begins below what has ended
			parent = &it.record
		}
	}
	c := &call{about: fieldValues{"trace_id": e.TraceID, "span_id": e.SpanID, "parent_span_id": cmp.Or(e.ParentSpan, parent.span), "call_id": cutLine(name, MaxRef)}}
	for field, value := range map[string]string{"model": p.Model, "provider_base_url": p.BaseURL, "provider": p.Vendor, "prompt_hash": p.PromptHash} {
		if value != "" {
			c.about[field] = cutLine(value, MaxRef)
		}
	}
	if p.MaxTokens > 0 { // it is the event of a start, which has both
		c.about["temperature"], c.about["max_tokens"] = p.Temperature, p.MaxTokens
	}
	if it != nil && name != "" {
		c.about["evidence_path"] = cutLine(run.EvidencePath(name, int64(attempt)), MaxRef)
	}
	c.record = l.below(LLMCall, l.fresh(LLMCall, name, attempt, e.TraceID+e.SpanID), attempt)
	c.start, c.span = at, e.SpanID
	r := Record{EventID: c.eventID, RunID: c.runID, ParentRunID: parent.runID, AgentName: who, JobType: LLMCall,
		Status: Running, StartTime: at}
	if e.Type == run.LLMCacheHit {
		c.about["cached"], c.about["cache_key"] = true, cutLine(run.ReadPayload[run.CacheHit](e.Payload).CacheKey, MaxName)
	}
	r.Context = c.about.object()
	f.calls[e.TraceID+e.SpanID] = c
	if e.Type != run.LLMCallStarted {
		endOf(e).finish(&r, at)
		c.start, c.ended, c.about = r.StartTime, true, nil
	}
	f.add(createDelivery(r))
	return c
}

// finish gives a new record its end.
func (d ending) finish(r *Record, at time.Time) {
	r.Status, r.EndTime, r.DurationMS = d.status, &at, new(int64(0))
	if d.timed {
		r.DurationMS = &d.took
		if began := at.Add(-time.Duration(d.took) * time.Millisecond); d.took < 1e9 && began.Year() >= 1970 {
			r.StartTime = began
		}
	}
	if d.why.code != "" {
		r.ErrorSummary, r.ErrorDetails = d.why.summary(), d.why.details
	}
	r.Metrics = d.metrics.object()
}
