package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

func verifyRunCommand(l *Line, f *runFlags) *cobra.Command {
	var file, key, prove string
	var logOnly bool
	c := &cobra.Command{
		Use:   "verify ID",
		Short: "Check a run: the log's links, hashes and meaning, checkpoints, files",
		Long: `Check every line of a run's log, the events' meaning, the snapshot, the signed
checkpoints in the run's folder, and every file whose hash is in the log
(ARTIFACT_CHANGED, exit 5; --log-only leaves the files out). Files that
"ramet gc --evidence" or "--artifacts" took away are counted as removed. Somebody who can
write the folder can rewrite checkpoints too: keep one elsewhere and give it with
--checkpoint.

--prove EVENT also prints a proof that this line stands in the log, and with
--checkpoint one that the log only grew since, for somebody who does not have the
log (RFC 6962).`,
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return withReader(l, c, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
				var elsewhere []run.Checkpoint
				if file != "" {
					one, err := runCheckpoint(l, file, key)
					if err != nil {
						return err
					}
					elsewhere = append(elsewhere, one)
				}
				verify := r.VerifyAll
				if logOnly {
					verify = r.VerifyLog
				}
				proof, err := verify(c.Context(), elsewhere...)
				if err != nil {
					return err
				}
				out := runProof{OK: true, Proof: proof}
				if prove != "" {
					if err := out.prove(c.Context(), r, prove, elsewhere); err != nil {
						return err
					}
				}
				return l.Print(out)
			})
		},
	}
	c.Flags().BoolVar(&logOnly, "log-only", false, "leave out the files whose hashes are in the log")
	c.Flags().StringVar(&prove, "prove", "", "event_id or number of an event to prove")
	c.Flags().StringVar(&file, "checkpoint", "", "a checkpoint of this run, kept elsewhere")
	c.Flags().StringVar(&key, "key", "", "verifier key of whoever signed it (default: this home's key)")
	return c
}

// runCheckpoint reads a checkpoint file; of several notes in it, the last counts.
func runCheckpoint(l *Line, path, key string) (run.Checkpoint, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return run.Checkpoint{}, fault.New(fault.NotFound, "read checkpoint: %w", err)
	}
	if key == "" {
		own, err := l.SigningKey()
		if err != nil {
			return run.Checkpoint{}, err
		}
		key = own.Verifier()
	}
	return rundir.LastCheckpoint(data, key)
}

// runProof is the datum of run verify.
type runProof struct {
	OK bool `json:"ok"`
	rundir.Proof
	Inclusion   *rundir.Inclusion   `json:"inclusion,omitempty"`
	Consistency *rundir.Consistency `json:"consistency,omitempty"`
}

func (p *runProof) prove(ctx context.Context, r *rundir.Reader, event string, elsewhere []run.Checkpoint) error {
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

func (p runProof) Text(w *printer.Writer) {
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
