// Package recipe reads recipes: what a run does in each of its states.
//
// A recipe is YAML. It is read strictly: a key that is not known, a value of the wrong
// kind, a worker that is not defined, an input that no worker makes, a circle of workers
// that wait for each other, two workers that make the same file: each is INVALID_RECIPE
// with its line, and all of them are reported at once. What Parse accepts can be ordered and,
// holdsParameter its parameters, carried out; nothing here carries out anything.
//
// # States
//
// A stable state's workers make what the state promises, a transitional one's are its
// work. VALIDATING has gates only, and states without workers are passed through. A worker
// stands in one state; it may stand in FIXING besides, to be done again when something was
// mended there. Inside a state, a worker that makes an input of another goes first; in FIXING
// the order of the list decides whether a worker that is new there sees what a worker that is done
// again made before, or what it makes now.
//
// # Names in braces
//
// In paths, keys and `with` values {scope} is the scope of an item and {name} a parameter;
// in keys and `with` values {base} is the commit that worktrees begin at, and {sections}
// the recipe's sections as JSON. A prompt has placeholders in double braces: scope,
// param "name", input "path" (its content; of a path that ends in /** all files below, each
// under a line with its name), failure (what was wrong with the last attempt; empty for the
// first), section (where each is sections: .Name .Title .Brief) and issue (where each
// is issue: .ID .Gate .Severity .Code .Message .Files .Line .Fix). {{if VALUE}}, {{else}} and
// {{end}} leave text out, and {{range issue.Files}} repeats it with {{.}} for each file. A command is never
// expanded, so that no shell reads a parameter as code: it gets its `with` values as
// variables, RAMET_SCOPE and RAMET_KEY besides, and finds its inputs below $RAMET_INPUTS.
//
// # Paths
//
// They lie in work, artifacts, drafts or reports of the run's folder. An input that ends in
// /** is all files below; what the worker itself made before is not among them. An output
// may end so: its worker makes any number of files below.
package recipe

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/toolinfo"
	"ramet/internal/run"
)

// Recipe is a job that can be run.
type Recipe struct {
	Name        string
	Description string
	Brief       string // what the run's own agent knows; all workers inherit it
	Parameters  []Parameter
	Sections    []Section
	States      map[run.State][]string // checkNames of workers, in order
	Workers     []Worker               // in the order of the file
	Gates       []Gate                 // of VALIDATING, in the order of the file
	Schemas     map[string]*Schema     // the recipe's own
	Agents      map[string]Definition  // that workers can be
	Limits      Limits
}

// Parameter is a parameter of a recipe; --set gives it a value.
type Parameter struct {
	Name     string
	Default  string
	Required bool
	Help     string
}

// Section is a part of the product that is drafted by itself.
type Section struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Brief string `json:"brief"`
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
	Agent    string   // the definition that it is made by; empty: none
	Driver   string   // the program that drives its agents; empty: ramet's own loop
	Model    string   // vendor/name; of a driver: the program's own word
	Effort   string   // how hard the model thinks; empty: as configured
	Any      bool     // expect: any; a patch may be empty
	Worktree string   // one of the inputs, a bundle: it works in a git worktree that begins there
	Patches  []string // some of the inputs, applied to that worktree first
	External bool     // effect: external
	Key      string   // of an external effect
	Lookup   string
	Timeout  time.Duration
	Attempts int // at most, for each scope; 0: that of Limits
	Queue    string
}

// Each lists the items of a worker.
type Each struct {
	Once     bool     // one item, scope "all"
	Sections bool     // one for each section
	Issue    bool     // for the issue that is being mended (state FIXING)
	List     []string // these scopes
	From     string   // checkPath of a JSON list of scopes
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
	Inputs   []string // files of the run that a command reads, below $RAMET_INPUTS
	Severity string   // of what a command finds: info, warn, error, blocker
	Timeout  time.Duration
}

// Limits of a run. 0 is no limit, but for Parallel, Attempts, FixAttempts and FixRounds,
// which have defaults.
type Limits struct {
	Parallel     int
	Attempts     int
	FixAttempts  int // to mend one issue
	FixRounds    int // of mending, in all
	Runtime      time.Duration
	Calls        int64
	Tokens       int64
	CostUSD      float64
	Files        int
	LinesPerFile int
}

