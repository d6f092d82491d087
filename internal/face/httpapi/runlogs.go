package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

// RunLogs reads orchestrated runs. Unknown ids are NOT_FOUND, bad ones INVALID_ID;
// damage is EVENT_CHAIN_BROKEN.
type RunLogs interface {
	List(ctx context.Context) ([]RunLog, error)
	// Snapshot is the run as it is now (`ramet schema snapshot`).
	Snapshot(ctx context.Context, runID string) (json.RawMessage, error)
	// Events gives up to limit events behind the first after, as they stand in the log.
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
	Recipe  *string `json:"recipe"` // of one that ramet carries out
	Repo    *string `json:"repo"`   // the repository that it works on
	PR      *string `json:"pr_url"` // its pull request, or the bundle that stands for one
	Cost    int64   `json:"cost_nano_usd"`
	Calls   int64   `json:"calls"` // of models
}

// RunProof is what a check of a run's log found, as `ramet run verify --json` has it.
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

// runLogs are the routes of runs; without their logs they find nothing.
type runLogs struct {
	logs  RunLogs
	verbs RunVerbs
}

func (l runLogs) routes() []Route {
	const one = "/api/v1/run-logs/{run_id}"
	doc := func(id, summary string, query ...Param) Doc {
		return Doc{ID: id, Tag: "run logs", Summary: summary, Query: query}
	}
	get := func(path string, d Doc) Route { return Route{Method: http.MethodGet, Path: path, Doc: d} }
	return []Route{
		Does(get("/api/v1/run-logs", doc("listRunLogs", "List orchestrated runs")), http.StatusOK, l.list),
		Does(get(one, doc("getRunLog", "Get the snapshot of a run")), http.StatusOK, l.snapshot),
		Does(get(one+"/snapshot", doc("getSnapshot", "Get the snapshot of a run")), http.StatusOK, l.snapshot),
		Does(get(one+"/events", doc("getEvents", "Get events of a run, in order",
			Param{Name: "after", Form: "integer", About: "how many to leave out; next of the page before"},
			Param{Name: "limit", Form: "integer", About: "1 to 1000; 100 if absent"})), http.StatusOK, l.events),
		Does(get(one+"/verify", doc("verifyRunLog", "Check the log of a run: links, hashes, meaning, checkpoints")), http.StatusOK, l.verify),
		Does(Route{Method: http.MethodPost, Path: "/api/v1/run-logs", Limit: recordBody, Doc: doc("startRun", "Start a run of a recipe; it goes on in a process of its own")},
			http.StatusAccepted, l.start),
		Does(Route{Method: http.MethodPost, Path: one + "/resume", Doc: doc("resumeRun", "Go on with a run where its log ends, in a process of its own")},
			http.StatusAccepted, l.resume),
		Does(Route{Method: http.MethodPost, Path: one + "/cancel", Doc: doc("cancelRun", "End a run for good, wherever it is carried out")},
			http.StatusOK, l.cancel),
		Does(Route{Method: http.MethodPost, Path: one + "/fork", Doc: doc("forkRun", "Make a run that continues another from one of its events")},
			http.StatusCreated, l.fork),
	}
}

// find checks the id before anything is done with it: it becomes a path.
func (l runLogs) find(c *Call) (RunLogs, string, error) {
	if l.logs == nil {
		return nil, "", notHere("run logs")
	}
	runID := c.Param("run_id")
	return l.logs, runID, run.CheckRunID(runID)
}

func (l runLogs) list(c *Call, _ None) (RunList, error) {
	if l.logs == nil {
		return RunList{}, notHere("run logs")
	}
	runs, err := l.logs.List(c.Context())
	if runs == nil {
		runs = []RunLog{}
	}
	return RunList{runs}, err
}

func (l runLogs) snapshot(c *Call, _ None) (json.RawMessage, error) {
	logs, runID, err := l.find(c)
	if err != nil {
		return nil, err
	}
	return logs.Snapshot(c.Context(), runID)
}

func (l runLogs) events(c *Call, _ None) (EventPage, error) {
	logs, runID, err := l.find(c)
	if err != nil {
		return EventPage{}, err
	}
	after, err := c.Number("after", 0, 1<<53, 0)
	if err != nil {
		return EventPage{}, err
	}
	limit, err := c.Number("limit", 1, 1000, 100)
	if err != nil {
		return EventPage{}, err
	}
	events, err := logs.Events(c.Context(), runID, after, limit)
	if events == nil {
		events = []json.RawMessage{}
	}
	return EventPage{events, after + int64(len(events))}, err
}

func (l runLogs) verify(c *Call, _ None) (RunProof, error) {
	logs, runID, err := l.find(c)
	if err != nil {
		return RunProof{}, err
	}
	return logs.Verify(c.Context(), runID)
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
