package follow

import (
	"time"

	"ramet/internal/telemetry"
)

func (f *Follow) gateBegins(e Event, p payload, at time.Time) {
	l, name := f.now, string(p.Gate)
	if name == "" {
		return
	}
	if old := l.gates[name]; old != nil { // it never ended
		l.closed(old)
		f.add(old.end(telemetry.Failure, at, reason{"INTERRUPTED", "it was run again", ""}, nil))
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

func (f *Follow) gateEnds(_ Event, p payload, at time.Time) {
	l, name := f.now, string(p.Gate)
	g := l.gates[name]
	if g == nil { // it was begun in another launch, and closed with it
		return
	}
	delete(l.gates, name)
	l.closed(g)
	found := fields{"metrics_json": fields{"issues": int(p.Issues)}.object(), "output_summary": plural(int(p.Issues), "open issue")}
	if p.OK {
		f.add(g.end(telemetry.Success, at, reason{}, found))
		return
	}
	f.add(g.end(telemetry.Failure, at, reason{"GATE_FAILED", plural(int(p.Issues), "open issue"), ""}, found))
}
