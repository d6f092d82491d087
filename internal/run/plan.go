package run

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
)

// Plan lists what a resume would do.
type Plan struct {
	RunID     string      `json:"run_id"`
	From      State       `json:"from_state"`   // as the log left it
	Resume    State       `json:"resume_state"` // where to go on
	Rewind    bool        `json:"rewind"`       // a RESUME_REWIND is needed to get there
	Reopen    bool        `json:"reopen"`       // a RUN_REOPENED is needed first
	Skip      []Skipped   `json:"skip"`
	Discard   []Discarded `json:"discard"` // interrupted: failed, and queued again
	Queue     []Queued    `json:"queue"`
	Unknown   []Unknown   `json:"unknown_outcome"`
	Artifacts []Changed   `json:"changed_artifacts"`
}

// Skipped is completed work that is not done again.
type Skipped struct {
	WorkItemID string `json:"work_item_id"`
	Why        string `json:"why"`
}

// Discarded is an item that was interrupted.
type Discarded struct {
	WorkItemID string `json:"work_item_id"`
}

// Queued is work to be done.
type Queued struct {
	WorkItemID string `json:"work_item_id"` // of the attempt to be made
	Worker     string `json:"worker"`
	ScopeKey   string `json:"scope_key"`
	Attempt    int64  `json:"attempt"`
	Why        string `json:"why"`
	Asked      bool   `json:"-"` // not because of anything that happened
}

// Unknown is an external effect with an unknown outcome.
type Unknown struct {
	WorkItemID string `json:"work_item_id"`
	Why        string `json:"why"`
}

// Changed is an artifact that differs from the log.
type Changed struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Wishes are the user's options of a resume.
type Wishes struct {
	Redo       []string // work items to do again, completed or not
	Force      bool     // everything again
	FromFailed bool     // reopen a FAILED run
	// LooksUp reports whether a worker can look up the unknown outcome of an effect
	// by itself; nil: none can.
	LooksUp func(worker string) bool
}

// named reports whether a wish names an item: by its id, with the run or without, or by the id of an earlier
// attempt.
func (w Item) named(runID, wish string) bool {
	worker, rest, ok := strings.Cut(strings.TrimPrefix(wish, runID+":"), ":")
	number, scope, more := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	return wish == w.WorkItemID || ok && more && err == nil && worker == w.Worker && scope == w.ScopeKey && n >= 1 && n <= w.Attempt
}

// Disk returns the hash of a file of the run as it is now; ok is false if there is none.
type Disk func(path string) (sha256 string, ok bool)

// PlanResume decides what a resume would do. It is pure: the snapshot has all
// events applied, and disk answers for the files.
func PlanResume(s Snapshot, disk Disk, w Wishes) (Plan, error) {
	p := Plan{RunID: s.RunID, From: s.RunState, Resume: s.RunState, Skip: []Skipped{}, Discard: []Discarded{},
		Queue: []Queued{}, Unknown: []Unknown{}, Artifacts: []Changed{}}
	if err := p.entry(s, w); err != nil {
		return p, err
	}
	found := map[string]bool{}
	for _, item := range LatestAttempts(s.WorkItems) {
		redo := false
		for _, id := range w.Redo {
			if item.named(s.RunID, id) {
				redo, found[id] = true, true
			}
		}
		// Reopening a failed run tries again what failed.
		reopened := p.Reopen && item.Status == ItemFailed
		p.decide(s, item, disk, w, w.Force || redo || reopened)
	}
	for _, id := range w.Redo {
		if !found[id] {
			return p, fault.New(fault.NotFound, "no work item %.120q to do again", id).
				WithHint("`ramet run show` lists the items")
		}
	}
	for _, a := range s.Artifacts {
		if why := compareFile(disk, a.Path, &a.SHA256); why != "" {
			p.Artifacts = append(p.Artifacts, Changed{a.Name, a.Path, why})
		}
	}
	return p, nil
}

