package operation

import (
	"context"
	"encoding/json"

	"ramet/internal/base/fault"
	"ramet/internal/ledger"
	"ramet/internal/run/rundir"
)

// RunLogs reads orchestrated runs. Unknown ids are NOT_FOUND, bad ones INVALID_ID;
// damage is EVENT_CHAIN_BROKEN.
type RunLogs interface {
	List(ctx context.Context) ([]RunLog, error)
	// Snapshot returns the current state of the run (`ramet schema snapshot`).
	Snapshot(ctx context.Context, runID string) (json.RawMessage, error)
	// Events returns up to limit events, as the log has them, without the first after of them.
	Events(ctx context.Context, runID string, after, limit int64) ([]json.RawMessage, error)
	Verify(ctx context.Context, runID string) (RunProof, error)
}

// RunLog is a run in a list. One that cannot be read is listed with its fault.
type RunLog struct {
	RunID   string  `json:"run_id"`
	State   string  `json:"run_state"`
	Status  string  `json:"status"` // running, stopped, done, failed, cancelled, kept
	Reason  *string `json:"reason"` // why it failed or stopped
	Events  int64   `json:"event_count"`
	Updated string  `json:"updated_at"`
	Error   *string `json:"error"`

	Created string  `json:"created_at"`
	Recipe  *string `json:"recipe"` // null: ramet did not start the run
	Repo    *string `json:"repo"`   // the repository that it works on
	PR      *string `json:"pr_url"` // its pull request, or the bundle that replaces one
	Cost    int64   `json:"cost_nano_usd"`
	Calls   int64   `json:"calls"` // of models
}

// RunProof reports what a check of a run's log found, as `ramet run verify --json` has it.
type RunProof struct {
	OK bool `json:"ok"`
	rundir.Proof
}

// RunList is all runs.
type RunList struct {
	Runs []RunLog `json:"runs"`
}

// EventPage is a page of a run's log.
type EventPage struct {
	Events []json.RawMessage `json:"events"`
	Next   int64             `json:"next"` // the after of the next page
}

// OverRunDir reads the runs of a folder.
func OverRunDir(store *rundir.Store) RunLogs {
	return runFolder{store, &runCosts{known: map[string]runCost{}}}
}

type runFolder struct {
	store *rundir.Store
	costs *runCosts
}

func (f runFolder) List(ctx context.Context) ([]RunLog, error) {
	ids, err := f.store.List()
	out := make([]RunLog, 0, len(ids))
	for _, id := range ids {
		row := RunLog{RunID: id}
		fails := f.with(ctx, id, func(r *rundir.Reader) error {
			state, err := r.State(ctx)
			if err == nil {
				row.State, row.Events, row.Updated = string(state.RunState), state.EventCount, state.UpdatedAt
				standing := f.store.Standing(ctx, state)
				row.Status = string(standing.Status)
				if standing.Reason != "" {
					row.Reason = &standing.Reason
				}
				f.describe(&row, state)
				row.Cost, row.Calls = f.costs.of(ctx, id, r)
			}
			return err
		})
		if fails != nil {
			code := string(fault.CodeOf(fails))
			row.Error = &code
		}
		out = append(out, row)
	}
	return out, err
}

func (f runFolder) Snapshot(ctx context.Context, runID string) (text json.RawMessage, err error) {
	err = f.with(ctx, runID, func(r *rundir.Reader) error {
		state, err := r.Truth(ctx)
		if err == nil {
			text, err = state.Encode()
		}
		return err
	})
	return text, err
}

func (f runFolder) Events(ctx context.Context, runID string, after, limit int64) (out []json.RawMessage, err error) {
	err = f.with(ctx, runID, func(r *rundir.Reader) error {
		for e, err := range r.Events(ctx, after) {
			if err != nil {
				return err
			}
			out = append(out, json.RawMessage(string(e.Raw)))
			if int64(len(out)) == limit {
				break
			}
		}
		return nil
	})
	return out, err
}

func (f runFolder) Verify(ctx context.Context, runID string) (out RunProof, err error) {
	err = f.with(ctx, runID, func(r *rundir.Reader) error {
		out.Proof, err = r.VerifyAll(ctx)
		out.OK = err == nil
		return err
	})
	return out, err
}

func (f runFolder) with(ctx context.Context, runID string, do func(*rundir.Reader) error) error {
	r, err := f.store.Open(ctx, runID, "")
	if err != nil {
		return err
	}
	defer r.Close() // it only read
	return do(r)
}

// TrackList is entries of the ledger.
type TrackList struct {
	Entries []ledger.Shown `json:"entries"`
}
