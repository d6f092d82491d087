// Package tool is what a model can do besides speaking: the port that every tool
// stands behind, and the checks that each call passes before anything runs.
//
// A tool promises:
//
//   - Its description, and what other packages know of it, is a file of package toolinfo.
//   - It answers twice: for the model and for the person who watches.
//   - What goes wrong in it is an answer (IsError), which the model reads and can
//     act upon. An error is returned only where the turn itself cannot go on: the
//     context ended, or the store failed.
//   - When ctx ends it stops at once, and nothing that it started runs on.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/toolinfo"
	"ramet/internal/model/llm"
)

// Access names the effect that a tool can have; permission depends on it.
type Access = toolinfo.Access

// The kinds of access.
const (
	Reads     = toolinfo.Reads
	Writes    = toolinfo.Writes
	Commands  = toolinfo.Commands
	Servers   = toolinfo.Servers
	Fetches   = toolinfo.Fetches
	Processes = toolinfo.Processes
)

// PatchWithoutPlaces begins a patch that has only removed and added lines.
const PatchWithoutPlaces = "\\ It isn't known where in the file.\n"

// Spec describes a tool.
type Spec struct {
	Name        string
	Description string // Markdown, for the model
	Args        *shape.Shape
	// Schema is a JSON Schema of the arguments that another program checks; then Args is nil.
	Schema json.RawMessage
	Access Access
	// Digest identifies a tool of a server: how the server is reached, and the tool's description and
	// arguments. A rule that is saved for the tool holds for this digest only. Empty: rules hold by name.
	Digest string
	// Unproven explains why rules that name the tool or its server, and no digest, do not permit it unless they
	// were given on the command line; empty: they do.
	Unproven string
	// Subject returns the text that permission rules match: a path relative to the
	// workspace with forward slashes, or a command line. nil: nothing.
	Subject func(args json.RawMessage) string
	// As is another tool whose rules permit this one too, where they hold for everything.
	As string
	// Untold hides the tool from models, unless a person chose it for them (Tell); a
	// call of it is carried out all the same. Such a tool is nothing but a Tool.
	Untold bool
	// Summary is one line for people about a call: what exactly would be done. nil:
	// the arguments.
	Summary func(args json.RawMessage) string
	// Preview returns the change that a call would make in a file, as a patch with the numbers of its lines, or else one
	// that begins with PatchWithoutPlaces; empty: the call makes none. nil: no call changes one. It is called when a person
	// is asked.
	Preview func(args json.RawMessage) string
	// Where says in which folder a call would run, and whether in the background, as words behind its name;
	// empty: in the agent's own, and waited for. nil: it makes no difference.
	Where func(args json.RawMessage) string
	// Starts returns what other program a call would start for an agent, although its tool acts on
	// agents only; empty if none. nil: no call does.
	Starts func(args json.RawMessage) string
	// Outside returns why a call asks to run outside the box; empty: it does not. nil: none
	// can.
	Outside func(args json.RawMessage) string
}

// Describe fills in the name, the description and the access of a built-in tool (package toolinfo).
// It panics if there is no such tool.
func Describe(name string, s Spec) Spec {
	info := toolinfo.Find(name)
	if info == nil {
		panic("internal/core/toolinfo/" + name + ".md is missing")
	}
	s.Name, s.Description, s.Access = info.Name, info.Description, info.Access
	return s
}

// Tool is something that a model can call.
type Tool interface {
	Spec() Spec
	// Run carries out one call, whose arguments have the shape and which was
	// permitted. Calls of several tools, and of a tool that only reads, may run
	// concurrently.
	Run(ctx context.Context, c Call) (Answer, error)
}

// Named is a tool whose name is known before its description, which has to be found out. It is
// never Untold.
type Named interface {
	Tool
	Name() string
}

// NameOf returns the name of a tool.
func NameOf(t Tool) string {
	if n, ok := t.(Named); ok {
		return n.Name()
	}
	return t.Spec().Name
}

// Batch is a tool whose calls of one message are carried out together, after all
// the others of that message.
type Batch interface {
	Tool
	// RunAll carries out the calls and writes their results into the history
	// itself, in one transaction. With an error nothing happened, and nothing was
	// written; one that is a fault becomes the result of each call, one that is a Culprit that
	// of its call.
	RunAll(ctx context.Context, calls []Call) error
}

// Culprit is the error of one call for which a Batch carried out none.
type Culprit struct {
	CallID string
	Name   string // of what it was to make; may be empty
	Err    error
}

// Error implements error.
func (c *Culprit) Error() string { return c.Err.Error() }

// Unwrap implements errors.
func (c *Culprit) Unwrap() error { return c.Err }

// Others returns what those calls are told that were not the cause.
func (c *Culprit) Others(tool string) string {
	of := "another " + tool
	if c.Name != "" {
		of = fmt.Sprintf("the %s %q", tool, c.Name)
	}
	return "not carried out, because " + of + " of the same message was refused: " + c.Error() + ". Call again."
}