// entry finds the state to resume from.
func (p *Plan) entry(s Snapshot, w Wishes) error {
	switch {
	case s.RunState == Done, s.RunState == Cancelled:
		return fault.New(fault.IllegalTransition, "run %s is %s", s.RunID, s.RunState).
			WithHint("it does not reopen; fork it (`ramet run fork`) to continue from an earlier event")
	case s.RunState == Failed && !w.FromFailed:
		return fault.New(fault.IllegalTransition, "run %s is FAILED", s.RunID).
			WithHint("resume it with --from-failed")
	case s.RunState == Failed:
		// Reopening steps back by itself, a rewind is not needed.
		if p.Reopen, p.Resume = true, Created; !w.Force && s.Failure != nil {
			p.Resume = s.Failure.reopensAt()
		}
	case w.Force:
		p.Resume, p.Rewind = Created, s.RunState != Created
	default:
		if to, ok := s.RunState.RewindTo(); ok {
			p.Resume, p.Rewind = to, true
		}
	}
	return nil
}

// LatestAttempts returns the newest attempts, by worker and scope, in the order of queueing.
func LatestAttempts(items []Item) []Item {
	type unit struct{ worker, scope string }
	newest := map[unit]int{}
	for i, w := range items {
		u := unit{w.Worker, w.ScopeKey}
		if j, ok := newest[u]; !ok || items[j].Attempt < w.Attempt {
			newest[u] = i
		}
	}
	var at []int
	for _, i := range newest {
		at = append(at, i)
	}
	sort.Ints(at)
	out := make([]Item, len(at))
	for k, i := range at {
		out[k] = items[i]
	}
	return out
}

func (p *Plan) decide(s Snapshot, w Item, disk Disk, wishes Wishes, again bool) {
	switch {
	case again && (w.Status == Completed || w.Status == ItemSkipped):
		p.again(s, w, askedFor)
	case w.Status == Completed:
		if why := staleReason(disk, w); why != "" {
			p.again(s, w, why)
		} else {
			p.Skip = append(p.Skip, Skipped{w.WorkItemID, "completed; its inputs and outputs are unchanged"})
		}
	case w.Status == ItemSkipped:
		p.Skip = append(p.Skip, Skipped{w.WorkItemID, "skipped before"})
	case w.Status == InProgress && w.External() && !again && wishes.LooksUp != nil && wishes.LooksUp(w.Worker):
		p.Discard = append(p.Discard, Discarded{w.WorkItemID})
		p.again(s, w, "interrupted; whether it happened is looked up first")
	case w.Status == InProgress && w.External() && !again:
		why := "its outcome is unknown and cannot be looked up; --redo does it again"
		if w.IdempotencyKey != nil {
			why = fmt.Sprintf("its outcome is unknown; look up the key %s, or name it with --redo", *w.IdempotencyKey)
		}
		p.Unknown = append(p.Unknown, Unknown{w.WorkItemID, why})
	case w.Status == InProgress:
		p.Discard = append(p.Discard, Discarded{w.WorkItemID})
		p.again(s, w, "interrupted")
	case w.Status == Pending:
		p.Queue = append(p.Queue, Queued{w.WorkItemID, w.Worker, w.ScopeKey, w.Attempt, "was waiting", false})
	case w.Status == ItemFailed && (again || w.Retryable != nil && *w.Retryable):
		p.again(s, w, "failed before, can be tried again")
	case w.Status == ItemFailed:
		p.Skip = append(p.Skip, Skipped{w.WorkItemID, "failed for good; --redo does it again"})
	}
}

const askedFor = "asked for"

func (p *Plan) again(s Snapshot, w Item, why string) {
	n := w.Attempt + 1
	p.Queue = append(p.Queue, Queued{ItemID(s.RunID, w.Worker, n, w.ScopeKey), w.Worker, w.ScopeKey, n, why, why == askedFor})
}

// staleReason returns the reason to do a completed item again, or nothing.
func staleReason(disk Disk, w Item) string {
	for _, f := range w.Inputs {
		if why := compareFile(disk, f.Path, f.SHA256); why != "" {
			return fmt.Sprintf("its input %s %s", f.Path, why)
		}
	}
	for _, f := range w.Outputs {
		if why := compareFile(disk, f.Path, f.SHA256); why != "" {
			return fmt.Sprintf("its output %s %s", f.Path, why)
		}
	}
	return ""
}

// compareFile returns what is wrong with a file. One whose hash was not recorded must
// only be there.
func compareFile(disk Disk, path string, sha256 *string) string {
	have, ok := disk(path)
	switch {
	case !ok:
		return "is missing"
	case sha256 != nil && have != *sha256:
		return "was changed"
	}
	return ""
}
