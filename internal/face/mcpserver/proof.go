package mcpserver

import (
	"context"
	"encoding/json"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/core/registry"
	"ramet/internal/ledger"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/run"
)

func trackTool() tool {
	return tool{name: "track", about: "List the ledger of spawned sub-agents of any program, oldest first: who began, who ended and how.", reads: true,
		args:    shape.Object(shape.May("status", shape.Enum(words(ledger.Statuses())...))),
		answers: []any{operation.TrackList{}},
		run: func(ctx context.Context, s *Server, _ Caller, args json.RawMessage) (json.RawMessage, error) {
			a, err := decode[struct{ Status string }](args)
			if err != nil {
				return nil, err
			}
			c := command{words: []string{"track", "list"}}
			c.flag("status", a.Status)
			return s.ask(ctx, c)
		}}
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = string(one)
	}
	return out
}

// What the tool run does.
const (
	listRuns   = "list"
	showRun    = "show"
	eventsRun  = "events"
	verifyRun  = "verify"
	startRun   = "start"
	resumeRun  = "resume"
	cancelRun  = "cancel"
	forkRun    = "fork"
	fewEvents  = 50
	mostEvents = 1000
)

type runArgs struct {
	Do, ID, Recipe, Repo, Into, Model, Reason, At, Accept string
	After                                                 int64
	Limit                                                 *float64
	Set, Limits                                           map[string]string
	Redo                                                  []string
	RunID                                                 string `json:"run_id"`
	FromFailed                                            bool   `json:"from_failed"`
	NoCache                                               bool   `json:"no_cache"`
	Force                                                 bool
}

func runAnswers() []any {
	return []any{operation.RunRows{}, run.Snapshot{}, operation.EventPage{}, operation.RunProof{}, public.RunMade{}}
}

func runTool() tool {
	return tool{name: "run", about: "Orchestrated runs: list them, show the state of one, read its events, verify its log; start one of a recipe or resume one, which go on in the background; fork one at an event; cancel one for good.",
		args: shape.Object(
			shape.Must("do", shape.Enum(listRuns, showRun, eventsRun, verifyRun, startRun, resumeRun, forkRun, cancelRun)),
			shape.May("id", shape.Text(1).With("of the run; not for list and start")),
			shape.May("after", shape.Integer(0).With("events: how many to leave out, next of the answer before")),
			shape.May("limit", shape.Number(1, mostEvents).With("events: how many; 50")),
			shape.May("recipe", shape.Text(1).With("start: a name, or the path of a file; docs")),
			shape.May("repo", shape.Text(1).With("start: the repository, a path or a URL")),
			shape.May("into", shape.Text(1).With("start: the repository that is changed, if it is another one")),
			shape.May("set", shape.Map(shape.Text(0)).With("start: parameters of the recipe")),
			shape.May("run_id", shape.Text(1).With("start, fork: id of the new run")),
			shape.May("model", shape.Text(1).With("start, resume: vendor/name")),
			shape.May("limits", shape.Map(shape.Text(1)).With("start, resume: other limits than the recipe's")),
			shape.May("no_cache", shape.Bool().With("start, resume: ask the models anew")),
			shape.May("redo", shape.List(shape.Text(1)).With("resume: work items to do again")),
			shape.May("force", shape.Bool().With("resume: do everything again")),
			shape.May("from_failed", shape.Bool().With("resume: reopen a run that FAILED")),
			shape.May("accept", shape.Text(1).With("start, resume: consent to a recipe that acts outside of the run, or to a run that is not yours, by its digest")),
			shape.May("at", shape.Text(1).With("fork: event_id or number of the last event to share")),
			shape.May("reason", shape.Text(1).With("cancel: why, for the log"))),
		answers: runAnswers(), long: true, destroys: true,
		run: runs}
}

func runs(ctx context.Context, s *Server, _ Caller, args json.RawMessage) (json.RawMessage, error) {
	a, err := decode[runArgs](args)
	if err != nil {
		return nil, err
	}
	if (a.ID == "") != (a.Do == listRuns || a.Do == startRun) {
		return nil, fault.New(fault.InvalidField, "run: id goes with everything but list and start, which have none")
	}
	verbs := session.Runs{Command: s.o.Command, Begin: s.o.Begin}
	switch a.Do {
	case listRuns:
		return s.call(ctx, &operation.ListRuns, &operation.ListRunsInput{Brief: true})
	case showRun:
		return s.call(ctx, &operation.ShowRun, &operation.ShowRunInput{ID: operation.RunID(a.ID)})
	case verifyRun:
		return s.call(ctx, &operation.VerifyRun, &operation.VerifyRunInput{ID: operation.RunID(a.ID)})
	case eventsRun:
		n := int64(fewEvents)
		if a.Limit != nil {
			n = int64(*a.Limit)
		}
		return s.events(ctx, a.ID, a.After, n)
	case startRun:
		return made(verbs.Start(ctx, public.RunStart{Recipe: a.Recipe, Repo: a.Repo, Into: a.Into, RunID: a.RunID, Model: a.Model, Set: a.Set, Limits: a.Limits, Accept: a.Accept, NoCache: a.NoCache}))
	case resumeRun:
		return made(verbs.Resume(ctx, a.ID, public.RunResume{Redo: a.Redo, Force: a.Force, FromFailed: a.FromFailed, Accept: a.Accept, Model: a.Model, Limits: a.Limits, NoCache: a.NoCache}))
	case forkRun:
		return made(verbs.Fork(ctx, a.ID, public.RunFork{At: a.At, RunID: a.RunID}))
	default:
		return made(verbs.Cancel(ctx, a.ID, public.RunCancel{Reason: a.Reason}))
	}
}

// made is the answer of a verb of runs.
func made(m public.RunMade, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return encode(m)
}

// events is a page of a run's log.
func (s *Server) events(ctx context.Context, runID string, after, limit int64) (json.RawMessage, error) {
	return s.call(ctx, &operation.ReadRunEvents, &operation.RunEventsInput{ID: operation.RunID(runID), After: after, Limit: &limit})
}

// Verified is what verify answers.
type Verified struct {
	OK bool `json:"ok"`
	registry.Report
	Checkpoint *string `json:"checkpoint"`
}

func verifyTool() tool {
	return tool{name: "verify", about: "Check the whole workspace: every link, commitment, blob and letter. The first damage is an error that says where it is.", reads: true, long: true,
		args:    shape.Object(),
		answers: []any{Verified{}},
		run: func(ctx context.Context, s *Server, _ Caller, _ json.RawMessage) (json.RawMessage, error) {
			return s.ask(ctx, command{words: []string{"verify"}})
		}}
}
