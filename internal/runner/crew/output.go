package crew

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"ramet/internal/fault"
	"ramet/internal/runner"
	"ramet/internal/text"
)

// maxOutput is the largest output.
const maxOutput = 64 << 20

// collect gathers what an item made.
func (p *workdir) collect(ctx context.Context, it runner.Attempt, said []byte) (runner.Result, error) {
	var res runner.Result
	var files, wrong []string
	for _, o := range it.Task.Outputs {
		if !o.Patch && !o.Answer {
			files = append(files, o.Path)
		}
	}
	for _, o := range it.Task.Outputs {
		var data []byte
		var err error
		switch {
		case o.Patch && p.tree == nil:
			err = fault.New(fault.InvalidRecipe, "worker %s promises a patch and has no worktree", it.Worker).WithHint("give it one with worktree")
		case o.Patch:
			data, err = p.tree.patch(ctx, files)
		case o.Answer:
			data, err = answer(o, said, it.Task.Command != "")
		default:
			data, err = read(p.work, o.Path)
		}
		if fault.Is(err, fault.OutputInvalid) {
			wrong = append(wrong, err.Error())
			continue
		}
		if err != nil {
			return res, err
		}
		res.Files = append(res.Files, runner.Blob{Path: o.Path, Data: data})
	}
	return res, invalid(it, wrong)
}

// answer is what was said, as a file.
func answer(o runner.Output, said []byte, command bool) ([]byte, error) {
	if len(bytes.TrimSpace(said)) == 0 {
		if command {
			return nil, fault.New(fault.OutputInvalid, "%s is missing: the command printed nothing", o.Path)
		}
		return nil, fault.New(fault.OutputInvalid, "%s is missing: the last answer is empty", o.Path).WithHint("answer with its content")
	}
	if o.Schema != "" {
		said = unfence(said)
	}
	return said, nil
}

// unfence takes a Markdown fence from around a whole answer: models like to put one there.
func unfence(said []byte) []byte {
	inner := bytes.TrimSpace(said)
	if !bytes.HasPrefix(inner, []byte("```")) || !bytes.HasSuffix(inner, []byte("\n```")) {
		return said
	}
	_, inner, ok := bytes.Cut(inner, []byte("\n"))
	if !ok {
		return said
	}
	inner = bytes.TrimSuffix(inner, []byte("```"))
	if bytes.Contains(inner, []byte("\n```")) {
		return said
	}
	return inner
}

// read reads a file below a folder. Links that lead out of it are not followed.
func read(dir, name string) ([]byte, error) {
	missing := func(why string) error {
		return fault.New(fault.OutputInvalid, "%s is missing: %s", name, why).WithHint("write the file %s", name)
	}
	if dir == "" || !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return nil, fault.New(fault.InvalidRecipe, "%.200q is no path of an output", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, missing("the folder is gone")
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing("there is no such file")
	case err != nil:
		return nil, missing(text.Line(err.Error(), 200))
	case !info.Mode().IsRegular():
		return nil, missing("it is no plain file")
	case info.Size() > maxOutput:
		return nil, fault.New(fault.OutputInvalid, "%s is larger than %d MiB", name, maxOutput>>20)
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, missing(text.Line(err.Error(), 200))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxOutput+1))
	if err != nil {
		return nil, missing(text.Line(err.Error(), 200))
	}
	return data, nil
}

// inspect holds what an item made against what it promised.
func (c *Crew) inspect(it runner.Attempt, res runner.Result) error {
	made := map[string][]byte{}
	for _, f := range res.Files {
		made[f.Path] = f.Data
	}
	var wrong []string
	for _, o := range it.Task.Outputs {
		data, ok := made[o.Path]
		switch {
		case !ok:
			wrong = append(wrong, o.Path+" is missing")
		case o.Schema != "" && c.Form != nil:
			if err := c.Form(o.Schema, data); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", o.Path, err))
			}
		}
	}
	return invalid(it, wrong)
}

// invalid is the fault of outputs that are not as promised; all of them are named.
func invalid(it runner.Attempt, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fault.New(fault.OutputInvalid, "%s %s did not make what it promised: %s", it.Worker, it.Scope, text.Safe(strings.Join(wrong, "; ")))
}