// WithDefaults returns the limits with the default of each that must not be 0.
func (l Limits) WithDefaults() Limits {
	l.Parallel = cmp.Or(l.Parallel, defaultParallel)
	l.Attempts = cmp.Or(l.Attempts, defaultAttempts)
	l.FixAttempts = cmp.Or(l.FixAttempts, defaultFixAttempts)
	l.FixRounds = cmp.Or(l.FixRounds, defaultFixRounds)
	return l
}

// Worker finds a worker by its name.
func (r *Recipe) Worker(name string) (Worker, bool) {
	for _, w := range r.Workers {
		if w.Name == name {
			return w, true
		}
	}
	return Worker{}, false
}

// Section finds a section by its name.
func (r *Recipe) Section(name string) (Section, bool) {
	for _, s := range r.Sections {
		if s.Name == name {
			return s, true
		}
	}
	return Section{}, false
}

// Schema finds a form by its name: one of the recipe's own, or a built-in one.
func (r *Recipe) Schema(name string) (*Schema, bool) {
	if s, ok := r.Schemas[name]; ok {
		return s, true
	}
	return FindForm(name)
}

// Fits reports whether data is of a form: OUTPUT_INVALID, with the form's name and the place.
func (r *Recipe) Fits(form string, data []byte) error {
	s, ok := r.Schema(form)
	if !ok {
		return fault.New(fault.InvalidRecipe, "recipe %s has no schema %.60q", r.Name, form)
	}
	if err := s.Check(data); err != nil {
		return fault.New(fault.OutputInvalid, "not of the form %s: %w", form, err)
	}
	return nil
}

// What recipes can name. Package runner has the implementations.
var (
	builtIns   = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(workers())) })
	gates      = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(builtInGates())) })
	severities = []string{"info", "warn", "error", "blocker"}
	tools      = sync.OnceValue(func() []string {
		var out []string
		for _, t := range toolinfo.All() {
			if t.NotInRecipes == "" {
				out = append(out, t.Name)
			}
		}
		return out
	})
	// working are the states that may hold workers.
	working = []run.State{run.ClonedInputs, run.Ingested, run.FactsReady, run.PlanReady, run.Drafting, run.DraftReady,
		run.Linking, run.Fixing, run.ReadyForPR, run.PROpened}
	// roots are the folders of a run that paths may name.
	roots = []string{"work", "artifacts", "drafts", "reports"}
	// trees belong to the one writer.
	trees = []string{"work/repo", "work/into", "work/tree"}
	// holdsParameter are names in braces that are no parameters.
	given = []string{"scope", "base", "sections"}
)

// Limits of recipes themselves. They are far above what anybody writes by hand, and keep
// the checks, some of which compare each with each, short.
const (
	MaxSize     = 1 << 20 // bytes of the file
	maxWorkers  = 100
	maxPaths    = 20  // inputs, outputs of one worker
	maxSections = 500 // gates, parameters, schemas too
	maxScopes   = 100_000
	maxAll      = 200_000 // scopes of all workers together
	maxDuration = 30 * 24 * time.Hour
	maxMistakes = 50 // that are told
)

// Defaults.
const (
	defaultParallel    = 4
	defaultAttempts    = 2
	defaultFixAttempts = 3
	defaultFixRounds   = 20
	defaultGateTimeout = 5 * time.Minute
)

var (
	nameRule  = text.Regexp(`^[a-z][a-z0-9-]{0,39}$`)
	paramRule = text.Regexp(`^[a-z][a-z0-9_]{0,39}$`)
	// driverRule matches the names of drivers (package config).
	driverRule = text.Regexp(`^[a-z][a-z0-9_-]{0,31}$`)
	scopeRule  = text.Regexp(`^[A-Za-z0-9._-]{1,80}$`)
	withRule   = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	braces     = text.Regexp(`\{([a-z_][a-z0-9_]*)\}`)
)

// ValidScope reports whether a scope can name items and files.
func ValidScope(s string) bool { return scopeRule().MatchString(s) && s != "." && s != ".." }