// Memory is a tool that knows of earlier calls only what is in the history, so that
// forks and later processes know the same.
type Memory interface {
	Tool
	// Recall takes, before a turn begins, the memos of all results that the conversation
	// still holds, oldest first, and forgets everything else. Those of other tools are
	// among them.
	Recall(memos iter.Seq[json.RawMessage])
}

// Chest is a tool that opens others: the model is not told of all of them at first.
type Chest interface {
	Tool
	// Opened are the tools that the model has found so far. It is asked again after each
	// message with calls.
	Opened() Box
}

// Cover is a tool that keeps models from being told of others: what is seldom needed is not
// read with every request. A call of them is carried out all the same.
type Cover interface {
	Tool
	// Covers says it of a tool. It is asked again after each message with calls.
	Covers(name string) bool
}

// Narrower is a tool by which others are taken away: what a skill or a role leaves an agent.
type Narrower interface {
	Tool
	// Narrow returns the tools that are left. It never adds one that was not among them; a tool
	// in another's place has its name.
	Narrow(Box) Box
}

// Limiter is a Narrower that says by which lists it narrows for now, so that an agent that is born
// meanwhile has no more than its parent. Lists that are in the history hold anyway.
type Limiter interface {
	Narrower
	Limits() []history.Limit
}

// Grant names how a call may act.
type Grant string

// The grants.
const (
	Free    Grant = "free"    // permitted by a person or a rule, or harmless
	Confine Grant = "confine" // only inside the sandbox
)

// Call is one call of a tool.
type Call struct {
	Agent id.Agent
	ID    string // the model's name for it
	Name  string
	Args  json.RawMessage // a JSON object of the tool's shape
	Grant Grant
	// Subject names the permitted file, of a tool that writes files: a link that was put there since leads
	// nowhere. Empty: whatever it is now.
	Subject string
	Output  func([]byte) // takes what a command prints, as it comes; never nil
	Model   llm.Model    // who will read the answer
	// Note is for the model, beside the answer: a tool that writes its result itself (Recorded)
	// puts it there. Empty: nothing.
	Note string
}

// Answer is the result of a call.
type Answer struct {
	Text    string // for the model
	Show    string // for people, such as a diff; empty: the text
	IsError bool
	Memo    string // a JSON object for Memory, kept in the history; empty: nothing
	// File is an image or a document that the model sees beside the text, with its name. It
	// fits (llm.FitPicture). nil: none.
	File *llm.Part
	By   *history.Actor // the person whose answer it is; nil: no person's
	// Recorded reports that the result is in the history already: the tool wrote
	// it together with what it changed.
	Recorded bool
	// Ends reports that the turn is over, because the agent is.
	Ends bool
}

// Failed returns an answer that says what went wrong.
func Failed(text string) Answer { return Answer{Text: text, IsError: true} }

type insistKey struct{}

// Insist marks a context so that calls made with it are put to a person, whatever the mode and the
// rules permit. The question shows why.
func Insist(ctx context.Context, why string) context.Context {
	return context.WithValue(ctx, insistKey{}, why)
}

// Insisted reports whether a person must decide calls made with ctx, and why.
func Insisted(ctx context.Context) (why string, ok bool) {
	why, ok = ctx.Value(insistKey{}).(string)
	return why, ok
}

// The states of a plan's step.
const (
	StepOpen    = "open"
	StepDoing   = "doing"
	StepDone    = "done"
	StepDropped = "dropped"
)

// MaxPlanSteps and maxStepBytes bound a plan to what a person can read.
const (
	MaxPlanSteps = 50
	maxStepBytes = 200
)

// PlanStep is one step of a plan.
type PlanStep struct {
	Step  string `json:"step"`
	State string `json:"state"`
}

// Plan holds the arguments of the plan tool, by which agents show people what they intend to do. Plans of
// other programs are written as calls of the same tool.
type Plan struct {
	Steps []PlanStep `json:"steps"`
}

// Add appends a step, shortened; it drops steps after the first MaxPlanSteps.
func (p *Plan) Add(step, state string) {
	if len(p.Steps) < MaxPlanSteps {
		p.Steps = append(p.Steps, PlanStep{text.Line(step, maxStepBytes), state})
	}
}

// Answer returns the result of the plan tool: the progress for the model, the steps for people.
func (p Plan) Answer() Answer {
	signs := map[string]string{StepOpen: "☐", StepDoing: "▶", StepDone: "☑", StepDropped: "☒"}
	lines := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		lines[i] = signs[s.State] + " " + text.Line(s.Step, maxStepBytes)
	}
	return Answer{Text: p.Progress() + ".", Show: strings.Join(lines, "\n")}
}

// Progress returns how many steps are done, and the current one.
func (p Plan) Progress() string {
	count := map[string]int{}
	now := ""
	for _, s := range p.Steps {
		if count[s.State]++; s.State == StepDoing && now == "" {
			now = "; now: " + text.Line(s.Step, 80)
		}
	}
	return fmt.Sprintf("%d of %d done%s", count[StepDone], len(p.Steps)-count[StepDropped], now)
}
