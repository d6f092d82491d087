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
	"errors"
	"fmt"
	"iter"
	"slices"
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
	Connects  = toolinfo.Connects
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
	// Record writes into the history what a person permitted while the call runs. nil: nothing is written.
	Record func(context.Context, *history.Permission) error
	Model  llm.Model // who will read the answer
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
	// Foreign names the sources of content in it that neither the user nor the project wrote (history.NewForeign).
	Foreign []string
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

// Box is the tools of one agent, in the order in which models see them.
type Box []Tool

// Told returns the tools of which a model is told.
func (b Box) Told() Box {
	var covers []Cover
	for _, t := range b {
		if c, ok := t.(Cover); ok {
			covers = append(covers, c)
		}
	}
	return slices.DeleteFunc(slices.Clone(b), func(t Tool) bool {
		return isUntold(t) || slices.ContainsFunc(covers, func(c Cover) bool { return c.Covers(NameOf(t)) })
	})
}

// Tell returns a tool that is offered to models, because a person chose it by its name.
func Tell(t Tool) Tool {
	if !isUntold(t) {
		return t
	}
	return chosen{t}
}

func isUntold(t Tool) bool {
	_, named := t.(Named)
	return !named && t.Spec().Untold
}

type chosen struct{ Tool }

func (c chosen) Spec() Spec {
	s := c.Tool.Spec()
	s.Untold = false
	return s
}

// Names returns those of the tools.
func (b Box) Names() []string {
	out := make([]string, len(b))
	for i, t := range b {
		out[i] = NameOf(t)
	}
	return out
}

// Offer returns the tools in the form of a request to a model.
func (b Box) Offer() []llm.Tool {
	b = b.Told()
	out := make([]llm.Tool, len(b))
	for i, t := range b {
		s := t.Spec()
		schema := s.Schema
		if schema == nil {
			schema = s.Args.Brief()
		}
		out[i] = llm.Tool{Name: s.Name, Description: strings.TrimSpace(s.Description), Schema: schema}
	}
	return out
}

// Open returns the tools and those that chests among them have opened, as far as they are left.
func (b Box) Open() Box {
	out := b
	for _, t := range b {
		if c, ok := t.(Chest); ok {
			out = append(out[:len(out):len(out)], c.Opened()...)
		}
	}
	for _, t := range b {
		if n, ok := t.(Narrower); ok {
			out = n.Narrow(out)
		}
	}
	return out
}

// Found is a call that can be run.
type Found struct {
	Tool
	Args json.RawMessage // as they were meant
	Note string          // for the model, under the answer; empty: nothing
}

// Find checks a call as the model made it and finds its tool. Arguments whose meaning is
// plain are taken: a number in quotes, null for nothing. Those that the tool does not have are
// ignored, which the note says; but a tool that acts on agents refuses one that is nearly the name
// of another, because what agents are told to do is not guessed. A call that cannot be run is
// refused with an answer for the model that says why: an unknown name, arguments that are no JSON
// or have not the shape.
func (b Box) Find(call llm.Part) (Found, Answer, bool) {
	i := slices.IndexFunc(b, func(t Tool) bool { return NameOf(t) == call.Name })
	if i < 0 {
		names := b.Told().Names()
		said := fmt.Sprintf("There is no tool %.60q.", call.Name)
		if near := text.NearestWord(call.Name, names); near != "" {
			said += fmt.Sprintf(" Did you mean %q?", near)
		}
		return Found{}, Failed(said + " The tools are: " + strings.Join(names, ", ") + "."), false
	}
	if call.Malformed != "" {
		return Found{}, Failed("The arguments are no complete JSON object. Nothing was run; send the call again, whole."), false
	}
	if b[i].Spec().Schema != nil {
		return Found{Tool: b[i], Args: call.Args}, Answer{}, true // the one that answers it checks it
	}
	form := b[i].Spec().Args
	args, unknown := form.Take(call.Args)
	meant, near := nearestMembers(call.Name, unknown)
	err := form.Check(args)
	if err != nil || near && b[i].Spec().Access == Processes {
		return Found{}, refuseArguments(call.Name, form, err, meant), false
	}
	found := Found{Tool: b[i], Args: args}
	if meant != "" {
		found.Note = "[note: " + meant + " and was ignored]"
	}
	return found, Answer{}, true
}

// refuseArguments refuses arguments; meant is about those that the tool does not have.
func refuseArguments(name string, form *shape.Shape, err error, meant string) Answer {
	said := fmt.Sprintf("The arguments of %s are wrong", name)
	if e := (*shape.Error)(nil); errors.As(err, &e) && e.Pointer != "" {
		said += ": " + text.Line(e.Path(), 80) + ": " + e.What
	} else if err != nil {
		said += ": " + err.Error()
	}
	if meant != "" {
		said += ". " + meant
	}
	fields := "It has no fields."
	if len(form.Fields()) > 0 {
		fields = "Fields: " + listMembers(form) + "."
	}
	return Failed(said + ". " + fields + " Nothing was run.")
}

// nearestMembers says of arguments that a tool does not have what they should perhaps be called; near
// says that there is such a name.
func nearestMembers(name string, unknown []shape.Unknown) (says string, near bool) {
	var said []string
	for _, u := range unknown[:min(len(unknown), 5)] {
		one := fmt.Sprintf("%s is not a field of %s", text.Line(u.Path(), 80), name)
		if meant := meantField(u.Of, u.Name); meant != "" {
			one += " (did you mean " + meant + "?)"
			near = true
		}
		said = append(said, one)
	}
	return strings.Join(said, ", "), near
}

// meantField returns the field whose name is near, or a part of what was written.
func meantField(form *shape.Shape, unknown string) string {
	var names []string
	plain := strings.ToLower(strings.ReplaceAll(unknown, "-", "_"))
	for _, f := range form.Fields() {
		names = append(names, f.Name)
		if strings.HasSuffix(plain, "_"+f.Name) || strings.HasSuffix(f.Name, "_"+plain) || strings.HasPrefix(plain, f.Name+"_") ||
			strings.ReplaceAll(f.Name, "_", "") == strings.ReplaceAll(plain, "_", "") {
			return f.Name
		}
	}
	return text.NearestWord(unknown, names)
}

// listMembers lists what a tool takes, with the members of what is in lists.
func listMembers(form *shape.Shape) string {
	var names []string
	for _, f := range form.Fields() {
		var about []string
		if !f.Optional {
			about = append(about, "needed")
		}
		if words := f.Shape.Words(); words != nil {
			about = append(about, strings.Join(words, " | "))
		}
		if each := f.Shape.Elements(); each != nil && len(each.Fields()) > 0 {
			about = append(about, "each with "+listMembers(each))
		}
		if about != nil {
			f.Name += " (" + strings.Join(about, "; ") + ")"
		}
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}
