package app

import (
	"context"
	"iter"

	"ramet/internal/run"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
)

// runLog is the log of a session, which a runRecords follows.
type runLog struct {
	session *rundir.Session
	records *runRecords // nil: nobody does
}

func newRunLog(x *rundir.Session, c *runRecords) runner.Log {
	if probed := switches().Log; probed != nil {
		return probed(runLog{x, c})
	}
	return runLog{x, c}
}

func (l runLog) Append(ctx context.Context, records ...runner.Record) error {
	requests := make([]rundir.Request, len(records))
	for i, e := range records {
		requests[i] = rundir.Request{Type: e.Type, Payload: e.Payload, SpanID: e.Span, ParentSpan: e.Parent}
	}
	events, err := l.session.Append(ctx, requests...)
	if l.records != nil {
		l.records.tell(events)
	}
	return err
}

func (l runLog) Now() run.Snapshot { return l.session.Now() }

func (l runLog) Events(ctx context.Context) iter.Seq2[run.Entry, error] {
	return l.session.Events(ctx, 0)
}
