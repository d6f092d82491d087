package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/fault"
	"ramet/internal/printer"
	"ramet/internal/run"
	"ramet/internal/run/schema"
	"ramet/internal/rundir"
	"ramet/internal/text"
)

func (s *session) runEvents(f *runFlags) *cobra.Command {
	var follow bool
	var kind string
	c := &cobra.Command{
		Use:   "events ID",
		Short: "Show the events of a run",
		Long: `Show the events of a run, verified as they are read; those of the runs that it
continues come first. --json prints the lines of the log as they are.`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.withReader(c, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
				n := int64(0)
				tick := time.NewTicker(pollEvery)
				defer tick.Stop()
				for {
					for e, err := range r.Events(c.Context(), n) {
						if err != nil {
							return err
						}
						n++
						if kind != "" && string(e.Type) != kind {
							continue
						}
						if err := s.printer().PrintLine(eventLine{e, n}); err != nil {
							return err
						}
					}
					if !follow {
						return nil
					}
					select {
					case <-c.Context().Done():
						return c.Context().Err()
					case <-tick.C:
					}
				}
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as events are added")
	c.Flags().StringVar(&kind, "type", "", "only events of this type")
	return c
}

// eventLine is the datum of run events.
type eventLine struct {
	run.Entry
	n int64
}

func (e eventLine) MarshalJSON() ([]byte, error) { return e.Raw, nil }

func (e eventLine) Text(w *printer.Writer) {
	w.Line("%v %-22s %s", w.Dim(fmt.Sprintf("%5d %s", e.n, e.TS)), string(e.Type), text.Line(string(e.Payload), 100))
}

func (s *session) runShow(f *runFlags) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show the state of a run", Args: arguments(1, 1),
		Long: `Show the state of a run: the snapshot and the events behind it. --json prints the
snapshot (its form: "ramet schema snapshot").`,
		RunE: func(c *cobra.Command, args []string) error {
			return s.withReader(c, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
				state, err := r.State(c.Context())
				if err != nil {
					return err
				}
				return s.print(runState{state})
			})
		},
	}
}

// runState is the datum of run show and run replay.
type runState struct{ run.Snapshot }

func (d runState) Text(w *printer.Writer) {
	w.Line("run        %s", d.RunID)
	w.Line("state      %s", string(d.RunState))
	w.Line("events     %d, last %s", d.EventCount, d.UpdatedAt)
	counts := map[run.Status]int{}
	for _, item := range d.WorkItems {
		counts[item.Status]++
	}
	w.Line("items      %d: %d completed, %d in progress, %d pending, %d failed", len(d.WorkItems), counts[run.Completed],
		counts[run.InProgress], counts[run.Pending], counts[run.ItemFailed])
	open := 0
	for _, i := range d.Issues {
		if i.Status != run.IssueDone {
			open++
		}
	}
	w.Line("issues     %d open of %d", open, len(d.Issues))
	w.Line("artifacts  %d", len(d.Artifacts))
	if d.Failure != nil {
		w.Line("failure    %s: %s", d.Failure.Code, d.Failure.Message)
	}
	if d.PR != nil && d.PR.URL != nil {
		w.Line("pr         %s", *d.PR.URL)
	}
}

func (s *session) runList(f *runFlags) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the runs", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := s.runs(f)
			if err != nil {
				return err
			}
			ids, err := store.List()
			if err != nil {
				return err
			}
			out := runList{Runs: []runRow{}}
			for _, id := range ids {
				out.Runs = append(out.Runs, s.runRow(c, store, id))
			}
			return s.print(out)
		},
	}
}

// runRow never fails: a run that cannot be read is listed with its fault.
func (s *session) runRow(c *cobra.Command, store *rundir.Store, id string) runRow {
	row := runRow{RunID: id}
	r, err := store.Open(c.Context(), id, "")
	if err == nil {
		defer r.Close()
		var state run.Snapshot
		if state, err = r.State(c.Context()); err == nil {
			row.State, row.Events, row.Updated = string(state.RunState), state.EventCount, state.UpdatedAt
		}
	}
	if err != nil {
		row.Error = optional(string(fault.CodeOf(err)))
	}
	return row
}

// runList is the datum of run list.
type runList struct {
	Runs []runRow `json:"runs"`
}

type runRow struct {
	RunID   string  `json:"run_id"`
	State   string  `json:"run_state"`
	Events  int64   `json:"event_count"`
	Updated string  `json:"updated_at"`
	Error   *string `json:"error"`
}

func (l runList) Text(w *printer.Writer) {
	if len(l.Runs) == 0 {
		w.Line("no runs")
		return
	}
	rows := [][]string{{"RUN", "STATE", "EVENTS", "UPDATED"}}
	for _, r := range l.Runs {
		state := r.State
		if r.Error != nil {
			state = *r.Error
		}
		rows = append(rows, []string{r.RunID, state, fmt.Sprint(r.Events), r.Updated})
	}
	w.Table(rows)
}

func (s *session) runReplay(f *runFlags) *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use:   "replay ID",
		Short: "Make the snapshot again from the events; execute nothing",
		Long: `Replay all events, executing nothing, and write the snapshot. If the snapshot on the
disk was not the replay of its own first events, it is kept beside, the difference
is shown, and the exit code is 5. --check writes nothing.`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if check {
				return s.withReader(c, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
					return s.replay(c, r, nil)
				})
			}
			return s.withSession(c, f, args[0], (*rundir.Store).OpenAfresh, func(x *rundir.Session) error { return s.replay(c, x.Reader, x) })
		},
	}
	c.Flags().BoolVar(&check, "check", false, "compare only, write nothing")
	return c
}

