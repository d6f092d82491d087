package follow

import (
	"time"

	"ramet/internal/fault"
	"ramet/internal/run"
	"ramet/internal/telemetry"
)

func (f *Follow) gateBegins(e run.Event, name string, at time.Time) {
	l := f.now
	if name == "" {
		return
	}
	if old := l.gates[name]; old != nil { // it never ended
		l.closed(old)
		f.add(old.end(telemetry.Failure, at, reason{interrupted, "it was run again", ""}, nil))
	}
	l.gateRuns[name]++
	g := l.below(telemetry.Gate, name, l.gateRuns[name])
	g.start, g.span = at, e.SpanID
	f.add(create(telemetry.Record{EventID: g.eventID, RunID: g.runID, ParentRunID: l.parent().runID, AgentName: name, JobType: telemetry.Gate,
		Status: telemetry.Running, StartTime: at,
		Context: fields{"trace_id": e.TraceID, "span_id": e.SpanID, "parent_span_id": or(e.ParentSpan, l.parent().span),
			"gate": line(name, telemetry.MaxName)}.object()}))
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
	found := fields{"metrics_json": fields{"issues": len(p.Issues)}.object(), "output_summary": plural(len(p.Issues), "open issue")}
	if p.OK {
		f.add(g.end(telemetry.Success, at, reason{}, found))
		return
	}
	f.add(g.end(telemetry.Failure, at, reason{string(fault.GateFailed), plural(len(p.Issues), "open issue"), ""}, found))
}
