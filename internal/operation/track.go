package operation

import (
	"context"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
)

// TrackedID is the id of an entry of the ledger.
type TrackedID string

// TrackedStatus is a status of an entry of the ledger. Other programs may write others.
type TrackedStatus string

// Words implements Words.
func (TrackedStatus) Words() []string { return wordsOf(ledger.Statuses()) }

// Refuse implements Refuser.
func (TrackedStatus) Refuse(string) error { return nil }

// Tracked is an entry of the ledger.
type Tracked struct{ ledger.Shown }

// Text implements printer.Datum.
func (t Tracked) Text(w *printer.Writer) {
	w.Line("%s %s", text.Line(t.ID, 200), describeTracked(t.Shown))
}

// describeTracked returns the status, and what else matters about it.
func describeTracked(t ledger.Shown) string {
	status := string(t.Status)
	switch {
	case t.Gone != nil:
		status += " (" + *t.Gone + ")"
	case t.ResumedBy != nil:
		status += " by " + *t.ResumedBy
	case t.Reason != nil:
		status += " (" + text.Line(*t.Reason, 60) + ")"
	}
	return text.Line(status, 200)
}

// TrackList is entries of the ledger.
type TrackList struct {
	Entries []ledger.Shown `json:"entries"`
}

// List writes the entries one by one: there may be thousands.
func (l TrackList) List() (string, iter.Seq[any]) {
	return "entries", func(yield func(any) bool) {
		for _, t := range l.Entries {
			if !yield(t) {
				return
			}
		}
	}
}

// Text implements printer.Datum.
func (l TrackList) Text(w *printer.Writer) {
	writeTable(w, "no sub-agents", []string{"ID", "PLAN", "TYPE", "AGE", "TASK", "STATUS"}, l.Entries, func(t ledger.Shown) []string {
		age := ""
		if at, err := time.Parse(time.RFC3339, valueOf(t.At)); err == nil {
			age = w.Age(at)
		}
		return []string{text.Line(t.ID, 40), text.Line(valueOf(t.Plan), 10), text.Line(valueOf(t.Type), 24), age, text.Line(t.Description, 40), describeTracked(t)}
	})
}

// readLedger returns the ledger, and a function that shows its entries. A ledger that other programs read here is
// not repaired.
func (e *Env) readLedger(ctx context.Context) (v ledger.View, judge ledger.Judge, show func(ledger.Entry) ledger.Shown, err error) {
	if e.Ledger == nil {
		return v, nil, nil, fault.New(fault.NotFound, "no ledger here")
	}
	folder, err := e.Ledger(false)
	if err != nil {
		return v, nil, nil, err
	}
	if e.Session == nil {
		v, err = folder.Peek()
	} else {
		v, err = folder.Read(ctx)
	}
	if err != nil {
		return v, nil, nil, err
	}
	judge = folder.Judge()
	return v, judge, v.Shower(judge), nil
}

// ListTrackedInput chooses entries of the ledger.
type ListTrackedInput struct {
	Status *TrackedStatus `json:"status,omitempty" help:"only those with this status: spawned, completed, interrupted, resumed, failed, timeout"`
}

// ListTracked lists the entries of the ledger.
var ListTracked = Op[ListTrackedInput, TrackList]{
	Doc: Doc{Name: "track list", Group: "ledger", ID: "listTracked", Route: "GET /api/v1/track 200", Faces: CLI | HTTP | MCP, Effect: Reads, OnHome: true,
		Summary: "Show all sub-agents, oldest first",
		Model:   "List the ledger of spawned sub-agents of any program, oldest first: who began, who ended and how."},
	Run: func(ctx context.Context, e *Env, in ListTrackedInput) (TrackList, error) {
		out := TrackList{Entries: []ledger.Shown{}}
		v, _, show, err := e.readLedger(ctx)
		if err != nil {
			return out, err
		}
		status := ledger.Status(valueOf(in.Status))
		for _, e := range v.Entries() {
			if status == "" || e.Status == status {
				out.Entries = append(out.Entries, show(e))
			}
		}
		// Other programs may write statuses that are not ours; a word that no entry has is a slip.
		if in.Status != nil && len(out.Entries) == 0 && !status.Known() {
			return out, Invalid("status", fault.Usage, "{status} %.40q is not a status", string(status)).Hint("use " + strings.Join(in.Status.Words(), ", "))
		}
		return out, nil
	},
}

// PlanInput names a plan.
type PlanInput struct {
	Plan string `json:"plan" value:"NN" help:"number of the plan, such as 02"`
}

