package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/control"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/registry"
	"ramet/internal/run"
	"ramet/internal/rundir"
	"ramet/internal/text"
)

// cancelTime is how long a live run may take to end.
const cancelTime = 30 * time.Second

func (s *session) runCancel(f *runFlags) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel ID",
		Short: "End a run for good, wherever it is being carried out",
		Long: `End a run for good: its own agent is killed with all its workers, on every host, and the
run is CANCELLED. It does not go on after that.`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := text.Check(fault.InvalidText, "the reason", reason, maxReason); err != nil {
				return err
			}
			store, err := s.runs(f)
			if err != nil {
				return err
			}
			kind, err := f.kind()
			if err != nil {
				return err
			}
			n, err := s.cancelRun(c.Context(), store, args[0], kind, reason)
			if err != nil {
				return err
			}
			return s.print(runMade{n.RunID, store.Dir(n.RunID), n.RunState})
		},
	}
	c.Flags().StringVar(&reason, "reason", "cancelled by the user", "why, for the log")
	return c
}

// cancelRun kills the run's agent, and writes the end of the run itself if nobody else is
// there to do it.
func (s *session) cancelRun(ctx context.Context, store *rundir.Store, runID string, kind rundir.Kind, reason string) (run.Snapshot, error) {
	reader, err := store.Open(ctx, runID, kind)
	if err != nil {
		return run.Snapshot{}, err
	}
	n, err := reader.State(ctx)
	if err := errors.Join(err, reader.Close()); err != nil {
		return n, err
	}
	if n.RunState.Terminal() {
		return n, fault.New(fault.IllegalTransition, "run %s is %s already", runID, n.RunState)
	}
	if err := s.killRun(ctx, store, runID, reason); err != nil {
		return n, err
	}
	deadline, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	for {
		x, err := store.OpenSession(deadline, runID, kind)
		if err == nil {
			n, err = s.writeCancelled(ctx, x, reason)
			return n, errors.Join(err, x.Close())
		}
		if !fault.Is(err, fault.Locked) {
			return n, err
		}
		select { // whoever carries it out sees that its agent is dead
		case <-deadline.Done():
			return n, fault.New(fault.Locked, "run %s was told to end, and is still being carried out: %w", runID, err).
				WithHint("look again in a while with `ramet run show %s`", runID)
		case <-time.After(pollEvery):
		}
	}
}

func (s *session) writeCancelled(ctx context.Context, x *rundir.Session, reason string) (run.Snapshot, error) {
	n := x.Now()
	if n.RunState.Terminal() {
		return n, nil
	}
	why, err := marshal(map[string]string{"reason": reason})
	if err != nil {
		return n, err
	}
	step, err := marshal(map[string]string{"old_state": string(n.RunState), "new_state": string(run.Cancelled)})
	if err != nil {
		return n, err
	}
	_, err = x.Append(ctx, rundir.Request{Type: run.RunCancelled, Payload: why}, rundir.Request{Type: run.RunStateChanged, Payload: step})
	return x.Now(), err
}

// killRun kills the run's agent with all its workers.
func (s *session) killRun(ctx context.Context, store *rundir.Store, runID, reason string) error {
	name, ok, err := store.Agent(runID)
	if err != nil || !ok {
		return err
	}
	ws, err := s.open(ctx)
	if err != nil {
		return err
	}
	before, err := control.Held(ctx, ws)
	if err != nil {
		return err
	}
	done, err := ws.Kill(ctx, registry.Kill{Agent: id.Agent(name), Cascade: true, Reason: reason})
	if fault.Is(err, fault.NotFound) {
		return nil // of another workspace
	}
	if err != nil {
		return err
	}
	return s.bury(ctx, before, control.Deaths(done)...)
}
