package operation

import (
	"context"
	"os"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

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