// ListPlan lists the entries of a plan.
var ListPlan = Op[PlanInput, TrackList]{
	Doc: Doc{Name: "track history", Group: "ledger", Faces: CLI, Effect: Reads, OnHome: true, Summary: "Show the sub-agents of a plan, oldest first"},
	Run: func(ctx context.Context, e *Env, in PlanInput) (out TrackList, err error) {
		v, _, show, err := e.readLedger(ctx)
		if err != nil {
			return out, err
		}
		for _, e := range v.Plan(in.Plan) {
			out.Entries = append(out.Entries, show(e))
		}
		return out, nil
	},
}

// ShowActive shows the current entry of the ledger.
var ShowActive = Op[NoInput, Tracked]{
	Doc: Doc{Name: "track active", Group: "ledger", Faces: CLI, Effect: Reads, OnHome: true, Summary: "Show the current sub-agent",
		Help: `Show the entry that current-agent-id.txt names, with its status; if there is no such file, the
newest spawned one. The exit code is 3 if there is none.`},
	Run: showTracked("active", func(v ledger.View, _ ledger.Judge) (ledger.Entry, bool) { return v.Active(v.Named) }),
}

// ShowInterrupted shows the newest entry of the ledger that can be resumed.
var ShowInterrupted = Op[NoInput, Tracked]{
	Doc: Doc{Name: "track interrupted", Group: "ledger", Faces: CLI, Effect: Reads, OnHome: true, Summary: "Show the newest sub-agent that can be resumed",
		Help: `Show the newest entry that is interrupted, or that is spawned and has a dead owner or an expired
timeout. The exit code is 3 if there is none.`},
	Run: showTracked("interrupted", func(v ledger.View, judge ledger.Judge) (ledger.Entry, bool) { return v.Interrupted(judge) }),
}

func showTracked(what string, find func(ledger.View, ledger.Judge) (ledger.Entry, bool)) func(context.Context, *Env, NoInput) (Tracked, error) {
	return func(ctx context.Context, e *Env, _ NoInput) (out Tracked, err error) {
		v, judge, show, err := e.readLedger(ctx)
		if err != nil {
			return out, err
		}
		found, ok := find(v, judge)
		if !ok {
			return out, fault.New(fault.NotFound, "no sub-agent is %s", what).WithHint("`ramet track list` shows all")
		}
		return Tracked{show(found)}, nil
	}
}

// TaskOptions describe the task of a sub-agent.
type TaskOptions struct {
	Type  string `json:"type,omitempty" help:"kind of agent, such as backend-specialist"`
	Plan  string `json:"plan,omitempty" help:"number of the plan, such as 02"`
	Group string `json:"group,omitempty" help:"task group, such as \"API Endpoints\""`
}

// StartOptions describe the start of a sub-agent.
type StartOptions struct {
	ID          *string  `json:"id,omitempty" help:"id (default: random)"`
	Description string   `json:"description,omitempty" help:"its task (default \"Execute plan NN: GROUP\")"`
	Timeout     *float64 `json:"timeout,omitempty" help:"time limit in minutes"`
}

// OwnerOption names the process that looks after a sub-agent.
type OwnerOption struct {
	OwnerPID *int `json:"owner_pid,omitempty" help:"its owner process: when that is dead, so is the sub-agent"`
}

// Start returns the start of a sub-agent, with an id that is drawn if none is given.
func (o StartOptions) Start(task TaskOptions, owner OwnerOption) (st ledger.Start, err error) {
	st = ledger.Start{Type: task.Type, Plan: task.Plan, Group: task.Group, Description: o.Description}
	if o.Timeout != nil {
		if st.Minutes = *o.Timeout; !(st.Minutes > 0) {
			return st, Invalid("timeout", fault.Usage, "{timeout} %v is no time", st.Minutes).Hint("give a positive number of minutes")
		}
	}
	if o.ID == nil {
		o.ID = new(string(id.NewAgent()))
	}
	st.ID = *o.ID
	if owner.OwnerPID != nil {
		if st.Owner, err = ledger.FindOwner(*owner.OwnerPID); err != nil {
			return st, err
		}
	}
	return st, st.Check()
}

// SpawnInput describes a sub-agent that is about to start.
type SpawnInput struct {
	Type  string `json:"type" value:"T" help:"kind of agent, such as backend-specialist"`
	Plan  string `json:"plan" value:"NN" help:"number of the plan, such as 02"`
	Group string `json:"group" value:"TEXT" help:"task group, such as \"API Endpoints\""`
	StartOptions
	OwnerOption
}

