// Package operation describes every verb of ramet once: its input (names, help, validation), its
// output, and the function that carries it out. The faces derive the rest: the command line its
// flags, help and completion, HTTP its routes and OpenAPI document, MCP its tools, the terminal its
// slash commands. docs/adding.md shows how to add one.
//
// An operation is a variable of type Op, listed in All. A face binds what it
// was given to a new input (Param.Set for words, Decode for JSON) and passes it to a Client.
package operation

import (
	"context"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
)

// All returns every operation.
func All() []Operation {
	return []Operation{&Ps, &Show, &Lineage, &Log, &Search, &Wait, &Fork, &Prompt, &Exit, &Send, &Rename, &Mark, &Append, &Read, &Mail, &DeleteMail, &Kill, &PreviewKill, &Interrupt, &ReviewTrust, &ShowTrust, &AcceptTrust, &Config, &GetSetting, &SetSetting, &ConfigPath, &Rules, &ShowPrompt,
		&Export, &Import, &Files, &FileStates, &Diff, &Restore, &Undo, &Trash, &RestoreTrash, &EmptyTrash, &Rewind, &Clear, &Compact, &Usage, &ListModels, &UpdateModels, &SetKey, &ListKeys, &RemoveKey, &SetMode, &ShowMode, &SetEffort, &Merge, &ListTrees, &RemoveTree, &Redact, &Verify, &Checkpoint, &GC, &Backup, &ListHooks, &ListSkills, &CheckSkills, &ShowInstructions, &ListDrivers,
		&ListServers, &AddServer, &RemoveServer, &ListServerTools, &AcceptServer, &CallServer, &LogInServer, &LogOutServer, &PrintToken, &InstallMCP,
		&ListRuns, &ShowRun, &ReadRunEvents, &VerifyRun, &StartRun, &ResumeRun, &ForkRun, &CancelRun, &RemoveRuns,
		&SpawnTracked, &CompleteTracked, &FailTracked, &TimeOutTracked, &InterruptTracked, &ResumeTracked, &RunTracked, &ShowActive, &ShowInterrupted, &ListPlan, &ListTracked, &RecoverLedger, &WatchTracked, &InstallHooks, &UninstallHooks}
}

// Named returns the operation of a name; nil: there is none.
func Named(name string) Operation {
	for _, o := range All() {
		if o.Describe().Name == name {
			return o
		}
	}
	return nil
}

// Face is a set of ways to call operations.
type Face uint8

// The faces.
const (
	CLI Face = 1 << iota
	HTTP
	MCP
	Slash // the terminal's slash commands
)

// Effect tells reads, changes and deletions of stored data apart.
type Effect uint8

// The effects. The zero value is the careful one.
const (
	Changes  Effect = iota
	Reads           // changes nothing; no database is created for it
	Destroys        // ends or deletes something for good
)

// Doc describes an operation to people and programs. In texts, {name} stands for a field of the
// input and becomes --name or name, as the face writes it.
type Doc struct {
	Name    string // as typed on the command line: "fork", "worktree list"
	Slash   string // its slash command, if that has another name
	Aliases string // other names of its command, between spaces: words that people try
	Group   string // of the command line's help, and the tag of the OpenAPI document
	Summary string // one line
	Help    string // the paragraphs that follow it in --help and /help
	Model   string // description for models; empty: Summary
	Route   string // method, path and status: "POST /api/v1/agents/{ref=agent}/fork 201"; {ref=agent} fills the field agent
	ID      string // OpenAPI operationId
	Faces   Face
	Effect  Effect
	OnRuns  bool   // it works on orchestrated runs; no workspace is opened for it
	OnHome  bool   // it works on ramet's home, the configuration, the project or the ledger; no workspace is opened for it
	Here    bool   // the process of the command carries it out, also if a background kernel runs
	Persons bool   // only persons may call it
	OneOf   string // flags of which a command line has at most one, between spaces
	Long    bool   // it may take longer than a call of MCP, which returns a handle then
	Quiet   bool   // the terminal shows what it did in the conversation, not its output
	Tool    string // an agent may call it only if its limits leave it this tool; empty: always
}

