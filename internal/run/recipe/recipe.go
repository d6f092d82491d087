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
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/toolinfo"
	"ramet/internal/model/llm"
	"ramet/internal/run"
	"ramet/recipes"
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
	Name     string `json:"name"`
	Default  string `json:"default"`
	Required bool   `json:"required"`
	Help     string `json:"help"`
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

// LooksUp reports whether a worker that acts outside the run finds out first whether it has happened.
func (w Worker) LooksUp() bool { return w.Lookup != "" || w.Uses != "" }

// LooksUp reports whether a worker of that name does.
func (r *Recipe) LooksUp(worker string) bool {
	w, ok := r.Worker(worker)
	return ok && w.LooksUp()
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

// Drivers of workers. A driver takes the place of a vendor (decision 040): driver/NAME, or
// driver/NAME/MODEL with the program's own word for a model.
const (
	driverVendor = "driver"
	ownDriver    = "ramet" // ramet's own loop
)

// driver reads the name of a program, or a parameter that holds one.
func (p *parser) driver(m member, what string) string {
	name := p.text(m, what)
	switch {
	case name == "":
	case braces().FindString(name) == name:
		p.checkNames(m.value.Line, what, name)
	case !driverRule().MatchString(name):
		p.say(m.value.Line, "%s is %.60q: name a driver, or {parameter}; `ramet drivers` lists them", what, name)
	}
	return name
}

// badModel returns why a worker with that driver cannot ask a model, or "".
func badModel(driver, model string) string {
	if driver == "" || driver == ownDriver {
		if _, err := llm.ParseRef(model); err != nil {
			return "write vendor/name, or {parameter}; `ramet models` lists them"
		}
		return ""
	}
	if strings.ContainsFunc(model, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "use the program's own word for it"
	}
	return ""
}

// Asks returns the model that a worker's agents ask, with the values of parameters: vendor/name, or driver/NAME/MODEL; empty:
// the recipe does not say.
func (w Worker) Asks(values map[string]string) string {
	driver, model := bindValue(w.Driver, values), bindValue(w.Model, values)
	if driver == "" || driver == ownDriver {
		return model
	}
	return strings.TrimSuffix(driverVendor+"/"+driver+"/"+model, "/")
}

// DriverOf returns the driver in the model of a worker; empty: ramet's own loop asks the model.
func DriverOf(asks string) string {
	rest, ok := strings.CutPrefix(asks, driverVendor+"/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// DrivenWorker is a worker whose agents a program drives.
type DrivenWorker struct {
	Worker string
	Line   int // where the worker stands
	Driver string
}

// Driven returns the workers whose agents programs drive. others is the model of workers for which the recipe names
// none.
func (r *Recipe) Driven(values map[string]string, others string) []DrivenWorker {
	var out []DrivenWorker
	for _, w := range r.Workers {
		if w.Prompt == "" {
			continue
		}
		asks := w.Asks(values)
		if asks == "" {
			asks = others
		}
		if name := DriverOf(asks); name != "" {
			out = append(out, DrivenWorker{w.Name, w.Line, name})
		}
	}
	return out
}

// checkAsked looks at parameters that are drivers and models of workers.
func (r *Recipe) checkAsked(values map[string]string) error {
	for _, w := range r.Workers {
		driver, model := bindValue(w.Driver, values), bindValue(w.Model, values)
		if driver != "" && !driverRule().MatchString(driver) {
			return fault.New(fault.Usage, "parameter %s is %.60q, and drives worker %s", strings.Trim(w.Driver, "{}"), driver, w.Name).WithHint("name a driver; `ramet drivers` lists them")
		}
		if why := badModel(driver, model); model != "" && why != "" {
			return fault.New(fault.Usage, "parameter %s is %.60q, and worker %s asks that model", strings.Trim(w.Model, "{}"), model, w.Name).WithHint("%s", why)
		}
	}
	return nil
}

// bindValue returns a value, or that of the parameter which it names in braces.
func bindValue(s string, values map[string]string) string {
	if name := strings.Trim(s, "{}"); name != s {
		return values[name]
	}
	return s
}

// skeleton is the text that New starts from; it is no recipe by itself.
const skeleton = "skeleton"

// EmbeddedNames returns the names of the recipes that are built in.
func EmbeddedNames() []string {
	entries, err := recipes.Files.ReadDir(".")
	if err != nil {
		panic("recipe: " + err.Error()) // it is in the program
	}
	var out []string
	for _, e := range entries {
		if e.Name() != skeleton {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out
}

// LoadEmbedded returns the text of a recipe that is built in, comments included.
func LoadEmbedded(name string) ([]byte, error) {
	if !slices.Contains(EmbeddedNames(), name) {
		return nil, fault.New(fault.NotFound, "no recipe %.60q is built in", name).
			WithHint("%s; another one is given as the path of its file", suggestWord(name, EmbeddedNames()))
	}
	return builtInText(name)
}

func builtInText(name string) ([]byte, error) {
	return recipes.Files.ReadFile(path.Join(name, name+".yaml"))
}

// New returns the text of a recipe to begin with, with comments: it changes a repository and opens
// a pull request.
func New(name string) ([]byte, error) {
	if !nameRule().MatchString(name) {
		return nil, fault.New(fault.InvalidName, "%.60q is not a name for a recipe", name).
			WithHint("begin with a small letter, then at most 39 small letters, digits and -")
	}
	if slices.Contains(EmbeddedNames(), name) {
		return nil, fault.New(fault.Conflict, "there is a recipe %s already", name).WithHint("`ramet run recipe %s` prints it; choose another name", name)
	}
	words, err := builtInText(skeleton)
	return []byte(strings.ReplaceAll(string(words), "NAME", name)), err
}
