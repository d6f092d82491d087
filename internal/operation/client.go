package operation

import (
	"context"
	"path/filepath"
	"strconv"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
)

// Client carries out operations for the faces.
type Client interface {
	// Call validates the input, which is a pointer, and returns the output.
	Call(ctx context.Context, o Operation, in any) (any, error)
}

// Local carries out operations in this process.
type Local struct {
	// Open returns the workspace. It is not called for an input that is invalid.
	Open func(context.Context) (*session.Workspace, error)
	// Runs returns the orchestrated runs; nil: there are none.
	Runs func() (*Runs, error)
	// Own returns the agent whose command this process carries out, and whether there is one; nil: there is none.
	// A workspace knows it too; operations on runs may have none.
	Own func() (id.Agent, bool)
	Ports
}

// Ports hold the parts of the program that operations on the home need, and ways to reach the person who calls. A face sets those that the
// operations it offers use.
type Ports struct {
	Session *session.Session
	// Ledger returns the ledger of spawned sub-agents; make: its folder is made if it is the default one.
	Ledger  func(make bool) (*ledger.Folder, error)
	Vendors Vendors
	// Environment returns the environment of prompts; nil: that of the kernel's process.
	Environment func() *kernel.Environment
	Tell        func(line string)                     // prints a line for the person while the operation runs
	Yes         func(question string) bool            // asks the person, who may answer on standard input too
	Secret      func(question string) (string, error) // reads a secret from the terminal, else from standard input
}

// Within returns a client for an open workspace, and the ledger of its project.
func Within(w *session.Workspace) Local {
	l := Local{Open: func(context.Context) (*session.Workspace, error) { return w, nil }, Own: w.Own}
	l.Ledger = func(bool) (*ledger.Folder, error) {
		return ledger.FolderAt(filepath.Join(w.Place.Project, ".ramet"), ledger.FolderOptions{Project: w.Place.Project}), nil
	}
	return l
}

// Call implements Client.
func (l Local) Call(ctx context.Context, o Operation, in any) (any, error) {
	if c, ok := in.(Checker); ok {
		if err := c.Check(); err != nil {
			return nil, err
		}
	}
	e, err := l.prepare(ctx, o.Describe())
	if err != nil {
		return nil, err
	}
	return o.Do(ctx, e, in)
}

// prepare opens what an operation works on, and admits the caller.
func (l Local) prepare(ctx context.Context, d *Doc) (e *Env, err error) {
	e = &Env{Open: l.Open, Ports: l.Ports}
	if !d.OnRuns && !d.OnHome {
		if e.Workspace, err = l.Open(ctx); err == nil {
			e.Caller, err = admit(ctx, e.Workspace, d)
		}
		return e, err
	}
	if d.Persons {
		if err := session.NeedPerson(ctx, d.Name, l.Own); err != nil {
			return nil, err
		}
	}
	if d.OnHome {
		return e, nil
	}
	if l.Runs == nil {
		return nil, fault.New(fault.NotFound, "no runs here")
	}
	e.Runs, err = l.Runs()
	return e, err
}

// Checker is an input with rules that no single field can express. Check needs no workspace.
type Checker interface{ Check() error }

// Confirmer is an input that a person at a terminal completes by answering the question of Op.Ask.
// Elsewhere the operation runs as it is.
type Confirmer interface {
	Undecided() bool
	SetDryRun(bool)                  // the question is about the output of a dry run
	Decide(yes bool, plan any) error // plan is the output of the dry run
}

// Incomplete is the error of an operation that did a part of its work, or waited in vain: the command
// line prints the output before the error.
type Incomplete struct{ error }

// ExitCode is the exit code of a command whose output, or another process, has said everything.
type ExitCode int

func (e ExitCode) Error() string { return "exit " + strconv.Itoa(int(e)) }

// Unwrap returns the error.
func (e Incomplete) Unwrap() error { return e.error }

// Caller identifies the caller of operations. A face puts it into the context; no input contains it.
type Caller struct {
	Agent id.Agent     // the calling agent; empty: a person
	Who   string       // the person, for the record
	Face  history.Face // where the call comes from; empty: from a command of the agent
}

type callerKey struct{}

// Context returns a context whose calls are the caller's.
func (c Caller) Context(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, callerKey{}, c)
	if c.Agent != "" {
		return session.As(ctx, c.Agent)
	}
	return history.By(ctx, history.Actor{Who: c.Who, Face: c.Face})
}

// admit refuses what the caller may not call at all. Whether an agent may act on another one is
// decided where the target is changed.
func admit(ctx context.Context, w *session.Workspace, d *Doc) (Caller, error) {
	by, err := w.Admit(ctx, d.Name, d.Persons, d.Tool)
	c, _ := ctx.Value(callerKey{}).(Caller)
	if c.Agent = by; by != "" || err != nil {
		return c, err
	}
	if actor := history.ActorOf(ctx); actor != nil {
		c.Who, c.Face = actor.Who, actor.Face
	}
	return c, nil
}

// Target finds the agent that a field names; by default the calling agent, or agent 0 for a person.
func (e *Env) Target(ctx context.Context, ref AgentRef) (agent.Agent, error) {
	if ref == "" && e.Caller.Agent != "" {
		ref = AgentRef(e.Caller.Agent)
	}
	if ref == "" {
		ref = "0"
	}
	return e.Find(ctx, string(ref))
}
