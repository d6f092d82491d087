package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
	"ramet/internal/runner/forge"
)

// BuiltinWorkers does the items of built-in workers in the folder of a run, one after the other.
type BuiltinWorkers struct {
	Site Site
	// Env looks up the tokens of forges; nil: there are none.
	Env func(string) string

	mu sync.Mutex // held while an item works in the folder
}

// Do carries out an item whose task names a built-in.
func (w *BuiltinWorkers) Do(ctx context.Context, it Attempt, d Orchestrator) (Result, error) {
	do, ok := works[it.Task.Uses]
	if !ok {
		return Result{}, fault.New(fault.InvalidRecipe, "there is no built-in worker %.80q", it.Task.Uses).
			WithHint("the workers are %s", strings.Join(BuiltinNames(), ", "))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return do(&builtinAttempt{w, it, d}, ctx)
}

// works are the built-in workers.
var works = map[string]func(*builtinAttempt, context.Context) (Result, error){
	"clone": (*builtinAttempt).clone, "apply": (*builtinAttempt).apply, "pull-request": (*builtinAttempt).pullRequest, "report": (*builtinAttempt).report,
	"comment": (*builtinAttempt).comment,
}

// BuiltinNames are the built-in workers.
func BuiltinNames() []string { return slices.Sorted(maps.Keys(works)) }

// job is one item.
type builtinAttempt struct {
	*BuiltinWorkers
	it           Attempt
	orchestrator Orchestrator
}

// value is a parameter of the worker, else of the recipe.
func (j *builtinAttempt) value(name string) string {
	if v, ok := j.it.Task.With[name]; ok {
		return v
	}
	return j.Site.Params[name]
}

// at is a place in the run's folder.
func (j *builtinAttempt) at(name string) string {
	return filepath.Join(j.Site.Dir, filepath.FromSlash(name))
}

// input reads a declared input: artifacts/<name>, or else one of that name; in it a star
// stands for any beginning.
func (j *builtinAttempt) input(ctx context.Context, name string) ([]byte, error) {
	data, ok, err := j.given(ctx, name)
	if err == nil && !ok {
		err = fault.New(fault.InvalidRecipe, "worker %s needs %s", j.it.Worker, name).
			WithHint("name artifacts/%s among its inputs", name)
	}
	return data, err
}

// given reads an input that may be left out.
func (j *builtinAttempt) given(ctx context.Context, name string) ([]byte, bool, error) {
	found := -1
	for i, in := range j.it.Inputs {
		if in.Path == "artifacts/"+name || found < 0 && matchesName(name, path.Base(in.Path)) {
			found = i
		}
	}
	if found < 0 {
		return nil, false, nil
	}
	data, err := j.orchestrator.Fetch(ctx, j.it.ID, j.it.Inputs[found].SHA256)
	return data, err == nil, err
}

// read reads a declared input.
func (j *builtinAttempt) read(ctx context.Context, name string, into any) error {
	data, err := j.input(ctx, name)
	if err != nil {
		return err
	}
	return decodeStrict(data, into)
}

// result makes the files that the item promises of contents by name, in which a star stands
// for any beginning. A name with a slash goes into the folder of that name, or */ into any,
// which an output with /** promises.
func (j *builtinAttempt) result(contents map[string][]byte) (Result, error) {
	var r Result
	var made []string
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		for _, o := range j.it.Task.Outputs {
			folder, all := strings.CutSuffix(o.Path, "/**")
			switch {
			case !all && matchesName(name, path.Base(o.Path)):
				r.Files = append(r.Files, Blob{Path: o.Path, Data: contents[name]})
			case all && path.Dir(name) != "." && matchesName(path.Dir(name), path.Base(folder)):
				r.Files = append(r.Files, Blob{Path: path.Join(folder, path.Base(name)), Data: contents[name]})
			default:
				continue
			}
			made = append(made, o.Path)
		}
	}
	for _, o := range j.it.Task.Outputs {
		if !slices.Contains(made, o.Path) && !strings.HasSuffix(o.Path, "/**") {
			return r, fault.New(fault.InvalidRecipe, "worker %s does not make %s", j.it.Worker, o.Path).
				WithHint("%s makes %s", j.it.Task.Uses, strings.Join(slices.Sorted(maps.Keys(contents)), ", "))
		}
	}
	return r, nil
}

// matchesName reports whether a name is the one that a pattern means.
func matchesName(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// folder is the folder that the item promises files in.
func (j *builtinAttempt) folder() (string, bool) {
	for _, o := range j.it.Task.Outputs {
		if at, all := strings.CutSuffix(o.Path, "/**"); all {
			return at, true
		}
	}
	return "", false
}

// remote is a repository, with the token for it if there is one.
func (j *builtinAttempt) remote(address string) (git.Remote, forge.Forge, bool, error) {
	r, err := git.Locate(address)
	if err != nil || j.Env == nil {
		return r, nil, false, err
	}
	f, ok, err := forge.DetectForge(r, j.Env)
	if ok {
		r = f.Sign(r)
	}
	return r, f, ok, err
}

// encodeBuiltin returns the bytes of one of the files: sorted keys, two spaces, a line feed.
func encodeBuiltin(v any) ([]byte, error) {
	data, err := encodePayload(v)
	var out bytes.Buffer
	if err == nil {
		err = json.Indent(&out, data, "", "  ")
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "encode %T: %w", v, err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// decodeStrict reads one of the files; a field that is not known is refused.
func decodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fault.New(fault.InvalidText, "read %T: %w", into, err)
	}
	if d.More() {
		return fault.New(fault.InvalidText, "read %T: something follows the value", into)
	}
	return nil
}

// encoded returns a result of one file.
func (j *builtinAttempt) encoded(name string, v any) (Result, error) {
	data, err := encodeBuiltin(v)
	if err != nil {
		return Result{}, err
	}
	return j.result(map[string][]byte{name: data})
}
