package runner

import (
	"encoding/json"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/run/recipe"
)

// inputsFile lists the repositories that were cloned.
const inputsFile = "artifacts/inputs.json"

// know finds the values of all names in braces, as far as they are known: the base is
// once the inputs were cloned.
func (r *Run) know() {
	var inputs struct {
		Base   string `json:"base"`
		Source string `json:"source"`
	}
	if data, err := r.Folder.Read(inputsFile); err == nil {
		json.Unmarshal(data, &inputs) // the form of the file was checked when it was written
	}
	r.values = r.Recipe.Values(r.Params, inputs.Base)
	r.begins = map[string]string{"work/source.bundle": inputs.Source}
}

// expand puts scope and parameters into a path or a value. New has checked that this can
// be done.
func (r *Run) expand(text, scope string) string {
	out, err := recipe.ExpandText(text, scope, r.values)
	if err != nil {
		return text
	}
	return out
}

// hash of a file of the run, read once.
func (r *Run) hash(path string) (string, bool) {
	if sum, ok := r.hashes[path]; ok {
		return sum, true
	}
	sum, ok := r.Folder.Hash(path)
	if ok {
		r.hashes[path] = sum
	}
	return sum, ok
}

// inputs are the files that an item is to be given, with their hashes as they are now.
func (r *Run) inputs(w recipe.Worker, scope string) ([]Input, error) {
	paths, err := r.paths(w, scope)
	if err != nil {
		return nil, err
	}
	out := make([]Input, 0, len(paths))
	for _, p := range paths {
		sum, ok := r.hash(p)
		if !ok {
			return nil, fault.New(fault.OutputInvalid, "worker %s needs %s, which is missing", w.Name, p).
				WithHint("the worker that makes it has to be done again: `ramet run resume %s --redo ITEM`", r.RunID)
		}
		out = append(out, Input{p, sum})
	}
	return out, nil
}

// paths are the inputs of an item. What fixes made comes last, in the order in which
// they were first tried: each begins where the one before ended.
func (r *Run) paths(w recipe.Worker, scope string) ([]string, error) {
	var out, late []string
	order := r.fixOutputs()
	own := r.ownOutputs(w, scope)
	for _, in := range w.Inputs {
		path := r.expand(in, scope)
		folder, all := strings.CutSuffix(path, "/**")
		if !all {
			out = append(out, path)
			continue
		}
		files, err := r.Folder.Below(folder)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			switch {
			case own[f]: // of an earlier attempt
			case slices.Contains(order, f):
				late = append(late, f)
			default:
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(late, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return append(out, late...), nil
}

// fixOutputs are the files of fixes, in the order in which they were first queued.
func (r *Run) fixOutputs() []string {
	var out []string
	for _, scope := range r.fixes {
		for _, w := range r.Recipe.Workers {
			if w.Each.Issue {
				for _, o := range w.Outputs {
					out = append(out, r.expand(o.Path, scope))
				}
			}
		}
	}
	return out
}

func (r *Run) ownOutputs(w recipe.Worker, scope string) map[string]bool {
	own := map[string]bool{}
	for _, o := range w.Outputs {
		own[r.expand(o.Path, scope)] = true
	}
	if e := r.items[item{w.Name, scope}]; e != nil {
		for _, o := range e.outputs {
			own[o.Path] = true
		}
	}
	return own
}