// SpawnTracked registers a sub-agent.
var SpawnTracked = Op[SpawnInput, Tracked]{
	Doc: Doc{Name: "track spawn", Group: "ledger", Faces: CLI, OnHome: true, Summary: "Register a sub-agent that is about to start; print its id",
		Help: `Register a sub-agent before it starts, and print its id. If this fails, don't start it. The id is
random unless given with {id}; an id that is in use is a CONFLICT, exit 4. Without {owner_pid},
ramet can't notice its death, and only {timeout} ends it.`},
	Run: func(ctx context.Context, e *Env, in SpawnInput) (out Tracked, err error) {
		st, err := in.Start(TaskOptions{in.Type, in.Plan, in.Group}, in.OwnerOption)
		if err != nil {
			return out, err
		}
		folder, err := e.Ledger(true)
		if err != nil {
			return out, err
		}
		return showWritten(folder.Spawn(ctx, st))
	},
	Text: func(w *printer.Writer, _ SpawnInput, out Tracked) { w.Line("%s", out.ID) },
}

// ResumeTrackedInput describes a sub-agent that continues another.
type ResumeTrackedInput struct {
	From TrackedID `json:"from" arg:"ID" help:"the interrupted one"`
	TaskOptions
	StartOptions
	OwnerOption
}

// ResumeTracked registers a sub-agent that continues an interrupted one.
var ResumeTracked = Op[ResumeTrackedInput, Tracked]{
	Doc: Doc{Name: "track resume", Group: "ledger", Faces: CLI, OnHome: true, Summary: "Register a sub-agent that continues an interrupted one; print its id",
		Help: `Mark ID as resumed and register a new sub-agent that continues it, with the same type, plan and
description. ID must be interrupted, or spawned with a dead owner or an expired timeout. Otherwise
the command fails with ILLEGAL_TRANSITION, exit 4.`},
	Run: func(ctx context.Context, e *Env, in ResumeTrackedInput) (out Tracked, err error) {
		st, err := in.Start(in.TaskOptions, in.OwnerOption)
		if err != nil {
			return out, err
		}
		folder, err := e.Ledger(false)
		if err != nil {
			return out, err
		}
		return showWritten(folder.Resume(ctx, string(in.From), st))
	},
	Text: func(w *printer.Writer, _ ResumeTrackedInput, out Tracked) { w.Line("%s", out.ID) },
}

// showWritten shows an entry that was just written: no other continues it yet.
func showWritten(e ledger.Entry, err error) (Tracked, error) {
	return Tracked{e.Show("", e.Status)}, err
}

// RunTrackedInput describes a command that is recorded as a sub-agent.
type RunTrackedInput struct {
	Command []string `json:"command" arg:"COMMAND" help:"the command with its arguments"`
	TaskOptions
	StartOptions
}

// RunTracked runs a command as a sub-agent. The command line does it: the command has its terminal and its signals.
var RunTracked = Op[RunTrackedInput, Tracked]{
	Doc: Doc{Name: "track run", Group: "ledger", Faces: CLI, OnHome: true, Summary: "Run a command as a sub-agent, and record how it ended",
		Help: `Register a sub-agent, run a command, record how it ended, and exit with its exit code. The status is
completed for 0; interrupted if a signal ended it, or if it ended after a signal; timeout if it took
longer than {timeout} (then it gets SIGTERM, and SIGKILL after 5 s; TIMEOUT, exit 1); otherwise
failed. If a signal ended the command, the exit code is 128 + its number.

Signals are passed on. On a terminal, Ctrl-C reaches the command directly and is not passed on.
ramet itself prints nothing. The command finds its id in RAMET_TRACK_ID and the state folder in
RAMET_TRACK_STATE. The defaults are: type, the name of the command; plan, none; description, the
command line.`},
	Run: func(context.Context, *Env, RunTrackedInput) (out Tracked, err error) {
		return out, fault.New(fault.Usage, "only the command line runs commands")
	},
}

// MoveTrackedInput names an entry of the ledger that changes its status.
type MoveTrackedInput struct {
	ID     TrackedID `json:"id" arg:"ID" help:"of the sub-agent"`
	Reason *string   `json:"reason,omitempty" help:"the reason"`
}

// The operations that record the end of a sub-agent.
var (
	CompleteTracked  = moveTracked("complete", ledger.Completed, "Record that a sub-agent ended well")
	FailTracked      = moveTracked("fail", ledger.Failed, "Record that a sub-agent failed")
	TimeOutTracked   = moveTracked("timeout", ledger.Timeout, "Record that a sub-agent used up its time")
	InterruptTracked = moveTracked("interrupt", ledger.Interrupted, "Record that a sub-agent stopped in the middle; it can be resumed")
)

