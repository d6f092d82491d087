package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"strings"

	"ramet/internal/docs"
	"ramet/internal/docs/facts"
	"ramet/internal/docs/plan"
	"ramet/internal/fault"
	"ramet/internal/runner"
)

// inventory lists the files of work/repo.
func (j *attempt) inventory(ctx context.Context) (runner.Result, error) {
	in, err := j.restore(ctx)
	if err != nil {
		return runner.Result{}, err
	}
	tree, done, err := j.open("work/repo")
	if err != nil {
		return runner.Result{}, err
	}
	defer done()
	inv, err := facts.Inventory(tree, in.commit("repo"))
	if err != nil {
		return runner.Result{}, err
	}
	return j.encoded("inventory.json", inv)
}

// facts finds the claims of work/repo. With: name of the project.
func (j *attempt) facts(ctx context.Context) (runner.Result, error) {
	if _, err := j.restore(ctx); err != nil {
		return runner.Result{}, err
	}
	var inv docs.Inventory
	if err := j.read(ctx, "inventory.json", &inv); err != nil {
		return runner.Result{}, err
	}
	tree, done, err := j.open("work/repo")
	if err != nil {
		return runner.Result{}, err
	}
	defer done()
	found, err := facts.Extract(tree, inv, j.value("name"))
	if err != nil {
		return runner.Result{}, err
	}
	found.Name = cmp.Or(found.Name, called(j.value("repo")))
	return j.encoded("facts.json", found)
}

// called is the name of a repository by its address.
func called(address string) string {
	address = strings.TrimRight(strings.ReplaceAll(address, `\`, "/"), "/")
	_, address, _ = cutLast(address, ":")
	return cmp.Or(strings.TrimSuffix(path.Base(address), ".git"), "project")
}

func cutLast(s, at string) (before, after string, ok bool) {
	i := strings.LastIndex(s, at)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(at):], true
}

// plan plans the pages. With: docs_dir, title, sections (those of the recipe, as JSON).
func (j *attempt) plan(ctx context.Context) (runner.Result, error) {
	var found docs.Facts
	if err := j.read(ctx, "facts.json", &found); err != nil {
		return runner.Result{}, err
	}
	o := plan.Options{Title: j.value("title"), DocsDir: j.value("docs_dir")}
	if list := j.value("sections"); list != "" {
		if err := json.Unmarshal([]byte(list), &o.Sections); err != nil {
			return runner.Result{}, fault.New(fault.InvalidRecipe, "worker %s: sections are no list: %w", j.it.Worker, err)
		}
	}
	in, err := j.restore(ctx)
	if err != nil {
		return runner.Result{}, err
	}
	tree, done, err := j.open("work/" + in.target().Name)
	if err != nil {
		return runner.Result{}, err
	}
	defer done()
	o.Exists = func(at string) bool {
		info, err := fs.Stat(tree, at)
		return err == nil && info.Mode().IsRegular()
	}
	made, tasks, err := plan.Make(found, o)
	if err != nil {
		return runner.Result{}, err
	}
	contents := map[string][]byte{}
	if contents["plan.json"], err = docs.Encode(made); err != nil {
		return runner.Result{}, err
	}
	for _, t := range tasks {
		if contents["sections/"+t.Section.Name+".json"], err = docs.Encode(t); err != nil {
			return runner.Result{}, err
		}
	}
	return j.result(contents)
}

// encoded is a result of one file.
func (j *attempt) encoded(name string, v any) (runner.Result, error) {
	data, err := docs.Encode(v)
	if err != nil {
		return runner.Result{}, err
	}
	return j.result(map[string][]byte{name: data})
}
