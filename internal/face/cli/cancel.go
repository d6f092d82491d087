package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

// cancelTime is how long a live run may take to end, also on a machine that has much to do.
const cancelTime = 90 * time.Second

func cancelCommand(l *Line, f *runFlags) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel ID",
		Short: "End a run for good, wherever it is being carried out",
		Long: `End a run for good: its own agent is killed with all its workers, on every host, and the
run is CANCELLED. It does not go on after that.`,
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := session.CheckReason(reason); err != nil {
				return err
			}
			store, err := l.Runs(f.dir)
			if err != nil {
				return err
			}
			kind, err := f.kind()
			if err != nil {
				return err
			}
			n, err := cancelRun(l, c.Context(), store, args[0], kind, reason)
			if err != nil {
				return err
			}
			return l.Print(runMade{n.RunID, store.Dir(n.RunID), n.RunState})
		},
	}
	c.Flags().StringVar(&reason, "reason", "cancelled by the user", "why, for the log")
	return c
}

// cancelRun kills the run's agent, and writes the end of the run itself if nobody else is
// there to do it.
func cancelRun(l *Line, ctx context.Context, store *rundir.Store, runID string, kind rundir.Kind, reason string) (run.Snapshot, error) {
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
	if err := killRun(l, ctx, store, runID, reason); err != nil && !fault.Is(err, fault.Leased) {
		return n, err
	}
	deadline, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	for {
		x, err := store.OpenSession(deadline, runID, kind)
		if err == nil {
			n, err = writeCancelled(l, ctx, x, reason)
			return n, errors.Join(err, x.Close())
		}
		if !fault.Is(err, fault.Locked) {
			return n, err
		}
		select { // whoever carries it out sees that its agent is dead
		case <-deadline.Done():
			return n, fault.New(fault.Locked, "run %s was told to end, and is still being carried out: %w", runID, err).
				WithHint("look again in a while with `ramet run show %s`", runID)
		case <-time.After(runsPollEvery):
		}
		// One that has only begun may not have had an agent yet.
		if err := killRun(l, ctx, store, runID, reason); err != nil && !fault.Is(err, fault.Leased) {
			return n, err
		}
	}
}

func writeCancelled(l *Line, ctx context.Context, x *rundir.Session, reason string) (run.Snapshot, error) {
	n := x.Now()
	if n.RunState.Terminal() {
		return n, nil
	}
	why, err := public.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return n, err
	}
	step, err := public.Marshal(map[string]string{"old_state": string(n.RunState), "new_state": string(run.Cancelled)})
	if err != nil {
		return n, err
	}
	_, err = x.Append(ctx, rundir.Request{Type: run.RunCancelled, Payload: why}, rundir.Request{Type: run.RunStateChanged, Payload: step})
	return x.Now(), err
}

// killRun kills the run's agent with all its workers. LEASED: it is dead, and the process that
// had it does not say whether it has heard; that one sees it by itself.
func killRun(l *Line, ctx context.Context, store *rundir.Store, runID, reason string) error {
	name, ok, err := store.Agent(runID)
	if err != nil || !ok {
		return err
	}
	ws, err := l.Open(ctx)
	if err != nil {
		return err
	}
	a, err := ws.Store.Agent(ctx, id.Agent(name))
	if fault.Is(err, fault.NotFound) {
		return nil // of another workspace
	}
	if err != nil || agent.NeedLiving(a) != nil {
		return err
	}
	all := true
	_, err = ws.Agents().Kill(ctx, session.Kill{Agent: a, Cascade: &all, Reason: reason})
	return err
}

// runsPollEvery is how often is looked whether a run has ended.
const runsPollEvery = 200 * time.Millisecond
