package app

import (
	"context"
	"iter"
	"os"
	"strconv"

	"ramet/internal/run"
	"ramet/internal/rundir"
	"ramet/internal/runner"
)

// runLog is the log of a session, which a chronicle follows.
type runLog struct {
	session   *rundir.Session
	chronicle *chronicle // nil: nobody does
	last      int64      // for tests: the event after which this process is no more; 0: none
}

func newRunLog(x *rundir.Session, c *chronicle) runLog {
	last, err := strconv.ParseInt(os.Getenv(dieAfter), 10, 64)
	if err != nil {
		last = 0
	}
	return runLog{x, c, last}
}

func (l runLog) Append(ctx context.Context, records ...runner.Record) error {
	requests := make([]rundir.Request, len(records))
	for i, e := range records {
		requests[i] = rundir.Request{Type: e.Type, Payload: e.Payload, SpanID: e.Span, ParentSpan: e.Parent}
	}
	if l.last > 0 {
		return l.mortal(ctx, requests)
	}
	events, err := l.session.Append(ctx, requests...)
	if l.chronicle != nil {
		for _, e := range events {
			l.chronicle.tell(e)
		}
	}
	return err
}

// mortal dies with the last event: of several that are written together only the first
// may have reached the disk.
func (l runLog) mortal(ctx context.Context, requests []rundir.Request) error {
	left := l.last - l.session.Now().EventCount
	dies := left <= int64(len(requests))
	if dies {
		requests = requests[:max(0, left)]
	}
	_, err := l.session.Append(ctx, requests...)
	if dies && err == nil {
		die()
	}
	return err
}

// die ends this process as SIGKILL does.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
		select {}
	}
}

func (l runLog) Now() run.Snapshot { return l.session.Now() }

func (l runLog) Events(ctx context.Context) iter.Seq2[run.Entry, error] {
	return l.session.Events(ctx, 0)
}
