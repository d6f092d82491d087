package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

// RunEventsInput chooses events of a run.
type RunEventsInput struct {
	ID     RunID  `json:"id" arg:"ID" help:"of the run"`
	Follow bool   `json:"follow,omitempty" short:"f" faces:"cli" help:"continue as events are added, until the run is over"`
	Type   string `json:"type,omitempty" faces:"cli" help:"only events of this type"`
	After  int64  `json:"after,omitempty" faces:"http mcp" range:"0..9007199254740992" help:"how many to skip: next of the previous page"`
	Limit  *int64 `json:"limit,omitempty" faces:"http mcp" default:"http=100 mcp=50" range:"1..1000" help:"limit, 1 to 1000"`
}

// ReadRunEvents reads the events of a run: all of them while they are printed, or one page.
var ReadRunEvents = Op[RunEventsInput, RunEvents]{
	Doc: Doc{Name: "run events", Group: "run logs", ID: "getEvents", Route: "GET /api/v1/run-logs/{run_id=id}/events 200", Faces: CLI | HTTP, Effect: Reads, OnRuns: true,
		Summary: "Show the events of a run",
		Help: `Show the events of a run and verify them while reading. The events of runs that it continues come
first. --json prints the lines of the log unchanged.`},
	Run: func(ctx context.Context, e *Env, in RunEventsInput) (out RunEvents, err error) {
		if in.Limit != nil {
			out.page, err = e.Runs.readPage(ctx, in)
		} else {
			out.parts = func(yield func(printer.Part, error) bool) { e.Runs.stream(ctx, in, yield) }
		}
		return out, err
	},
	Public: func(f Face, out RunEvents) any {
		if f == CLI {
			return out
		}
		return out.page
	},
}

// RunEvents is the log of a run, or a page of it.
type RunEvents struct {
	page  EventPage
	parts iter.Seq2[printer.Part, error]
}

// Parts implements printer.Stream.
func (e RunEvents) Parts() (string, iter.Seq2[printer.Part, error]) { return "events", e.parts }

// EventPage is a page of a run's log.
type EventPage struct {
	Events []json.RawMessage `json:"events"`
	Next   int64             `json:"next"` // the after of the next page
}

func (r *Runs) readPage(ctx context.Context, in RunEventsInput) (EventPage, error) {
	out := EventPage{[]json.RawMessage{}, in.After}
	err := r.read(ctx, in.ID, func(log *rundir.Reader) error {
		for e, err := range log.Events(ctx, in.After) {
			if err != nil {
				return err
			}
			out.Events = append(out.Events, json.RawMessage(string(e.Raw)))
			if out.Next++; int64(len(out.Events)) == *in.Limit {
				break
			}
		}
		return nil
	})
	return out, err
}

// runPollInterval is the time between two looks for new events.
const runPollInterval = 200 * time.Millisecond

// stream reads all events and, if that is wanted, those that are added until the run is over.
func (r *Runs) stream(ctx context.Context, in RunEventsInput, yield func(printer.Part, error) bool) {
	n, over, stopped := int64(0), false, false
	give := func(p printer.Part) bool {
		stopped = !yield(p, nil)
		return !stopped
	}
	err := r.read(ctx, in.ID, func(log *rundir.Reader) error {
		tick := time.NewTicker(runPollInterval)
		defer tick.Stop()
		for {
			for e, err := range log.Events(ctx, n) {
				if err != nil {
					return err
				}
				n++
				line := eventLine{e, n}
				over = e.Type == run.RunStateChanged && endsRun(e.Payload) || over && e.Type != run.RunReopened
				if (in.Type == "" || string(e.Type) == in.Type) && !give(line.print) {
					return nil
				}
			}
			if !in.Follow || over || !give(nil) {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	})
	if err != nil && !stopped {
		yield(nil, err)
	}
}

// endsRun reports whether a change of state is into one that ends a run.
func endsRun(payload []byte) bool {
	var p struct {
		New run.State `json:"new_state"`
	}
	return json.Unmarshal(payload, &p) == nil && p.New.Terminal()
}

// eventLine is an event and its number in the log.
type eventLine struct {
	run.Entry
	n int64
}

func (e eventLine) print(p *printer.Printer) error { return p.PrintLine(e) }

// MarshalJSON implements json.Marshaler.
func (e eventLine) MarshalJSON() ([]byte, error) { return e.Raw, nil }

// Text implements printer.Datum.
func (e eventLine) Text(w *printer.Writer) {
	w.Line("%v %-22s %s", w.Dim(fmt.Sprintf("%5d %s", e.n, e.TS)), string(e.Type), text.Line(string(e.Payload), 100))
}
