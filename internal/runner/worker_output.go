package runner

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

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/run/recipe"
)

// maxOutput is the largest output.
const maxOutput = 64 << 20

// collect gathers what an item made.
func (p *workdir) collect(ctx context.Context, it Attempt, said []byte) (Result, error) {
	var res Result
	var files, wrong []string
	for _, o := range it.Task.Outputs {
		if !o.Patch && !o.Answer {
			files = append(files, filesOf(p.work, o.Path)...)
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
			if err == nil && len(data) == 0 && !o.Empty {
				err = fault.New(fault.OutputInvalid, "%s is missing: nothing was changed in the folder, and changes were asked for", o.Path)
			}
		case o.Answer:
			data, err = makeAnswer(o, said, it.Task.Command != "")
		case strings.HasSuffix(o.Path, "/**"):
			var below []Blob
			if below, err = readBelow(p.work, strings.TrimSuffix(o.Path, "/**")); err == nil {
				res.Files = append(res.Files, below...)
				continue
			}
		default:
			data, err = readOutput(p.work, o.Path)
		}
		if fault.Is(err, fault.OutputInvalid) {
			wrong = append(wrong, err.Error())
			continue
		}
		if err != nil {
			return res, err
		}
		res.Files = append(res.Files, Blob{Path: o.Path, Data: data})
	}
	return res, invalidOutputs(it, wrong)
}

// makeAnswer returns the answer as the content of a file.
func makeAnswer(o Output, said []byte, command bool) ([]byte, error) {
	if len(bytes.TrimSpace(said)) == 0 {
		if command {
			return nil, fault.New(fault.OutputInvalid, "%s is missing: the command printed nothing", o.Path)
		}
		return nil, fault.New(fault.OutputInvalid, "%s is missing: the last answer is empty", o.Path).WithHint("answer with its content")
	}
	if o.Schema != "" {
		said = stripFence(said)
	}
	return said, nil
}

// stripFence takes a Markdown fence from around a whole answer: models like to put one there.
func stripFence(said []byte) []byte {
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

// maxFiles limits the files of a folder that is an output.
const maxFiles = 10_000

// filesOf are the files that an output means: itself, or all below its folder.
func filesOf(dir, output string) []string {
	folder, all := strings.CutSuffix(output, "/**")
	if !all || dir == "" {
		return []string{output}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	var out []string
	fs.WalkDir(root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && (d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0) { // where a link leads is looked at
			out = append(out, name)
		}
		if len(out) > maxFiles {
			return fs.SkipAll
		}
		return nil
	})
	return out
}

// readBelow reads all files below a folder, of which there must be one at least.
func readBelow(dir, folder string) ([]Blob, error) {
	if !filepath.IsLocal(filepath.FromSlash(folder)) || path.Clean(folder) != folder {
		return nil, fault.New(fault.InvalidRecipe, "%.200q is not a path of an output", folder)
	}
	names := filesOf(dir, folder+"/**")
	switch {
	case len(names) == 0:
		return nil, fault.New(fault.OutputInvalid, "%s/** is missing: there is no file below %s", folder, folder).WithHint("write at least one")
	case len(names) > maxFiles:
		return nil, fault.New(fault.OutputInvalid, "%s/** has more than %d files", folder, maxFiles)
	}
	var out []Blob
	for size := 0; len(out) < len(names); {
		data, err := readOutput(dir, names[len(out)])
		if err != nil {
			return nil, err
		}
		if size += len(data); size > 4*maxOutput {
			return nil, fault.New(fault.OutputInvalid, "%s/** is larger than %d MiB", folder, 4*maxOutput>>20)
		}
		out = append(out, Blob{Path: names[len(out)], Data: data})
	}
	return out, nil
}

// readOutput reads a file below a folder. Links that lead out of it are not followed.
func readOutput(dir, name string) ([]byte, error) {
	missing := func(why string) error {
		return fault.New(fault.OutputInvalid, "%s is missing: %s", name, why).WithHint("write the file %s", name)
	}
	if dir == "" || !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return nil, fault.New(fault.InvalidRecipe, "%.200q is not a path of an output", name)
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
		return nil, missing("it is not a plain file")
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
func (c *WorkerPool) inspect(it Attempt, res Result) error {
	var wrong []string
	for _, o := range it.Task.Outputs {
		made := false
		for _, f := range res.Files {
			if !recipe.CoversPath(o.Path, f.Path) {
				continue
			}
			made = true
			if o.Schema == "" || c.Form == nil {
				continue
			}
			if err := c.Form(o.Schema, f.Data); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", f.Path, err))
			}
		}
		if !made {
			wrong = append(wrong, o.Path+" is missing")
		}
	}
	return invalidOutputs(it, wrong)
}

// invalidOutputs returns the fault of outputs that are not as promised; all of them are named.
func invalidOutputs(it Attempt, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fault.New(fault.OutputInvalid, "%s %s did not make what it promised: %s", it.Worker, it.Scope, text.Safe(strings.Join(wrong, "; ")))
}
