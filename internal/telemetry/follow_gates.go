package telemetry

import (
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

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
		Context: fieldValues{"trace_id": e.TraceID, "span_id": e.SpanID, "parent_span_id": firstNonEmpty(e.ParentSpan, l.parent().span),
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
	found := fieldValues{"metrics_json": fieldValues{"issues": len(p.Issues)}.object(), "output_summary": countNoun(len(p.Issues), "open issue")}
	if p.OK {
		f.add(g.end(Success, at, reason{}, found))
		return
	}
	f.add(g.end(Failure, at, reason{string(fault.GateFailed), countNoun(len(p.Issues), "open issue"), ""}, found))
}
