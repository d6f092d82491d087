package mcpserver

import (
	"context"
	"encoding/json"

	"ramet/internal/fault"
	"ramet/internal/httpapi"
	"ramet/internal/ledger"
	"ramet/internal/registry"
	"ramet/internal/run"
	"ramet/internal/shape"
)

// Runs reads orchestrated runs (httpapi.OverRunDir).
type Runs = httpapi.RunLogs

var trackTool = tool{name: "track", about: "List the ledger of spawned sub-agents of any program, oldest first: who began, who ended and how.", reads: true,
	args:    shape.Object(shape.May("status", shape.Enum(words(ledger.Statuses())...))),
	answers: []any{httpapi.TrackList{}},
	run: func(ctx context.Context, s *Server, _ Caller, args json.RawMessage) (json.RawMessage, error) {
		a, err := decode[struct{ Status string }](args)
		if err != nil {
			return nil, err
		}
		c := command{words: []string{"track", "list"}}
		c.flag("status", a.Status)
		return s.ask(ctx, c)
	}}

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
	cancelRun  = "cancel"
	fewEvents  = 50
	mostEvents = 1000
)

// RunMade is what start and cancel of run answer.
type RunMade struct {
	RunID string `json:"run_id"`
	Path  string `json:"path"`
	State string `json:"run_state"`
}

type runArgs struct {
	Do, ID, Recipe, Repo, Model, Reason string
	After                               int64
	Limit                               *float64
	Set                                 map[string]string
}

var runAnswers = []any{httpapi.RunList{}, run.Snapshot{}, httpapi.EventPage{}, httpapi.RunProof{}, RunMade{}}

var runTool = tool{name: "run", about: "Orchestrated runs: list them, show the state of one, read its events, verify its log; start one of a recipe, which goes on in the background, or cancel it for good.",
	args: shape.Object(
		shape.Must("do", shape.Enum(listRuns, showRun, eventsRun, verifyRun, startRun, cancelRun)),
		shape.May("id", shape.Text(1).With("of the run; not for list and start")),
		shape.May("after", shape.Integer(0).With("events: how many to leave out, next of the answer before")),
		shape.May("limit", shape.Number(1, mostEvents).With("events: how many; 50")),
		shape.May("recipe", shape.Text(1).With("start: a name, or the path of a file; docs")),
		shape.May("repo", shape.Text(1).With("start: the repository, a path or a URL")),
		shape.May("model", shape.Text(1).With("start: vendor/name")),
		shape.May("set", shape.Map(shape.Text(0)).With("start: parameters of the recipe")),
		shape.May("reason", shape.Text(1).With("cancel: why, for the log"))),
	answers: runAnswers, long: true, destroys: true,
	run: runs}

func runs(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
	a, err := decode[runArgs](args)
	if err != nil {
		return nil, err
	}
	if (a.ID == "") != (a.Do == listRuns || a.Do == startRun) {
		return nil, fault.New(fault.InvalidField, "run: id goes with show, events, verify and cancel, and with nothing else")
	}
	switch a.Do {
	case eventsRun:
		n := int64(fewEvents)
		if a.Limit != nil {
			n = int64(*a.Limit)
		}
		return s.events(ctx, a.ID, a.After, n)
	case startRun:
		return s.start(ctx, c, a)
	case cancelRun:
		if err := onlyPerson(c, "cancel a run"); err != nil {
			return nil, err
		}
		line := command{words: []string{"run", "cancel"}, rest: []string{a.ID}}
		line.flag("reason", a.Reason)
		return s.ask(ctx, line)
	}
	line := command{words: []string{"run", a.Do}}
	if a.ID != "" {
		line.rest = []string{a.ID}
	}
	return s.ask(ctx, line)
}

// events is a page of a run's log.
func (s *Server) events(ctx context.Context, runID string, after, limit int64) (json.RawMessage, error) {
	if err := run.CheckRunID(runID); err != nil {
		return nil, err
	}
	list, err := s.o.Runs.Events(ctx, runID, after, limit)
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	return encode(httpapi.EventPage{Events: list, Next: after + int64(len(list))})
}

// start starts a run in a process of its own. What a recipe does is permitted by whoever
// names it, so only a person may.
func (s *Server) start(ctx context.Context, c Caller, a runArgs) (json.RawMessage, error) {
	if err := onlyPerson(c, "start a run"); err != nil {
		return nil, err
	}
	if s.o.Begin == nil {
		return nil, fault.New(fault.Usage, "this system cannot carry out runs in the background")
	}
	line := command{words: []string{"run", "start", "--detach"}}
	line.flag("recipe", a.Recipe)
	line.flag("repo", a.Repo)
	line.flag("model", a.Model)
	for name, value := range a.Set {
		line.flag("set", name+"="+value)
	}
	said, err := s.o.Begin(ctx, line.line()...)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(said), nil
}

// onlyPerson refuses an agent.
func onlyPerson(c Caller, what string) error {
	if c == "" {
		return nil
	}
	return fault.New(fault.Denied, "%s: only a person may, and this is agent %s", what, c.Short()).WithHint("say what is needed; the person can do it")
}

// Verified is what verify answers.
type Verified struct {
	OK bool `json:"ok"`
	registry.Report
	Checkpoint *string `json:"checkpoint"`
}

var verifyTool = tool{name: "verify", about: "Check the whole workspace: every link, commitment, blob and letter. The first damage is an error that says where it is.", reads: true, long: true,
	args:    shape.Object(),
	answers: []any{Verified{}},
	run: func(ctx context.Context, s *Server, _ Caller, _ json.RawMessage) (json.RawMessage, error) {
		return s.ask(ctx, command{words: []string{"verify"}})
	}}
