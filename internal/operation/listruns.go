package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

// ListRunsInput asks for all runs.
type ListRunsInput struct {
	Brief bool `json:"brief,omitempty" faces:"-" default:"true http=false" help:"omit what requires whole logs"`
}

// ListRuns lists orchestrated runs.
var ListRuns = Op[ListRunsInput, RunList]{
	Doc: Doc{Name: "run list", Group: "run logs", ID: "listRunLogs", Route: "GET /api/v1/run-logs 200", Faces: CLI | HTTP, Effect: Reads, OnRuns: true,
		Summary: "List the runs"},
	Run: listRuns, Text: writeRuns,
	Public: func(f Face, out RunList) any {
		if f == HTTP {
			return out
		}
		rows := RunRows{make([]RunRow, len(out.Runs))}
		for i, r := range out.Runs {
			rows.Runs[i] = r.RunRow
		}
		return rows
	},
}

// RunRow is a run in a list. One that cannot be read is listed with its fault.
type RunRow struct {
	RunID   string  `json:"run_id"`
	State   string  `json:"run_state"`
	Status  string  `json:"status"` // running, stopped, done, failed, cancelled, kept
	Reason  *string `json:"reason"` // why it failed or stopped
	Events  int64   `json:"event_count"`
	Updated string  `json:"updated_at"`
	Error   *string `json:"error"`
}

// RunRows is all runs.
type RunRows struct {
	Runs []RunRow `json:"runs"`
}

// RunLog is a run, with what it is about and what it cost.
type RunLog struct {
	RunRow
	Created string  `json:"created_at"`
	Recipe  *string `json:"recipe"` // null: ramet did not start the run
	Repo    *string `json:"repo"`   // the repository that it works on
	PR      *string `json:"pr_url"` // its pull request, or the bundle that replaces one
	Cost    int64   `json:"cost_nano_usd"`
	Calls   int64   `json:"calls"` // of models
}

// RunList is all runs.
type RunList struct {
	Runs []RunLog `json:"runs"`
}

func listRuns(ctx context.Context, e *Env, in ListRunsInput) (RunList, error) {
	ids, err := e.Runs.List()
	out := RunList{make([]RunLog, len(ids))}
	for i, id := range ids {
		row := &out.Runs[i]
		row.RunID = id
		r, err := e.Runs.Open(ctx, id, "")
		if err == nil {
			err = e.Runs.describe(ctx, row, r, in.Brief)
			r.Close() // it only read
		}
		if err != nil {
			row.Error = public.Optional(string(fault.CodeOf(err)))
		}
	}
	return out, err
}

// describe fills a row with what the log of a run says.
func (r *Runs) describe(ctx context.Context, row *RunLog, log *rundir.Reader, brief bool) error {
	state, err := log.State(ctx)
	if err != nil {
		return err
	}
	standing := r.StatusOf(ctx, state)
	row.State, row.Events, row.Updated = string(state.RunState), state.EventCount, state.UpdatedAt
	row.Status, row.Reason = string(standing.Status), public.Optional(standing.Reason)
	if brief {
		return nil
	}
	row.Created = state.CreatedAt
	if c, err := r.Config(row.RunID); err == nil {
		row.Recipe = &c.Recipe
		row.Repo = public.Optional(cmp.Or(c.Set["repo"], c.Set["into"]))
	}
	if state.PR != nil {
		row.PR = cmp.Or(state.PR.URL, state.PR.Bundle)
	}
	row.Cost, row.Calls = r.costs.of(ctx, row.RunID, log)
	return nil
}

func writeRuns(w *printer.Writer, _ ListRunsInput, out RunList) {
	if len(out.Runs) == 0 {
		w.Line("no runs")
		return
	}
	rows := [][]string{{"RUN", "STATE", "STATUS", "EVENTS", "UPDATED"}}
	for _, r := range out.Runs {
		state, status := r.State, r.Status
		if r.Error != nil {
			state = *r.Error
		}
		if r.Reason != nil {
			code, _, _ := strings.Cut(*r.Reason, ":")
			status += ": " + code
		}
		rows = append(rows, []string{r.RunID, state, status, fmt.Sprint(r.Events), r.Updated})
	}
	w.Table(rows)
}

// runCosts knows what the calls of runs cost. Of a log that was read before, only what came behind
// is read.
type runCosts struct {
	mu    sync.Mutex // guards known
	known map[string]runCost
}

type runCost struct {
	events, nano, calls int64
	last                string // hash of the last event that was counted: a run may be made anew under its id
}

// of counts what a run cost. A log that is damaged is counted up to there: verify says where.
func (k *runCosts) of(ctx context.Context, runID string, r *rundir.Reader) (nano, calls int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[string]runCost{}
	}
	c := k.known[runID]
	if !c.goesOn(ctx, r) {
		c = runCost{}
		c.goesOn(ctx, r)
	}
	k.known[runID] = c
	return c.nano, c.calls
}

// goesOn counts what came behind the last event that was counted; false: that one is not there.
func (c *runCost) goesOn(ctx context.Context, r *rundir.Reader) bool {
	n, seen := max(0, c.events-1), c.events == 0
	for e, err := range r.Events(ctx, n) {
		if err != nil {
			return seen
		}
		n++
		if n == c.events {
			if seen = e.Hash == c.last; !seen {
				return false
			}
			continue
		}
		c.add(e.Event)
		c.events, c.last = n, e.Hash
	}
	return seen
}

func (c *runCost) add(e run.Event) {
	if e.Type != run.LLMCallFinished {
		return
	}
	c.calls++
	var end run.CallEnd
	if json.Unmarshal(e.Payload, &end) == nil && end.CostUSD != nil {
		c.nano += int64(math.Round(*end.CostUSD * 1e9))
	}
}
