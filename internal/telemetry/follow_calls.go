package telemetry

import (
	"cmp"
	"maps"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

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
