package runner

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// Attempt is one attempt of one item of work. It carries all that its host needs.
type Attempt struct {
	ID     string `json:"work_item_id"`
	RunID  string `json:"run_id"`
	Worker string `json:"worker"`
	Scope  string `json:"scope_key"`
	Number int64  `json:"attempt"`
	// Agent is the run's own agent, from which the agent of the attempt is forked.
	Agent string `json:"agent"`
	// Inputs are files by their paths in the run's folder; contents are fetched by hash.
	Inputs []Input `json:"inputs"`
	Task   Task    `json:"task"`
	// Parallel limits the items of the run that one host works on at once; 0 is no limit.
	Parallel int `json:"parallel,omitempty"`
}

// Input is a file that an item needs.
type Input struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Task describes the work of an attempt. Exactly one of Uses, Prompt and Command is set.
type Task struct {
	Uses    string `json:"uses,omitempty"`    // a built-in, see Executor
	Prompt  string `json:"prompt,omitempty"`  // of an agent, as its recipe has it
	Command string `json:"command,omitempty"` // for sh -c
	// Assignment follows the prompt: what the agent is and must deliver.
	Assignment string `json:"assignment,omitempty"`
	// With are the parameters of a built-in, and variables of a command.
	With    map[string]string `json:"with,omitempty"`
	Outputs []Output          `json:"outputs"`
	// Form is the JSON Schema that the last answer of an agent is to fit; empty: any.
	Form  json.RawMessage `json:"form,omitempty"`
	Tools []string        `json:"tools,omitempty"` // of an agent; names as in package tool
	Model string          `json:"model,omitempty"` // vendor/name; empty: the configured one
	// Driver is the program that Model names, where one drives the agent; empty: ramet's own loop.
	Driver string `json:"driver,omitempty"`
	// Left limits what such a program may use of the run's budget; nil: no limit.
	Left   *Left  `json:"left,omitempty"`
	Effort string `json:"effort,omitempty"` // how hard the model thinks; empty: as configured
	// Role is the definition that the agent is made by; nil: none.
	Role *recipe.Definition `json:"role,omitempty"`
	// Fresh makes the model be asked, whatever was answered before.
	Fresh bool `json:"fresh,omitempty"`
	// Tree is the start of the item's own git worktree; nil: it has none.
	Tree    *Tree         `json:"tree,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // 0: none
	// An external effect happens once for a key. Lookup, a command, reports whether it did:
	// exit 0 yes (what it prints is the output), 1 no, anything else: it is not known.
	External bool   `json:"external,omitempty"`
	Key      string `json:"key,omitempty"`
	Lookup   string `json:"lookup,omitempty"`
}

// Left is the rest of the limits of a run; 0: there is none.
type Left struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// Output is a file that an item promises, or any number of files below a folder: then its
// path ends in /**.
type Output struct {
	Path   string `json:"path"`             // in the run's folder
	Schema string `json:"schema,omitempty"` // name of a schema; empty: any bytes
	// Patch marks the difference that the item made in its worktree.
	Patch bool `json:"patch,omitempty"`
	// Empty allows such a difference to be empty.
	Empty bool `json:"empty,omitempty"`
	// Answer marks the last answer of the agent, or the output of a command.
	Answer bool `json:"answer,omitempty"`
}

// Tree is the start of a worktree.
type Tree struct {
	Bundle  string   `json:"bundle"`            // path of a git bundle among the inputs, with one commit
	Commit  string   `json:"commit"`            // that commit
	Patches []string `json:"patches,omitempty"` // paths among the inputs, applied in order first
}

// Result is the result of an item.
type Result struct {
	Files  []Blob  `json:"files"`            // one for each output
	Issues []Issue `json:"issues,omitempty"` // what it could not do and has to be fixed
	// Inputs are clones that were made at pinned commits (the clone built-in only).
	Clones []Clone `json:"clones,omitempty"`
	// PR locates the pull request: its URL, or the path of a bundle.
	PR string `json:"pr,omitempty"`
}

// Blob is a file with its content.
type Blob struct {
	Path string `json:"path"`
	Data []byte `json:"data"`
}

// Clone is an input at a commit.
type Clone = run.Clone

// Issue is something that a gate or an item found. The orchestrator gives it its id,
// which is made of gate, code, files and rule, so that the same issue is known again
// whatever words tell of it.
type Issue struct {
	Gate     string   `json:"gate"`
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Files    []string `json:"files,omitempty"` // in the written tree
	Line     int      `json:"line,omitempty"`
	Fix      string   `json:"fix,omitempty"` // a suggestion
	// Rule distinguishes issues of one gate, code and file: what is broken there, without
	// anything that changes from one look to the next. Empty: there is one such issue.
	Rule string `json:"rule,omitempty"`
}

// Severity of an issue. Errors and blockers keep a run from going on.
type Severity string

// The severities.
const (
	Info    Severity = "info"
	Warn    Severity = "warn"
	Error   Severity = "error"
	Blocker Severity = "blocker"
)

// Orchestrator is the orchestrator as a worker sees it. All methods return when what they did
// is durable; FENCED means that the attempt is not current any more: stop, and leave no
// trace. They may be called again with the same arguments after a lost answer.
type Orchestrator interface {
	// Claim asks the log whether an attempt is current and waiting, and takes it for a
	// host.
	Claim(ctx context.Context, itemID, host string) (Attempt, error)
	// Fetch gets the content of an input.
	Fetch(ctx context.Context, itemID, sha256 string) ([]byte, error)
	// Report writes events of an item into the log: those of model calls, and no others.
	// Evidence files go with them.
	Report(ctx context.Context, itemID string, r Report) error
	// Deliver hands over what an item gave back, or why it failed.
	Deliver(ctx context.Context, itemID string, r Result, failure *Failure) error
}

// Report is an event about a model call.
type Report struct {
	ID       string   `json:"id"` // told twice, it counts once
	Type     run.Type `json:"type"`
	Payload  []byte   `json:"payload"`
	Evidence *Blob    `json:"evidence,omitempty"` // path below the run's folder
}

// Failure is the reason why an item failed.
type Failure struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	// Unknown: it acts outside the run, and whether it did is not known.
	Unknown bool `json:"unknown,omitempty"`
	// Answer is the refused answer, which the next attempt is shown; empty: there was none.
	Answer string `json:"answer,omitempty"`
}

// Executor does items. The implementation finds the way for each kind of task.
type Executor interface {
	// Do carries out one item; the end of ctx stops it. Orchestrator is for fetching inputs and
	// reporting calls; claiming and delivering are done by the caller (see Serve). An
	// error is a fault; those that Retryable names may be tried again.
	Do(ctx context.Context, it Attempt, d Orchestrator) (Result, error)
}

// Site is the place of a run on the orchestrator's machine: built-ins work in it, and
// gates look at it.
type Site struct {
	Dir    string            // the run's folder
	Params map[string]string // of the recipe, by name; repo and into among them
	// Patch is the path, in the folder, of the only writer's changes; empty without a writer.
	Patch string
}

// Inspector carries out gates. It changes nothing.
type Inspector interface {
	// Inspect looks at what was written and returns what it found. ctx ends at the gate's
	// timeout. An error means that it could not look.
	Inspect(ctx context.Context, g recipe.Gate, s Site) ([]Issue, error)
}

// again are the codes of failures that another attempt may not meet: something was
// busy, cut off or too slow, or a model gave a wrong answer.
var again = map[fault.Code]bool{
	fault.Failed: true, fault.TimedOut: true, fault.LoopDetected: true, fault.OutputInvalid: true, fault.Killed: true,
	fault.Locked: true, fault.Leased: true, fault.StorageUnreachable: true,
	fault.ProviderRateLimit: true, fault.ProviderOverloaded: true, fault.ProviderUnreachable: true, fault.ProviderProtocol: true,
	fault.StreamCut: true, fault.Interrupted: true,
}

// Retryable reports whether the work may be tried again as it is: what failed was the
// attempt, and not the task. Nothing that was refused, is not permitted, cannot be paid
// or has not its form gets better by itself.
func Retryable(err error) bool {
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*final](err); ok {
		return false
	}
	if f, ok := errors.AsType[*llm.Failure](err); ok && f.Again {
		return true
	}
	return again[fault.CodeOf(err)]
}

// Final marks an error as one that another attempt would meet again, or must not risk:
// what acts outside the run and failed is not tried again by itself.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return &final{err}
}

// WithAnswer keeps an answer with the reason why it was refused: the next
// attempt is shown it.
func WithAnswer(err error, answer string) error {
	if err == nil || answer == "" {
		return err
	}
	return &refused{err, answer}
}

// RefusedAnswer returns the refused answer of an error.
func RefusedAnswer(err error) string {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.answer
	}
	return ""
}

type refused struct {
	err    error
	answer string
}

func (r *refused) Error() string { return r.err.Error() }
func (r *refused) Unwrap() error { return r.err }

type final struct{ err error }

func (f *final) Error() string { return f.err.Error() }
func (f *final) Unwrap() error { return f.err }
