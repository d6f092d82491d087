package operation

import (
	"context"
	"errors"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/agent"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

// cancelTimeout limits how long a live run may take to end, also on a busy machine.
const cancelTimeout = 90 * time.Second

// CancelRunInput names a run to end.
type CancelRunInput struct {
	ID     RunID  `json:"id" arg:"ID" help:"of the run"`
	Reason string `json:"reason,omitempty" help:"reason for the log (default: cancelled by the user)"`
}

// Check implements Checker.
func (in *CancelRunInput) Check() error {
	if in.Reason == "" {
		in.Reason = "cancelled by the user"
	}
	return At("reason", session.CheckReason(in.Reason))
}

// CancelRun ends a run for good.
var CancelRun = Op[CancelRunInput, public.RunMade]{
	Doc: Doc{Name: "run cancel", Group: "run logs", ID: "cancelRun", Route: "POST /api/v1/run-logs/{run_id=id}/cancel 200", Faces: CLI | HTTP, Effect: Destroys, OnRuns: true, Persons: true,
		Summary: "Cancel a run for good, wherever it runs",
		Help: `End a run for good: kill its agent and all its workers, on every host, and mark the run as
CANCELLED. A cancelled run can't be resumed.`},
	Run: func(ctx context.Context, e *Env, in CancelRunInput) (public.RunMade, error) {
		n, err := e.cancelRun(ctx, in)
		return e.Runs.made(n.RunID, n.RunState), err
	},
}

// cancelRun kills the run's agent, and records the end of the run if no process that carries it out does.
func (e *Env) cancelRun(ctx context.Context, in CancelRunInput) (n run.Snapshot, err error) {
	err = e.Runs.read(ctx, in.ID, func(r *rundir.Reader) error {
		n, err = r.State(ctx)
		return err
	})
	if err != nil {
		return n, err
	}
	if n.RunState.Terminal() {
		return n, fault.New(fault.IllegalTransition, "run %s is %s already", in.ID, n.RunState)
	}
	deadline, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	for {
		// Again each time: a run that has only begun may not have had an agent yet.
		if err := e.killRun(ctx, in); err != nil && !fault.Is(err, fault.Leased) {
			return n, err
		}
		x, err := e.Runs.OpenSession(deadline, string(in.ID), e.Runs.Kind)
		if err == nil {
			n, err = recordCancelled(ctx, x, in.Reason)
			return n, errors.Join(err, x.Close())
		}
		if !fault.Is(err, fault.Locked) {
			return n, err
		}
		select { // the process that carries it out sees that its agent is dead
		case <-deadline.Done():
			return n, fault.New(fault.Locked, "run %s was told to end, and is still being carried out: %w", in.ID, err).
				WithHint("look again in a while with `ramet run show %s`", in.ID)
		case <-time.After(runPollInterval):
		}
	}
}

func recordCancelled(ctx context.Context, x *rundir.Session, reason string) (run.Snapshot, error) {
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
	_, err = x.Append(ctx, run.Request{Type: run.RunCancelled, Payload: why}, run.Request{Type: run.RunStateChanged, Payload: step})
	return x.Now(), err
}

// killRun kills the run's agent with all its workers. LEASED: the agent is dead, and the process that
// held it did not confirm; it will notice.
func (e *Env) killRun(ctx context.Context, in CancelRunInput) error {
	name, ok, err := e.Runs.Agent(string(in.ID))
	if err != nil || !ok {
		return err
	}
	ws, err := e.Open(ctx)
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
	_, err = ws.Agents().Kill(ctx, session.Kill{Agent: a, Cascade: new(true), Reason: in.Reason})
	return err
}

// RemoveRunsInput names runs.
type RemoveRunsInput struct {
	IDs   []RunID `json:"ids" arg:"ID" help:"the runs"`
	Force bool    `json:"force,omitempty" help:"also runs that are not finished, or are unreadable"`
}

// RemovedRuns lists runs that were removed.
type RemovedRuns struct {
	Runs []RunID `json:"removed"`
}

// RemoveRuns deletes runs.
var RemoveRuns = Op[RemoveRunsInput, RemovedRuns]{
	Doc: Doc{Name: "run rm", Group: "run logs", Faces: CLI, OnRuns: true, Persons: true, Effect: Destroys, Summary: "Remove finished runs with all their files",
		Help: `Delete runs for good: each one's folder, with everything it made, and its log. A run that is
in progress is refused (exit 4), and so is one that another run continues (a fork). A run that
is not finished needs {force}. Agents and their histories stay in the workspace.`},
	Run: func(ctx context.Context, e *Env, in RemoveRunsInput) (RemovedRuns, error) {
		for _, id := range in.IDs {
			if err := e.Runs.Remove(ctx, string(id), in.Force); err != nil {
				return RemovedRuns{}, err
			}
		}
		return RemovedRuns{in.IDs}, nil
	},
	Text: func(w *printer.Writer, _ RemoveRunsInput, out RemovedRuns) {
		for _, id := range out.Runs {
			w.Line("removed %s", string(id))
		}
	},
}
