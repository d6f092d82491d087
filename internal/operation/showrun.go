package operation

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/printer"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

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