// Op is one operation.
type Op[In, Out any] struct {
	Doc
	Run func(ctx context.Context, e *Env, in In) (Out, error)
	// On carries out an operation on the agent that the field "agent" names, in place of Run. By default that is the
	// calling agent, or agent 0 for a person.
	On func(ctx context.Context, e *Env, a agent.Agent, in In) (Out, error)
	// Text prints the output for people; nil prints it by its own method Text, or as JSON.
	Text func(w *printer.Writer, in In, out Out)
	// Notes returns lines for standard error.
	Notes func(in In, out Out) []string
	// Ask prints what a person decides about and returns the question, given the output of a dry
	// run (see Confirmer); empty: there is nothing to decide.
	Ask func(w *printer.Writer, plan Out) string
	// Public returns the documented JSON value of the output on a face; nil: the output itself.
	// It accepts the zero value, whose type describes the answer in schemas.
	Public func(f Face, out Out) any

	once   sync.Once
	params []Param
}

// Operation is an Op without its types, as derived faces use it. Inputs are pointers.
type Operation interface {
	Describe() *Doc
	Params() []Param
	New() any
	Do(ctx context.Context, e *Env, in any) (any, error)
	Result(f Face, in, out any) printer.Result
	ListNotes(in, out any) []string
	Question(w *printer.Writer, plan any) string
	Answer(f Face) reflect.Type // of the public JSON value
	Output() reflect.Type
}

// Env holds the workspace, the runs and the caller of an operation.
type Env struct {
	*session.Workspace // nil for an operation on runs or the home
	Runs               *Runs
	Caller             Caller
	// Open returns the workspace, for operations on runs or the home that need it in some cases.
	Open func(context.Context) (*session.Workspace, error)
	Ports
}

// Call carries out the operation through a client.
func (o *Op[In, Out]) Call(ctx context.Context, c Client, in In) (Out, error) {
	out, err := c.Call(ctx, o, &in)
	typed, _ := out.(Out)
	return typed, err
}

// Describe implements Operation.
func (o *Op[In, Out]) Describe() *Doc { return &o.Doc }

// Params implements Operation.
func (o *Op[In, Out]) Params() []Param {
	o.once.Do(func() { o.params = paramsOf(reflect.TypeFor[In]()) })
	return o.params
}

// New implements Operation.
func (o *Op[In, Out]) New() any { return new(In) }

// Do implements Operation. The client has admitted the caller.
func (o *Op[In, Out]) Do(ctx context.Context, e *Env, in any) (any, error) {
	if o.On == nil {
		return o.Run(ctx, e, *in.(*In))
	}
	var out Out
	ref, _ := findParam(o.Params(), "agent", nil).Get(in).(AgentRef)
	a, err := e.Target(ctx, ref)
	if err == nil {
		out, err = o.On(ctx, e, a, *in.(*In))
	}
	return out, err
}

// Result implements Operation.
func (o *Op[In, Out]) Result(f Face, in, out any) printer.Result {
	typed, _ := out.(Out)
	r := printer.Result{JSON: o.public(f, typed)}
	if d, ok := any(typed).(printer.Datum); ok {
		r.Write = d.Text
	}
	if o.Text != nil {
		r.Write = func(w *printer.Writer) { o.Text(w, *in.(*In), typed) }
	}
	return r
}

// ListNotes implements Operation.
func (o *Op[In, Out]) ListNotes(in, out any) []string {
	if o.Notes == nil {
		return nil
	}
	typed, _ := out.(Out)
	return o.Notes(*in.(*In), typed)
}

// Question implements Operation.
func (o *Op[In, Out]) Question(w *printer.Writer, plan any) string { return o.Ask(w, plan.(Out)) }

// Answer implements Operation.
func (o *Op[In, Out]) Answer(f Face) reflect.Type {
	var zero Out
	public := o.public(f, zero)
	if d, ok := public.(Documented); ok {
		public = d.Documented()
	}
	return reflect.TypeOf(public)
}

// Output implements Operation.
func (o *Op[In, Out]) Output() reflect.Type { return reflect.TypeFor[Out]() }

// writeTable prints a table with a row for each of a list; of an empty one, the line none, unless that is empty too.
func writeTable[T any](w *printer.Writer, none string, header []string, list []T, row func(T) []string) {
	if len(list) == 0 && none != "" {
		w.Line("%s", none)
		return
	}
	rows := [][]string{header}
	for _, one := range list {
		rows = append(rows, row(one))
	}
	w.Table(rows)
}

// Documented is a public value that is described by the zero value of another type, because it
// encodes itself.
type Documented interface{ Documented() any }

// TextInput is an input that asks for less where the output is printed as text.
type TextInput interface{ ForText() }

func (o *Op[In, Out]) public(f Face, out Out) any {
	if o.Public == nil {
		return out
	}
	return o.Public(f, out)
}

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
