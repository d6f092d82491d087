package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

// Runs is the folder of orchestrated runs that operations work on.
type Runs struct {
	*rundir.Store
	Kind rundir.Kind // where the log of a run is, if the user says so
	// External reports whether a host of a database is alive that may act outside of runs; nil: unknown.
	External func(ctx context.Context, db string) (bool, error)
	// Begin carries out a command line in a process of its own, which continues in the background, and
	// returns what it prints first; nil: this system cannot.
	Begin func(ctx context.Context, args ...string) (string, error)

	costs runCosts
}

// OnRuns returns a client that also carries out operations on runs; begin is Runs.Begin.
func (l Local) OnRuns(store *rundir.Store, begin func(context.Context, ...string) (string, error)) Local {
	runs := &Runs{Store: store, Begin: begin}
	l.Runs = func() (*Runs, error) { return runs, nil }
	return l
}

// RunID names a run.
type RunID string

func (r *Runs) made(runID string, state run.State) public.RunMade {
	return public.RunMade{RunID: runID, Path: r.Dir(runID), State: string(state)}
}

// read opens the log of a run.
func (r *Runs) read(ctx context.Context, id RunID, do func(*rundir.Reader) error) error {
	reader, err := r.Open(ctx, string(id), r.Kind)
	if err != nil {
		return err
	}
	return errors.Join(do(reader), reader.Close())
}

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
	writeTable(w, "no runs", []string{"RUN", "STATE", "STATUS", "EVENTS", "UPDATED"}, out.Runs, func(r RunLog) []string {
		state, status := r.State, r.Status
		if r.Error != nil {
			state = *r.Error
		}
		if r.Reason != nil {
			code, _, _ := strings.Cut(*r.Reason, ":")
			status += ": " + code
		}
		return []string{r.RunID, state, status, fmt.Sprint(r.Events), r.Updated}
	})
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

// ShowRunInput names a run.
type ShowRunInput struct {
	ID RunID `json:"id" arg:"ID" help:"of the run"`
}

// ShowRun shows the state of a run.
var ShowRun = Op[ShowRunInput, RunState]{
	Doc: Doc{Name: "run show", Group: "run logs", ID: "getRunLog", Route: "GET /api/v1/run-logs/{run_id=id} 200", Faces: CLI | HTTP, Effect: Reads, OnRuns: true,
		Summary: "Show the state of a run",
		Help: `Show the state of a run, computed from its events. If the snapshot in its folder differs, this is
reported and the exit code is 5. --json prints the snapshot (its schema: "ramet schema snapshot").`},
	Run: func(ctx context.Context, e *Env, in ShowRunInput) (out RunState, err error) {
		err = e.Runs.read(ctx, in.ID, func(r *rundir.Reader) error {
			if out.Snapshot, err = r.Truth(ctx); err == nil {
				out.stuck, out.standing = e.Runs.stuck(ctx, out.Snapshot), e.Runs.StatusOf(ctx, out.Snapshot)
			}
			return err
		})
		return out, err
	},
	Public: func(f Face, out RunState) any {
		if f != HTTP {
			return out.Snapshot
		}
		text, _ := out.Encode() // no value of it cannot be encoded
		return json.RawMessage(text)
	},
}

// RunState is the state of a run.
type RunState struct {
	run.Snapshot
	stuck    []string // see Runs.stuck
	standing rundir.RunStatus
}

// stuck returns the items that wait for a host which may act outside of runs, while none is alive.
func (r *Runs) stuck(ctx context.Context, n run.Snapshot) (out []string) {
	for _, item := range n.WorkItems {
		if item.Status == run.Pending && item.External() && isLatest(n.WorkItems, item) {
			out = append(out, item.WorkItemID)
		}
	}
	if len(out) == 0 || r.Server == "" || r.External == nil || n.RunState.Terminal() {
		return nil
	}
	if found, err := r.External(ctx, r.Server); err != nil || found {
		return nil // it may be about to be done
	}
	return out
}

// Text implements printer.Datum.
func (d RunState) Text(w *printer.Writer) {
	w.Line("run        %s", d.RunID)
	w.Line("state      %s", string(d.RunState))
	if d.standing.Status != "" {
		w.Line("status     %s%s", string(d.standing.Status), withReason(d.standing.Reason))
	}
	w.Line("events     %d, last %s", d.EventCount, d.UpdatedAt)
	counts := map[run.Status]int{}
	for _, item := range d.WorkItems {
		counts[item.Status]++
	}
	w.Line("items      %d: %d completed, %d in progress, %d pending, %d failed", len(d.WorkItems), counts[run.Completed],
		counts[run.InProgress], counts[run.Pending], counts[run.ItemFailed])
	for _, name := range slices.Sorted(maps.Keys(d.SectionStates)) {
		w.Line("section    %s: %s", name, string(d.SectionStates[name]))
	}
	for _, item := range d.WorkItems {
		if item.Status == run.InProgress || item.Status == run.ItemFailed && item.Error != nil && isLatest(d.WorkItems, item) {
			w.Line("item       %s %s%s", item.WorkItemID, string(item.Status), abortReason(item.Error))
		}
	}
	for _, id := range d.stuck {
		w.Line("item       %s waits for a host that may act outside of runs: ramet worker --external", id)
	}
	open := 0
	for _, i := range d.Issues {
		if i.Status != run.IssueDone {
			open++
		}
	}
	w.Line("issues     %d open of %d", open, len(d.Issues))
	for _, i := range d.Issues {
		if i.Status != run.IssueDone {
			w.Line("issue      %s %s: %s%s", i.IssueID, i.Severity, i.Message, FormatFiles(i.Files))
		}
	}
	w.Line("artifacts  %d", len(d.Artifacts))
	if d.Failure != nil {
		w.Line("failure    %s: %s", d.Failure.Code, d.Failure.Message)
	}
	switch {
	case d.PR != nil && d.PR.URL != nil:
		w.Line("pr         %s", *d.PR.URL)
	case d.PR != nil && d.PR.Bundle != nil:
		w.Line("pr         %s", *d.PR.Bundle)
	}
}

// isLatest reports whether no later attempt of an item was made.
func isLatest(all []run.Item, item run.Item) bool {
	return !slices.ContainsFunc(all, func(o run.Item) bool {
		return o.Worker == item.Worker && o.ScopeKey == item.ScopeKey && o.Attempt > item.Attempt
	})
}

func withReason(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func abortReason(e *run.ItemError) string {
	if e == nil {
		return ""
	}
	return ": " + e.Code + ": " + e.Message
}

// FormatFiles lists files in parentheses, after what they are about.
func FormatFiles(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return " (" + strings.Join(files, ", ") + ")"
}
