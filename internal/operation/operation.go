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
	"reflect"
	"sync"

	"ramet/internal/base/printer"
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
	return o.Run(ctx, e, *in.(*In))
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
