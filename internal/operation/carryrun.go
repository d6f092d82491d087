package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
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

// CarryOptions are the options of operations that carry out a run.
type CarryOptions struct {
	NoCache bool  `json:"no_cache,omitempty" help:"call models even if an answer to the same request is cached"`
	Limits  Pairs `json:"limits,omitempty" flag:"limit" help:"override a limit of the recipe, such as calls=200 or runtime=2h; repeats"`
	Detach  bool  `json:"detach,omitempty" faces:"cli" help:"continue in the background; follow with \"ramet run events ID --follow\""`
	Model   Model `json:"model,omitempty" help:"vendor/name of the model (see \"ramet models\")"`
	Leave   bool  `json:"leave-work,omitempty" faces:"cli" help:"leave the items to \"ramet worker\" hosts of the same PostgreSQL database"`
}

// StartRunInput describes a run of a recipe.
type StartRunInput struct {
	Recipe Recipe `json:"recipe,omitempty" default:"cli=docs" help:"name of a recipe, or the path of its file"`
	Repo   string `json:"repo,omitempty" help:"the repository: a path or a URL"`
	Into   string `json:"into,omitempty" help:"the repository that is changed, if it is another one"`
	Set    Pairs  `json:"set,omitempty" help:"a parameter of the recipe, NAME=VALUE; repeats"`
	RunID  RunID  `json:"run_id,omitempty" help:"id of the run (default: from time and configuration)"`
	Accept string `json:"accept,omitempty" help:"consent to a recipe with external effects, if it has this digest"`
	CarryOptions
}

// StartRun starts a run. The command line carries it out itself, and is what the other faces begin in a
// process of its own.
var StartRun = Op[StartRunInput, public.RunMade]{
	Doc: Doc{Name: "run start", Group: "run logs", ID: "startRun", Route: "POST /api/v1/run-logs 202", Faces: CLI | HTTP, OnRuns: true, Persons: true,
		Summary: "Start a run of a recipe",
		Help: `Start a run: agents carry out a recipe, and everything that happens is written to the run's
log. The default {recipe} is ` + "`docs`" + `: it documents the repository and opens one pull request, or writes
files if no forge is configured.

Commands of a recipe run in the sandbox, except those with an external effect. A recipe
from a file that contains such a command runs only with your consent, once for each version
of the file: you see what would run, and are asked. In a script, {accept} names exactly that.
To look at a recipe, use ` + "`ramet run recipe`" + `.

Ctrl-C stops the run, and ` + "`ramet run resume`" + ` continues it (exit 130). Exit code 0 means
that the run is DONE.`},
	Run: func(ctx context.Context, e *Env, in StartRunInput) (public.RunMade, error) {
		in.Detach = true
		return e.Runs.begin(ctx, "run start", &in)
	},
}

// ResumeRunInput names a run, and what to do again of it.
type ResumeRunInput struct {
	ID         RunID    `json:"id" arg:"ID" help:"of the run"`
	Redo       []string `json:"redo,omitempty" help:"a work item to repeat; repeats"`
	Force      bool     `json:"force,omitempty" help:"repeat everything"`
	FromFailed bool     `json:"from_failed,omitempty" help:"reopen a run that FAILED"`
	Accept     string   `json:"accept,omitempty" help:"consent to a run that is not yours, if what would run has this digest"`
	CarryOptions
}

// ResumeRun continues a run, in the same way.
var ResumeRun = Op[ResumeRunInput, public.RunMade]{
	Doc: Doc{Name: "run resume", Group: "run logs", ID: "resumeRun", Route: "POST /api/v1/run-logs/{run_id=id}/resume 202", Faces: CLI | HTTP, OnRuns: true, Persons: true,
		Summary: "Continue a run that was interrupted",
		Help: `Resume a run where its log ends. Completed work is not repeated as long as its inputs and
outputs are unchanged. Interrupted work is repeated. If an external effect can't be looked up,
it is unknown whether it happened: such effects are listed (UNKNOWN_OUTCOME) and repeated only
with {redo}. ` + "`ramet run plan ID`" + ` shows what a resume would do.

The files of a run that another host took over (` + "`ramet worker --orchestrate`" + `) are fetched; if it
is DONE there, nothing else happens.

A run is yours if its checkpoints are signed with the key of your home. Any other run, such as one
that came with a repository, is resumed only with your consent: you see what would run, and are
asked. In a script, {accept} names exactly that.`},
	Run: func(ctx context.Context, e *Env, in ResumeRunInput) (public.RunMade, error) {
		in.Detach = true
		return e.Runs.begin(ctx, "run resume", &in)
	},
}

// begin carries out the command line of an operation in a process of its own, which prints what it made and continues.
func (r *Runs) begin(ctx context.Context, name string, in any) (out public.RunMade, err error) {
	if r.Begin == nil {
		return out, fault.New(fault.Usage, "this system cannot carry out runs in the background")
	}
	printed, err := r.Begin(ctx, commandLine(name, in)...)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal([]byte(printed), &out); err != nil {
		return out, fault.New(fault.Failed, "%s: the answer cannot be read: %w", name, err)
	}
	return out, nil
}

// ForkRunInput chooses an event of a run.
type ForkRunInput struct {
	ID    RunID  `json:"id" arg:"ID" help:"of the run"`
	At    string `json:"at" help:"the event_id of the last event to share, or its number in the log"`
	RunID RunID  `json:"run_id,omitempty" help:"id of the new run"`
}

// ForkRun makes a run that continues another.
var ForkRun = Op[ForkRunInput, public.RunMade]{
	Doc: Doc{Name: "run fork", Group: "run logs", ID: "forkRun", Route: "POST /api/v1/run-logs/{run_id=id}/fork 201", Faces: CLI | HTTP, OnRuns: true, Persons: true,
		Summary: "Fork a run at an event",
		Help: `Fork a run at an event, given as event_id or as its number in the log. The earlier events
are shared, not copied, and linked by hash. The new log is of the same kind as the old one
unless --log says otherwise.`},
	Run: func(ctx context.Context, e *Env, in ForkRunInput) (out public.RunMade, err error) {
		x, err := e.Runs.Fork(ctx, string(in.ID), in.At, string(in.RunID), e.Runs.Kind)
		if err != nil {
			return out, err
		}
		return e.Runs.made(x.RunID, x.CurrentState()), x.Close()
	},
}

// commandLine returns the command line that carries out an operation with an input and prints JSON. No value can be
// taken for a flag.
func commandLine(name string, in any) []string {
	words, places := strings.Fields(name), []string{}
	for _, p := range paramsOf(reflect.TypeOf(in).Elem()) {
		for _, word := range p.words(in) {
			if p.IsPositional(CLI) {
				places = append(places, word)
			} else if p.On(CLI) {
				words = append(words, "--"+p.Flag()+"="+word)
			}
		}
	}
	return append(append(words, "--json", "--"), places...)
}

// words returns the words that set the field to its value; none if it has its zero value.
func (p *Param) words(in any) (out []string) {
	v := reflect.ValueOf(p.Get(in))
	if !v.IsValid() || v.IsZero() {
		return nil
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, fmt.Sprint(v.Index(i)))
		}
	case reflect.Map:
		pairs := v.Interface().(Pairs)
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			out = append(out, name+"="+pairs[name])
		}
	default:
		out = append(out, fmt.Sprint(v))
	}
	return out
}

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