// replay compares the stored snapshot with the log, and, with a session, replaces
// it.
func (s *session) replay(c *cobra.Command, r *rundir.Reader, x *rundir.Session) error {
	stored, raw, ok, damage := r.Stored()
	var lines []string
	if damage == nil && ok {
		var err error
		if lines, err = r.Difference(c.Context(), stored, raw); err != nil {
			return err
		}
	}
	state, err := r.Replay(c.Context())
	if err != nil {
		return err
	}
	if doc, err := state.Encode(); err != nil {
		return err
	} else if err := schema.Validate("snapshot", doc); err != nil {
		return fault.New(fault.EventChainBroken, "the events of run %s give no valid snapshot: %w", r.RunID, err)
	}
	bad := damage != nil || len(lines) > 0
	if x != nil {
		if err := x.PutSnapshot(bad); err != nil {
			return err
		}
	}
	if !bad {
		return s.print(runState{state})
	}
	for _, line := range lines {
		fmt.Fprintln(s.Stderr, text.Safe(line))
	}
	if damage != nil {
		return damage
	}
	return fault.New(fault.EventChainBroken, "the snapshot of run %s was not the replay of its first %d events", r.RunID, stored.EventCount).
		WithHint("- is what the log says, + what the file said")
}

func (s *session) runPlan(f *runFlags) *cobra.Command {
	var wishes run.Wishes
	c := &cobra.Command{
		Use: "plan ID", Short: "Show what a resume would do", Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.withReader(c, f, args[0], func(store *rundir.Store, r *rundir.Reader) error {
				state, err := r.State(c.Context())
				if err != nil {
					return err
				}
				p, err := run.PlanResume(state, store.Disk(r.RunID), wishes)
				if err != nil {
					return err
				}
				return s.print(runPlan{p})
			})
		},
	}
	c.Flags().StringArrayVar(&wishes.Redo, "redo", nil, "a work item to do again; may be repeated")
	c.Flags().BoolVar(&wishes.Force, "force", false, "everything again")
	c.Flags().BoolVar(&wishes.FromFailed, "from-failed", false, "reopen a run that FAILED")
	return c
}

// runPlan is the datum of run plan.
type runPlan struct{ run.Plan }

func (p runPlan) Text(w *printer.Writer) {
	w.Line("run %s is %s; it goes on from %s", p.RunID, string(p.From), string(p.Resume))
	for _, x := range p.Skip {
		w.Line("skip     %s: %s", x.WorkItemID, x.Why)
	}
	for _, x := range p.Discard {
		w.Line("discard  %s: interrupted", x.WorkItemID)
	}
	for _, x := range p.Queue {
		w.Line("queue    %s: %s", x.WorkItemID, x.Why)
	}
	for _, x := range p.Unknown {
		w.Line("UNKNOWN  %s: %s", x.WorkItemID, x.Why)
	}
	for _, x := range p.Artifacts {
		w.Line("artifact %s (%s) %s", x.Name, x.Path, x.Why)
	}
}

func (s *session) runVerify(f *runFlags) *cobra.Command {
	var file, key, prove string
	c := &cobra.Command{
		Use:   "verify ID",
		Short: "Check the log of a run: links, hashes, meaning, checkpoints",
		Long: `Check every line of a run's log, the events' meaning, the snapshot, and the signed
checkpoints in the run's folder. Somebody who can write the folder can rewrite
those too: keep a checkpoint elsewhere and give it with --checkpoint.

--prove EVENT also prints a proof that this line stands in the log, and with
--checkpoint one that the log only grew since, for somebody who does not have the
log (RFC 6962).`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.withReader(c, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
				var elsewhere []run.Checkpoint
				if file != "" {
					one, err := s.runCheckpoint(file, key)
					if err != nil {
						return err
					}
					elsewhere = append(elsewhere, one)
				}
				proof, err := r.Verify(c.Context(), elsewhere...)
				if err != nil {
					return err
				}
				out := runProof{OK: true, Proof: proof}
				if prove != "" {
					if err := out.prove(c.Context(), r, prove, elsewhere); err != nil {
						return err
					}
				}
				return s.print(out)
			})
		},
	}
	c.Flags().StringVar(&prove, "prove", "", "event_id or number of an event to prove")
	c.Flags().StringVar(&file, "checkpoint", "", "a checkpoint of this run, kept elsewhere")
	c.Flags().StringVar(&key, "key", "", "verifier key of whoever signed it (default: this home's key)")
	return c
}

// runCheckpoint reads a checkpoint file; of several notes in it, the last counts.
func (s *session) runCheckpoint(path, key string) (run.Checkpoint, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return run.Checkpoint{}, fault.New(fault.NotFound, "read checkpoint: %w", err)
	}
	if key == "" {
		own, err := s.signingKey()
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
	w.Line("ok: %s, %s met, snapshot %s", count(int(p.Events), "event"), count(p.Checkpoints, "checkpoint"), p.Snapshot)
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

func (s *session) runExport(f *runFlags) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "export ID", Short: "Write the log of a run as NDJSON", Args: arguments(1, 1),
		Long: `Write the log of a run to standard output, verified, one event a line, the same
bytes whatever the log is kept in. The events of runs that it continues come first.`,
		RunE: func(c *cobra.Command, args []string) error {
			if format != "ndjson" {
				return fault.New(fault.Usage, "run export: unknown format %q", format).WithHint("use ndjson")
			}
			return s.withReader(c, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
				for e, err := range r.Events(c.Context(), 0) {
					if err != nil {
						return err
					}
					if _, err := io.WriteString(s.Stdout, string(e.Raw)+"\n"); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&format, "format", "ndjson", "ndjson")
	return c
}
