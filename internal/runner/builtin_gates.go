package runner

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/secret"
	"ramet/internal/run/recipe"
)

// BuiltinGates carries out the gates of a run. It implements runner.Inspector.
//
// A built-in gate is a function over the artifacts and the written tree (see CheckGates).
// A command runs confined in the tree: it can read, and write nowhere but in a temporary
// folder of its own (TMPDIR, HOME); it has no network and sees no key. Where commands
// cannot be confined, it is not run, and that is a blocker.
type BuiltinGates struct {
	// Env is the complete environment of commands, at least PATH; it must contain no key.
	Env []string
	// Hide are files and folders that commands may not read: credentials.
	Hide []string
	// Limits are those of the recipe; the gate limits needs Files and LinesPerFile.
	Limits recipe.Limits
	// Secrets finds and replaces secrets; nil: known formats alone.
	Secrets *secret.Redactor

	available func() error // whether commands can be confined; nil: sandbox.Available
}

// The places in the folder of a run, and the names of parameters.
const (
	gateTree      = "work/tree"
	gateArtifacts = "artifacts"
	gateBody      = "body.md"
)

// Inspect implements runner.Inspector. What g.With may say: patch (name of the patch among
// the artifacts), allow (patterns for paths, separated by commas or spaces), files and
// lines_per_file (limits); for a command, variables.
func (g *BuiltinGates) Inspect(ctx context.Context, gate recipe.Gate, site Site) ([]Issue, error) {
	var issues []Issue
	var err error
	if gate.Command != "" {
		issues, err = g.command(ctx, gate, site)
	} else {
		issues, err = g.builtIn(ctx, gate, site)
	}
	if ctx.Err() != nil {
		return issues, fault.New(fault.Cancelled, "gate %s: %w", gate.Name, ctx.Err())
	}
	return issues, err
}

func (g *BuiltinGates) redactor() *secret.Redactor {
	if g.Secrets == nil {
		return secret.New(nil)
	}
	return g.Secrets
}

// builtIn looks with a function of CheckGates. It cannot be stopped in the middle, and
// ends by itself; when the time is over, it is not waited for.
func (g *BuiltinGates) builtIn(ctx context.Context, gate recipe.Gate, site Site) ([]Issue, error) {
	look, ok := CheckGates[gate.Uses]
	if !ok {
		return nil, fault.New(fault.InvalidRecipe, "gate %s: there is no built-in gate %.80q", gate.Name, gate.Uses).
			WithHint("the gates are %s", strings.Join(slices.Sorted(maps.Keys(CheckGates)), ", "))
	}
	s, closeAll, err := g.site(gate, site)
	if err != nil {
		return nil, err
	}
	done := make(chan []Finding, 1)
	go func() {
		defer closeAll()
		done <- look(s)
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case found := <-done:
		var issues []Issue
		for _, f := range found {
			issues = append(issues, issueOf(gate.Name, f))
		}
		return issues, nil
	}
}

func issueOf(gate string, f Finding) Issue {
	i := Issue{Gate: gate, Severity: f.Severity, Code: f.Code, Message: f.Message, Line: f.Line, Fix: f.Fix, Rule: f.Message}
	if f.File != "" {
		i.Files = []string{f.File}
	}
	return i
}

// inArtifacts is a path of the run as seen from the folder of its artifacts.
func inArtifacts(name string) string { return strings.TrimPrefix(name, gateArtifacts+"/") }

// site opens what a built-in gate looks at. Folders are opened as roots: no symbolic link
// in them leads outside.
func (g *BuiltinGates) site(gate recipe.Gate, site Site) (*CheckSite, func(), error) {
	var opened []*os.Root
	closeAll := func() {
		for _, r := range opened {
			r.Close()
		}
	}
	open := func(name string) (fs.FS, error) {
		root, err := os.OpenRoot(filepath.Join(site.Dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, fault.New(fault.NotFound, "open %s of the run: %w", name, err).
				WithHint("the gate %s looks at it: let a worker make it first", gate.Name)
		}
		opened = append(opened, root)
		return root.FS(), nil
	}
	s := &CheckSite{Secrets: g.redactor().Find, Texts: map[string]string{}}
	fail := func(err error) (*CheckSite, func(), error) { closeAll(); return nil, nil, err }
	var err error
	if s.Tree, err = open(gateTree); err != nil {
		return fail(err)
	}
	artifacts, err := open(gateArtifacts)
	if err != nil {
		return fail(err)
	}
	name := inArtifacts(cmp.Or(gate.With["patch"], site.Patch))
	patch, err := fs.ReadFile(artifacts, name)
	if err != nil {
		return fail(fault.New(fault.NotFound, "read the patch of the run: %w", err).
			WithHint("the gate %s looks at what changed: let a worker make artifacts/%s first", gate.Name, name))
	}
	if s.Changes, err = CheckChanges(patch); err != nil {
		return fail(err)
	}
	if body, err := fs.ReadFile(artifacts, gateBody); err == nil {
		s.Texts["the body of the pull request"] = string(body)
	}
	s.Allowed = allowedPaths(gate, site)
	s.Limits = g.Limits
	if err := gateLimit(gate, "files", &s.Limits.Files); err != nil {
		return fail(err)
	}
	if err := gateLimit(gate, "lines_per_file", &s.Limits.LinesPerFile); err != nil {
		return fail(err)
	}
	return s, closeAll, nil
}

// allowedPaths returns the patterns of paths that may be changed: those of the gate, else the
// parameter allowed_paths, else all that are safe.
func allowedPaths(gate recipe.Gate, site Site) []string {
	for _, list := range []string{gate.With["allow"], site.Params["allowed_paths"]} {
		if patterns := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }); len(patterns) > 0 {
			return patterns
		}
	}
	return []string{"**"}
}

// gateLimit reads a limit that the gate has of its own.
func gateLimit(gate recipe.Gate, name string, into *int) error {
	text := gate.With[name]
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fault.New(fault.InvalidRecipe, "gate %s: %s is %.40q and must be a number", gate.Name, name, text).WithHint("write a number, 0 for no limit")
	}
	*into = n
	return nil
}
