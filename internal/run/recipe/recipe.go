// Package recipe reads recipes: what a run does in each of its states.
//
// A recipe is YAML. It is read strictly: a key that is not known, a value of the wrong
// kind, a worker that nobody defined, an input that nobody makes, a circle of workers
// that wait for each other, two workers that make the same file: each is INVALID_RECIPE
// with its line, and all of them are told at once.
//
// # Names in braces
//
// In paths and `with` values {scope} is the scope of an item and {name} a parameter. A
// prompt is a text/template whose functions are scope, param "name", input "path" (its
// content), failure (what was wrong with the last attempt; empty for the first),
// section (of sections: .Name .Title .Brief) and issue (of a fix: .Message .Files .Fix …).
package recipe

import (
	"time"

	"ramet/internal/run"
)

// Recipe is a job that can be run.
type Recipe struct {
	Name        string
	Description string
	Brief       string // what the run's own agent knows; all workers inherit it
	Parameters  []Parameter
	Sections    []Section
	States      map[run.State][]string // names of workers, in order
	Workers     []Worker               // in the order of the file
	Gates       []Gate                 // of VALIDATING, in the order of the file
	Schemas     map[string]*Schema     // the recipe's own
	Limits      Limits
}

// Parameter is what --set gives a value to.
type Parameter struct {
	Name     string
	Default  string
	Required bool
	Help     string
}

// Section is a part of the product that is drafted by itself.
type Section struct {
	Name   string
	Title  string
	Brief  string
	Claims []string // kinds of facts, for the docs recipe; module names may follow a colon
}

// Worker is a kind of work. Exactly one of Uses, Prompt and Command is set.
type Worker struct {
	Name     string
	Line     int // where it stands
	Uses     string
	Prompt   string
	Command  string
	With     map[string]string
	Each     Each
	Inputs   []string // paths with names in braces; one ending in /** means all files below
	Outputs  []Output
	Tools    []string
	Model    string
	Worktree string // path of a bundle among the inputs: it works in a git worktree that begins there
	Patches  []string
	External bool
	Key      string
	Lookup   string
	Timeout  time.Duration
	Attempts int // at most, for each scope; 0: that of Limits
	Queue    string
}

// Each says for what a worker has items.
type Each struct {
	Once     bool     // one item, scope "all"
	Sections bool     // one for each section
	Issue    bool     // for the issue that is being mended (state FIXING)
	List     []string // these scopes
	From     string   // path of a JSON list of scopes
}

// Output is a file that a worker makes.
type Output struct {
	Path   string
	Schema string // built-in, or of Schemas; empty: any bytes
	Patch  bool   // what it changed in its worktree
	Answer bool   // its last answer, or what its command printed
}

// Gate is a check. Exactly one of Uses and Command is set.
type Gate struct {
	Name     string
	Line     int
	Uses     string
	Command  string
	With     map[string]string
	Severity string // of what a command finds: info, warn, error, blocker
	Timeout  time.Duration
}

// Limits of a run. 0 is no limit, but for Parallel, Attempts and FixAttempts, which have
// defaults.
type Limits struct {
	Parallel     int
	Attempts     int
	FixAttempts  int
	Runtime      time.Duration
	Calls        int64
	Tokens       int64
	CostUSD      float64
	Files        int
	LinesPerFile int
}

// Schema is a form that an output must have: a part of JSON Schema.
type Schema struct {
	Type       string // object, array, string, integer, number, boolean; empty: any
	Properties map[string]*Schema
	Required   []string
	Closed     bool // additionalProperties: false
	Items      *Schema
	Enum       []string
	MinItems   int
	MinLength  int
	Pattern    string
}
