package runner

import (
	"fmt"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// bytesOfToken is about how many bytes of text are one token; fewer in no common language.
const bytesOfToken = 3

// anyScope means scopes that are not known yet.
const anyScope = "*"

// OversizedItem is an item that would be given more than half of what its model can read.
type OversizedItem struct {
	Worker string `json:"worker"`
	Scope  string `json:"scope_key"` // *: whichever
	Model  string `json:"model"`     // empty: the configured one
	Tokens int64  `json:"tokens"`    // about, and at least: what is not there yet is not counted
	Window int64  `json:"window"`
}

func (c OversizedItem) String() string {
	model := c.Model
	if model == "" {
		model = "the configured model"
	}
	item := c.Worker + " " + c.Scope
	if c.Scope == anyScope {
		item = "each item of " + c.Worker
	}
	return fmt.Sprintf("%s would be given about %d tokens, more than half of the %d that %s can read", item, c.Tokens, c.Window, model)
}

// RefuseOversized returns the error of items that are given too much; nil if there are none.
func RefuseOversized(all []OversizedItem) error {
	if len(all) == 0 {
		return nil
	}
	more := ""
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fault.New(fault.ProviderContext, "%s%s", all[0], more).
		WithHint("give it less: more items with `each`, smaller inputs, or tools to read with; or a model that reads more (--model; the setting `context`, if this one does)")
}

// FindOversized returns the items of a run that would be given too much, as far as that is known now: what
// a resume by the plan would make anew counts as empty. Of the options it needs recipe, parameters,
// model and window. files is nil for a run that is not made yet.
func FindOversized(o Options, files Folder, now run.Snapshot, p run.Plan) []OversizedItem {
	if o.Folder = files; files == nil {
		o.Folder = noFiles{}
	}
	r := newRun(o, now)
	for u := range r.items {
		r.passed[u.worker] = true
	}
	queued := map[item]bool{}
	for _, q := range p.Queue {
		queued[item{q.Worker, q.ScopeKey}] = true
	}
	for u, e := range r.items {
		if queued[u] || e.status != run.Completed && e.status != run.ItemSkipped {
			e.status = run.Pending // it is to be done
			delete(r.passed, u.worker)
		}
	}
	return r.oversizedItems(r.Recipe.Workers)
}

// noFiles is the folder of a run that is not made yet. It is only read.
type noFiles struct{ Folder }

func (noFiles) Read(path string) ([]byte, error) {
	return nil, fault.New(fault.NotFound, "there is no %s", path)
}

func (noFiles) Below(string) ([]string, error) { return nil, nil }

// checkLater looks at what comes after a level, as far as that is known: work that cannot be finished
// is not begun. The caller holds mu.
func (r *Run) checkLater(level []recipe.Worker) error {
	if r.Window == nil || r.state == run.Fixing { // what is mended changes what comes after
		return nil
	}
	var later []recipe.Worker
	for _, w := range r.Recipe.Workers {
		now := slices.ContainsFunc(level, func(l recipe.Worker) bool { return l.Name == w.Name })
		if !now && !r.passed[w.Name] && !r.measured[w.Name] {
			later = append(later, w)
		}
	}
	return RefuseOversized(r.oversizedItems(later))
}

// oversizedItems returns the items of workers that would be given too much.
func (r *Run) oversizedItems(workers []recipe.Worker) []OversizedItem {
	var out []OversizedItem
	for _, w := range workers {
		if w.Prompt == "" {
			continue
		}
		scopes, whole := r.knownScopes(w)
		for _, scope := range scopes {
			e := attempt{item: item{w.Name, scope}}
			if old := r.items[e.item]; old != nil && (old.status == run.Completed || old.status == run.ItemSkipped) {
				continue
			}
			if c, ok := r.measure(w, &e, true); ok {
				out = append(out, c)
			}
		}
		if whole {
			r.measured[w.Name] = true
		}
	}
	return out
}

// knownScopes returns the scopes of a worker that are worth measuring: all, where all is there that
// its items are given; else one, for the part that they have in common.
func (r *Run) knownScopes(w recipe.Worker) (scopes []string, whole bool) {
	whole = !w.Each.Issue
	for _, in := range w.Inputs {
		whole = whole && r.inputMade(w, in)
	}
	switch {
	case w.Each.Issue:
		return []string{anyScope}, false
	case w.Each.From != "":
		whole = whole && r.inputMade(w, w.Each.From)
	case w.Each.Sections:
		whole = whole && r.inputMade(w, planFile)
	}
	if sections, err := r.sectionNames(); err == nil && (whole || w.Each.From == "") {
		scopes, err = recipe.ItemScopes(w, sections, r.Folder.Read)
		if err != nil {
			scopes = nil // reported when they begin
		}
	}
	if len(scopes) == 0 {
		return []string{anyScope}, false
	}
	if !whole || len(w.Inputs) == 0 {
		scopes = scopes[:1]
	}
	return scopes, whole
}

// inputMade reports whether an input of a worker is made: no worker has still to make it, or
// makes it again when an issue is fixed.
func (r *Run) inputMade(w recipe.Worker, input string) bool {
	key := [2]string{w.Name, input}
	makers, known := r.makers[key]
	if !known {
		makers = r.Recipe.Makers(w, input)
		r.makers[key] = makers
	}
	all := run.States()
	mended := slices.Index(all, r.state) < slices.Index(all, run.ReadyForPR) // or may be
	for _, maker := range makers {
		if !r.passed[maker] || mended && slices.Contains(r.Recipe.States[run.Fixing], maker) {
			return false
		}
	}
	return true
}

// checkSize refuses an item that would be given too much, before anything of its level is done. The
// caller holds mu.
func (r *Run) checkSize(w recipe.Worker, e *attempt, in []Input) error {
	if w.Prompt == "" || r.Window == nil || r.measured[w.Name] && e.failure == "" {
		return nil
	}
	would := *e
	would.inputs = in
	c, full := r.measure(w, &would, false)
	if full {
		return RefuseOversized([]OversizedItem{c})
	}
	if len(w.Inputs) == 0 && !w.Each.Issue {
		r.measured[w.Name] = true // one is like the other
	}
	return nil
}

// measure returns the size of what an item would be given, and whether that is too much. With partly what
// is not there yet is empty.
func (r *Run) measure(w recipe.Worker, e *attempt, partly bool) (OversizedItem, bool) {
	c := OversizedItem{Worker: w.Name, Scope: e.scope, Model: r.model(w)}
	if c.Window = r.Window(c.Model); c.Window <= 0 {
		return c, false
	}
	read := r.Folder.Read
	if partly {
		read = r.readKnown(w, e)
	}
	prompt, err := r.prompt(w, e, read)
	if err != nil {
		return c, false // reported when it is claimed
	}
	size := len(r.Recipe.Brief) + len(r.Recipe.Agents[w.Agent].Prompt) + len(prompt) + len(r.assignment(w, e, r.task(w, e)))
	c.Tokens = int64(size) / bytesOfToken
	return c, c.Tokens > c.Window/2
}

// readKnown gives an item the inputs that are there, and reads what is not as empty.
func (r *Run) readKnown(w recipe.Worker, e *attempt) func(string) ([]byte, error) {
	there := map[string]bool{}
	for _, in := range w.Inputs {
		if r.inputMade(w, in) {
			there[r.expand(in, e.scope)] = true
		} else {
			e.inputs = append(e.inputs, Input{Path: r.expand(in, e.scope)}) // also a folder: nothing is below it yet
		}
	}
	if paths, err := r.paths(w, e.scope); err == nil {
		for _, p := range paths {
			e.inputs = append(e.inputs, Input{Path: p})
		}
	}
	return func(path string) ([]byte, error) {
		for in := range there {
			if recipe.CoversPath(in, path) {
				if data, err := r.Folder.Read(path); err == nil {
					return data, nil
				}
			}
		}
		return nil, nil
	}
}
