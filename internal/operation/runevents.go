package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"time"

	"ramet/internal/base/fault"
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

// VerifyRunInput names a run, and what to check of it.
type VerifyRunInput struct {
	ID         RunID  `json:"id" arg:"ID" help:"of the run"`
	LogOnly    bool   `json:"log-only,omitempty" faces:"cli" help:"skip the files whose hashes are in the log"`
	Prove      string `json:"prove,omitempty" faces:"cli" help:"event_id or number of an event to prove"`
	Checkpoint Path   `json:"checkpoint,omitempty" faces:"cli" help:"a checkpoint of this run that was stored elsewhere"`
	Key        string `json:"key,omitempty" faces:"cli" help:"public key of its signer (default: this home's key)"`
}

// VerifyRun checks a run.
var VerifyRun = Op[VerifyRunInput, RunProof]{
	Doc: Doc{Name: "run verify", Group: "run logs", ID: "verifyRunLog", Route: "GET /api/v1/run-logs/{run_id=id}/verify 200", Faces: CLI | HTTP, Effect: Reads, OnRuns: true,
		Summary: "Check a run: log, hashes, checkpoints, files",
		Help: `Check every line of a run's log, the meaning of its events, the snapshot, the signed checkpoints in
the run's folder, and every file whose hash is in the log (ARTIFACT_CHANGED, exit 5; {log-only}
skips the files). Files that "ramet gc --evidence" or "--artifacts" deleted are counted as removed. A
person who can write to the folder can also rewrite checkpoints: store one elsewhere, and pass it
with {checkpoint}.

{prove} EVENT also prints a proof that this line is in the log and, with {checkpoint}, a proof that
the log has only grown since, for a person who doesn't have the log (RFC 6962).`},
	Run: verifyRun, Text: writeRunProof,
}

// RunProof reports what a check of a run found.
type RunProof struct {
	OK bool `json:"ok"`
	rundir.Proof
	Inclusion   *rundir.Inclusion   `json:"inclusion,omitempty"`
	Consistency *rundir.Consistency `json:"consistency,omitempty"`
}

func verifyRun(ctx context.Context, e *Env, in VerifyRunInput) (out RunProof, err error) {
	err = e.Runs.read(ctx, in.ID, func(r *rundir.Reader) (err error) {
		var elsewhere []run.Checkpoint
		if in.Checkpoint != "" {
			one, err := e.Runs.readCheckpoint(string(in.Checkpoint), in.Key)
			if err != nil {
				return err
			}
			elsewhere = append(elsewhere, one)
		}
		verify := r.VerifyAll
		if in.LogOnly {
			verify = r.VerifyLog
		}
		if out.Proof, err = verify(ctx, elsewhere...); err != nil {
			return err
		}
		out.OK = true
		if in.Prove == "" {
			return nil
		}
		return out.prove(ctx, r, in.Prove, elsewhere)
	})
	return out, err
}

// readCheckpoint reads a checkpoint file; of several notes in it, the last counts.
func (r *Runs) readCheckpoint(path, key string) (run.Checkpoint, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return run.Checkpoint{}, fault.New(fault.NotFound, "read checkpoint: %w", err)
	}
	if key == "" {
		own, err := r.Key()
		if err != nil {
			return run.Checkpoint{}, err
		}
		key = own.Verifier()
	}
	return rundir.LastCheckpoint(data, key)
}

func (p *RunProof) prove(ctx context.Context, r *rundir.Reader, event string, elsewhere []run.Checkpoint) error {
	in, err := r.ProveInclusion(ctx, event)
	if err != nil {
		return err
	}
	p.Inclusion = &in
	if len(elsewhere) == 0 {
		return nil
	}
	grown, err := r.ProveConsistency(ctx, elsewhere[0])
	p.Consistency = &grown
	return err
}

func writeRunProof(w *printer.Writer, _ VerifyRunInput, p RunProof) {
	w.Line("ok: %s, %s met, snapshot %s, %s as in the log", text.Count(int(p.Events), "event"), text.Count(p.Checkpoints, "checkpoint"), p.Snapshot,
		text.Count(p.Artifacts, "file"))
	if p.Unchecked > 0 {
		w.Line("not compared: %s", text.Count(p.Unchecked, "file"))
	}
	if p.Removed > 0 {
		w.Line("removed, as the log says: %s", text.Count(p.Removed, "file"))
	}
	if p.Torn != nil {
		w.Line("the log ends in the middle of line %d (byte %d, %d bytes): a crash left that, or it is being written; the next writer repairs it",
			p.Torn.Line, p.Torn.Offset, p.Torn.Bytes)
	}
	if p.Inclusion != nil {
		w.Line("line %d of %d is in the tree with root %s:", p.Inclusion.Index+1, p.Inclusion.Size, p.Inclusion.Root.String())
		for _, h := range p.Inclusion.Proof {
			w.Line("  %s", h.String())
		}
	}
	if p.Consistency != nil {
		w.Line("the first %d lines are those of the checkpoint's root %s:", p.Consistency.OldSize, p.Consistency.OldRoot.String())
		for _, h := range p.Consistency.Proof {
			w.Line("  %s", h.String())
		}
	}
	if open := p.Lines - p.Covered; open > 0 {
		w.Line("lines %d to %d are under no checkpoint yet: changes of run, trace and span ids there would not show", p.Covered+1, p.Lines)
	}
	if !p.Elsewhere {
		w.Line("%v", w.Dim("no checkpoint kept elsewhere was given: a full rewrite of the folder would not show"))
	}
}
