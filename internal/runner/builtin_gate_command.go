package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/run/recipe"
)

// homeScript gives the command a home that it may write, which is known only inside.
const homeScript = `HOME=$TMPDIR XDG_CACHE_HOME=$TMPDIR/.cache XDG_CONFIG_HOME=$TMPDIR/.config; export HOME XDG_CACHE_HOME XDG_CONFIG_HOME; exec sh -c "$1"`

// command lets a command of the user look at the tree.
func (g *BuiltinGates) command(ctx context.Context, gate recipe.Gate, site Site) ([]Issue, error) {
	available := g.available
	if available == nil {
		available = sandbox.Available
	}
	unconfined := func(err error) []Issue {
		return []Issue{{Gate: gate.Name, Severity: Blocker, Code: "GATE_UNCONFINED", Message: "the command was not run: " + err.Error(),
			Fix: "run it where commands can be confined, or take the gate out of the recipe"}}
	}
	if err := available(); err != nil {
		return unconfined(err), nil
	}
	tree, err := realTree(site)
	if err != nil {
		return nil, err
	}
	inputs, err := copyInputs(gate, site)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(inputs)
	env, err := g.environment(gate, inputs)
	if err != nil {
		return nil, err
	}
	hide, err := hideAround(g.Hide, tree)
	if err != nil {
		return nil, err
	}
	out := &text.EndsBuffer{Head: keptHead, Tail: keptTail}
	process, err := launch.Start(ctx, launch.Program{Purpose: launch.RunCommand, Command: sandbox.Command{
		Args: []string{"sh", "-c", homeScript, "sh", gate.Command}, Dir: tree, Env: env, Output: out,
		Confine: &sandbox.Box{Hide: hide},
	}})
	if fault.Is(err, fault.Denied) {
		return unconfined(err), nil
	}
	if err != nil {
		return nil, err
	}
	result, err := process.Wait()
	if err != nil {
		return nil, err
	}
	if result.Killed || ctx.Err() != nil || result.ExitCode == 0 {
		return nil, nil
	}
	return g.complaints(gate, site, tree, out, result), nil
}

// copyInputs copies the inputs of a gate to where its command may read them, which the run's folder
// is not; empty: it has none.
func copyInputs(gate recipe.Gate, site Site) (dir string, err error) {
	if len(gate.Inputs) == 0 {
		return "", nil
	}
	if dir, err = os.MkdirTemp("", "ramet-gate-"); err != nil {
		return "", durable.Failure("make a folder for", gate.Name, err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	from, err := os.OpenRoot(site.Dir)
	if err != nil {
		return dir, durable.Failure("open", site.Dir, err)
	}
	defer from.Close()
	for _, in := range gate.Inputs {
		folder, all := strings.CutSuffix(in, "/**")
		if !all {
			if err := copyInput(from, in, dir); err != nil {
				return dir, err
			}
			continue
		}
		err := fs.WalkDir(from.FS(), folder, func(name string, d fs.DirEntry, err error) error {
			if name == folder && errors.Is(err, fs.ErrNotExist) {
				return nil // nothing is below it
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			return copyInput(from, name, dir)
		})
		if err != nil {
			return dir, durable.Failure("read", in, err)
		}
	}
	return dir, nil
}

func copyInput(from *os.Root, name, dir string) error {
	data, err := from.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return fault.New(fault.NotFound, "read the input %s of the gate: %w", name, err).WithHint("let a worker make it first")
	}
	to := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return durable.Failure("make the folder of", to, err)
	}
	return durable.Failure("write", to, os.WriteFile(to, data, 0o600))
}

// realTree returns the folder that a command checks: the written tree, or where a recipe has none, the
// folder of the run.
func realTree(site Site) (string, error) {
	dir := filepath.Join(site.Dir, filepath.FromSlash(gateTree))
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		dir = site.Dir
	}
	tree, err := filepath.Abs(dir)
	if err == nil {
		tree, err = filepath.EvalSymlinks(tree)
	}
	if err != nil {
		return "", fault.New(fault.NotFound, "open %s of the run: %w", gateTree, err).WithHint("let a worker write it first")
	}
	return tree, nil
}

// environment returns the variables of the command.
func (g *BuiltinGates) environment(gate recipe.Gate, inputs string) ([]string, error) {
	more := map[string]string{}
	if inputs != "" {
		more["RAMET_INPUTS"] = inputs
	}
	return commandEnvironment("gate "+gate.Name, append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, g.Env...), gate.With, more)
}

// hideAround hides folders so that the tree can still be seen: of a folder above it, what is
// next to the way to the tree is hidden.
func hideAround(hide []string, tree string) ([]string, error) {
	var out []string
	for _, h := range hide {
		real, err := filepath.EvalSymlinks(h)
		if err != nil {
			if os.IsNotExist(err) {
				continue
			}
			return nil, durable.Failure("hide", h, err)
		}
		for real != tree && strings.HasPrefix(tree, strings.TrimSuffix(real, string(filepath.Separator))+string(filepath.Separator)) {
			entries, err := os.ReadDir(real)
			if err != nil {
				return nil, durable.Failure("read folder", real, err)
			}
			way := ""
			for _, e := range entries {
				at := filepath.Join(real, e.Name())
				if at == tree || strings.HasPrefix(tree, at+string(filepath.Separator)) {
					way = at
					continue
				}
				if e.Type()&fs.ModeSymlink == 0 { // where a link leads is hidden for itself, or not at all
					out = append(out, at)
				}
			}
			real = way
		}
		if real != "" && real != tree {
			out = append(out, real)
		}
	}
	return out, nil
}

// changedFiles returns the files that the run changed, for issues that name no file.
func changedFiles(site Site) []string {
	patch, err := os.ReadFile(filepath.Join(site.Dir, filepath.FromSlash(site.Patch)))
	if err != nil {
		return nil
	}
	changes, err := CheckChanges(patch)
	if err != nil {
		return nil
	}
	var out []string
	for _, c := range changes {
		if !c.Deleted {
			out = append(out, c.Path)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), mostFiles)]
}

// mostFiles limits the files that an issue names.
const mostFiles = 20
