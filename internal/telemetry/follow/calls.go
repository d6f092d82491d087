package follow

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"ramet/internal/telemetry"
)

// call is one call of a model.
type call struct {
	record
	about fields // its context
}

// cut is what changes when a call ends without saying how: nobody wrote its evidence.
func (c *call) cut() fields {
	if c.about["evidence_path"] == nil {
		return nil
	}
	about := maps.Clone(c.about)
	delete(about, "evidence_path")
	return fields{"context_json": about.object()}
}

// call takes any event of a model's call. The record is found by trace and span, so that
// there is one for each, whatever the log says first.
func (f *Follow) call(e Event, p payload, at time.Time) {
	c, known := f.calls[e.TraceID+e.SpanID], true
	if c == nil {
		c, known = f.callBegins(e, p, at), false
	}
	if e.Type == callStarted && known {
		return // told twice
	}
	if e.Type == callStarted {
		l := f.now
		l.open = append(l.open, &child{record: &c.record, item: f.spans[e.ParentSpan], call: c})
		return
	}
	if !known {
		return // created with its end
	}
	f.now.closed(&c.record)
	status, why, more := outcome(e, p)
	if c.ended { // it was taken for cut off, and then it came
		more["context_json"] = c.about.object()
	}
	f.add(c.end(status, at, why, more))
}

// outcome is how a call ended, by the event that says so.
func outcome(e Event, p payload) (telemetry.Status, reason, fields) {
	more := fields{}
	if ms, ok := p.Latency.milliseconds(); ok {
		more["duration_ms"] = ms
	}
	switch e.Type {
	case callFailed:
		why := reason{or(string(p.ErrorClass), "FAILED"), string(p.ErrorSummary), string(p.ErrorDetails)}
		about := fields{"error_class": line(why.code, telemetry.MaxName), "finish_reason": "error", "retryable": p.Retryable}
		p.HTTPStatus.put(about, "http_status")
		more["metrics_json"] = about.object()
		return why.status(), why, more
	case cacheHit:
		more["metrics_json"] = fields{"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}.object()
		return telemetry.Success, reason{}, more
	}
	used := fields{"input_tokens": p.Usage.Input.or(), "output_tokens": p.Usage.Output.or(), "total_tokens": p.Usage.Total.or()}
	p.Cost.put(used, "api_cost_usd")
	if p.FinishReason != "" {
		used["finish_reason"] = line(string(p.FinishReason), telemetry.MaxName)
	}
	more["metrics_json"] = used.object()
	if p.FinishReason == "error" {
		return telemetry.Failure, reason{"FAILED", "the model or its vendor refused to go on", ""}, more
	}
	return telemetry.Success, reason{}, more
}

// callBegins creates the record of a call; of one whose start nobody wrote, and of an
// answer of the cache, finished.
func (f *Follow) callBegins(e Event, p payload, at time.Time) *call {
	l, parent, attempt, name := f.now, f.now.parent(), 1, string(p.CallID)
	it := f.spans[e.ParentSpan]
	who := orchestrator
	if it != nil {
		attempt, who = it.attempt, it.worker
		if !it.ended { // nothing begins below what has ended
			parent = &it.record
		}
	}
	c := &call{about: fields{"trace_id": e.TraceID, "span_id": e.SpanID, "parent_span_id": or(e.ParentSpan, parent.span), "call_id": line(name, telemetry.MaxRef)}}
	for field, value := range map[string]words{"model": p.Model, "provider_base_url": p.BaseURL, "prompt_hash": p.PromptHash} {
		if value != "" {
			c.about[field] = line(string(value), telemetry.MaxRef)
		}
	}
	p.Temperature.put(c.about, "temperature")
	p.MaxTokens.put(c.about, "max_tokens")
	if it != nil && name != "" {
		c.about["evidence_path"] = line("evidence/llm_calls/"+name+".a"+strconv.Itoa(attempt)+".json", telemetry.MaxRef)
	}
	c.record = l.below(telemetry.LLMCall, l.fresh(telemetry.LLMCall, name, attempt, e.TraceID+e.SpanID), attempt)
	c.start, c.span = at, e.SpanID
	r := telemetry.Record{EventID: c.eventID, RunID: c.runID, ParentRunID: parent.runID, AgentName: who, JobType: telemetry.LLMCall,
		Status: telemetry.Running, StartTime: at}
	if e.Type == cacheHit {
		c.about["cached"], c.about["cache_key"] = true, line(string(p.CacheKey), telemetry.MaxName)
	}
	r.Context = c.about.object()
	f.calls[e.TraceID+e.SpanID] = c
	if e.Type != callStarted {
		finish(&r, e, p, at)
		c.start, c.ended = r.StartTime, true
	}
	f.add(create(r))
	return c
}

// finish gives a new record its end.
func finish(r *telemetry.Record, e Event, p payload, at time.Time) {
	status, why, more := outcome(e, p)
	r.Status, r.EndTime, r.DurationMS = status, &at, new(int64(0))
	if ms, ok := p.Latency.milliseconds(); ok {
		r.DurationMS = &ms
		if began := at.Add(-time.Duration(ms) * time.Millisecond); ms < 1e9 && began.Year() >= 1970 {
			r.StartTime = began
		}
	}
	if why.code != "" {
		r.ErrorSummary, r.ErrorDetails = why.summary(), why.details
	}
	r.Metrics = metrics(more)
}

func metrics(f fields) json.RawMessage {
	m, _ := f["metrics_json"].(json.RawMessage)
	return m
}
