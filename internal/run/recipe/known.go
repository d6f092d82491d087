package recipe

import (
	"maps"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/text"
	"ramet/internal/core/toolinfo"
	"ramet/internal/run"
)

// What recipes can name. Those who do the work have the other half of each list.
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
	// given are names in braces that are no parameters.
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
	// driverRule is what a driver may be called (package config).
	driverRule = text.Regexp(`^[a-z][a-z0-9_-]{0,31}$`)
	scopeRule  = text.Regexp(`^[A-Za-z0-9._-]{1,80}$`)
	withRule   = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	braces     = text.Regexp(`\{([a-z_][a-z0-9_]*)\}`)
)

// ValidScope reports whether a scope can name items and files.
func ValidScope(s string) bool { return scopeRule().MatchString(s) && s != "." && s != ".." }