// moveTracked returns the operation that takes an entry to another status.
func moveTracked(verb string, to ledger.Status, summary string) Op[MoveTrackedInput, Tracked] {
	return Op[MoveTrackedInput, Tracked]{
		Doc: Doc{Name: "track " + verb, Group: "ledger", Faces: CLI, OnHome: true, Summary: summary, Help: summary + `. Setting the same status again changes nothing.

It exits with 3 (NOT_FOUND), 4 (ILLEGAL_TRANSITION, which names the legal ones) or 6 (STORAGE_…).`},
		Run: func(ctx context.Context, e *Env, in MoveTrackedInput) (out Tracked, err error) {
			if in.Reason != nil {
				if err := fault.CheckText(fault.InvalidText, "the reason", *in.Reason, 64<<10); err != nil {
					return out, err
				}
			}
			folder, err := e.Ledger(false)
			if err != nil {
				return out, err
			}
			return showWritten(folder.Move(ctx, string(in.ID), to, valueOf(in.Reason)))
		},
	}
}

// WatchTrackedInput chooses between one look and many.
type WatchTrackedInput struct {
	Once bool `json:"once,omitempty" help:"check once, then exit"`
}

// TrackedStream holds entries that are printed while they change.
type TrackedStream struct {
	parts iter.Seq2[printer.Part, error]
}

// Parts implements printer.Stream.
func (s TrackedStream) Parts() (string, iter.Seq2[printer.Part, error]) { return "entries", s.parts }

// watchInterval is the time between two looks at the ledger, which is one small file.
const watchInterval = time.Second

// WatchTracked marks sub-agents that are gone as interrupted.
var WatchTracked = Op[WatchTrackedInput, TrackedStream]{
	Doc: Doc{Name: "track watch", Group: "ledger", Faces: CLI, OnHome: true, Summary: "Mark sub-agents as interrupted when their owner dies or their time runs out",
		Help: `Check once a second for spawned sub-agents with a dead owner or an expired timeout, mark them as
interrupted, so that they can be resumed, and print each. It runs until it is stopped; {once} checks
once.`},
	Run: func(ctx context.Context, e *Env, in WatchTrackedInput) (out TrackedStream, err error) {
		folder, err := e.Ledger(false)
		if err != nil {
			return out, err
		}
		return TrackedStream{func(yield func(printer.Part, error) bool) {
			tick := time.NewTicker(watchInterval)
			defer tick.Stop()
			for {
				marked, err := folder.Sweep(ctx)
				for _, e := range marked {
					part := func(p *printer.Printer) error { return p.PrintLine(Tracked{e.Show("", e.Status)}) }
					if err == nil && !yield(part, nil) {
						return
					}
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if in.Once || !yield(nil, nil) {
					return
				}
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		}}, nil
	},
}

// LedgerRepair reports what was repaired in a ledger.
type LedgerRepair struct {
	State   string  `json:"state"`
	Corrupt *string `json:"corrupt"`
	From    *string `json:"from"`
	Entries int     `json:"entries"`
	Pointer bool    `json:"pointer_repaired"`
}

// RecoverLedger repairs the files of the ledger.
var RecoverLedger = Op[NoInput, LedgerRepair]{
	Doc: Doc{Name: "track recover", Group: "ledger", Faces: CLI, OnHome: true, Summary: "Repair the two files of the ledger",
		Help: `Repair the two files of the ledger. A missing agent-history.json is created from the template. An
unreadable one is kept as agent-history.json.corrupt-TIME and recovered from a complete temporary
file, or else from summaries/*-SUMMARY.md. A pointer to a missing entry is corrected. All other
commands do the same when they find damage.`},
	Run: func(ctx context.Context, e *Env, _ NoInput) (out LedgerRepair, err error) {
		folder, err := e.Ledger(true)
		if err != nil {
			return out, err
		}
		r, err := folder.Recover(ctx)
		return LedgerRepair{folder.Dir(), public.Optional(r.Corrupt), public.Optional(r.From), r.Entries, r.Pointer}, err
	},
	Text: func(w *printer.Writer, _ NoInput, r LedgerRepair) {
		done := []string{"ok: " + text.Count(r.Entries, "entry")}
		if r.Corrupt != nil {
			done = append(done, "made again from the "+valueOf(r.From), "the old file is "+filepath.Base(*r.Corrupt))
		}
		if r.Pointer {
			done = append(done, "the pointer named no entry and was repaired")
		}
		w.Line("%s", strings.Join(done, "; "))
	},
}
