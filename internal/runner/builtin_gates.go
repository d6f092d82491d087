package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/secret"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/run/recipe"
)

// BuiltinGates carries out the gates of a run. It implements runner.Inspector.
//
// A built-in gate is a function over the artifacts and the written tree (see CheckGates).
// A command runs confined in the tree: it can read, and write nowhere but in a /tmp
// of its own (TMPDIR, HOME); it has no network and sees no key. Where commands
// cannot be confined, it is not run, and that is a blocker.
type BuiltinGates struct {
	// Env is the complete environment of commands, at least PATH; it must contain no key.
	Env []string
	// Hide are files and folders that commands may not read: credentials.
	Hide []string
	// Show lists files and folders that they see also below /tmp.
	Show []string
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
			i := Issue{Gate: gate.Name, Severity: f.Severity, Code: f.Code, Message: f.Message, Line: f.Line, Fix: f.Fix, Rule: f.Message}
			if f.File != "" {
				i.Files = []string{f.File}
			}
			issues = append(issues, i)
		}
		return issues, nil
	}
}

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
	name := strings.TrimPrefix(cmp.Or(gate.With["patch"], site.Patch), gateArtifacts+"/")
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
	more := map[string]string{}
	if inputs != "" {
		more["RAMET_INPUTS"] = inputs
	}
	env, err := commandEnvironment("gate "+gate.Name, append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, g.Env...), gate.With, more)
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
		Confine: &sandbox.Box{Hide: hide, Show: append(slices.Clone(g.Show), inputs)},
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

// What is kept of the output of a command, and what of it is reported.
const (
	keptHead   = 256 << 10
	keptTail   = 8 << 10
	toldTail   = 2000 // runes
	toldLine   = 500
	mostIssues = 50
	mostLines  = 200
)

// complaints makes issues of a command that failed: one for each file and rule that lines
// name, else one with the end of the output.
func (g *BuiltinGates) complaints(gate recipe.Gate, site Site, tree string, out *text.EndsBuffer, result sandbox.Result) []Issue {
	severity := Severity(gate.Severity)
	switch severity {
	case Info, Warn, Error, Blocker:
	default:
		severity = Error
	}
	clean := func(b []byte) string {
		s := strings.ToValidUTF8(string(b), "\uFFFD")
		s = g.redactor().All(text.Safe(ansi.Strip(s)))
		// Places of this machine would make another issue of the same one.
		return strings.ReplaceAll(strings.ReplaceAll(s, tree+string(filepath.Separator), ""), tree, ".")
	}
	head, tail, missing := out.Kept()
	if issues := placedIssues(gate.Name, severity, tree, clean(head), missing > 0); len(issues) > 0 {
		return issues
	}
	if missing == 0 {
		tail = append(head, tail...)
	}
	end := clean(tail)
	i := Issue{Gate: gate.Name, Severity: severity, Code: "GATE_FAILED", Files: changedFiles(site), Rule: Whole,
		Message: complaint(result, strings.TrimSpace(end))}
	if result.ExitCode == 126 || result.ExitCode == 127 {
		i.Files, i.Fix = nil, "install the program that the gate needs, or correct its command" // no page is to blame
	}
	return []Issue{i}
}

// placedIssues reads the lines that name a place: one issue for each file and rule, which
// lists all its lines. Words do not distinguish issues: a gate may find others each time.
func placedIssues(gate string, severity Severity, tree, printed string, missed bool) []Issue {
	var issues []Issue
	at := map[string]int{}
	lines := 0
	for line := range strings.Lines(printed) {
		i, ok := parsePlace(gate, severity, tree, strings.TrimRight(line, "\n"))
		if !ok {
			continue
		}
		if lines++; lines > mostLines {
			missed = true
			break
		}
		key := i.Files[0] + "\x00" + i.Rule
		if n, known := at[key]; known {
			issues[n].Message += fmt.Sprintf("\nline %d: %s", i.Line, i.Message)
			continue
		}
		if len(issues) == mostIssues {
			missed = true
			continue
		}
		at[key] = len(issues)
		issues = append(issues, i)
	}
	if missed && len(issues) > 0 {
		issues[len(issues)-1].Fix = "there are more complaints: fix these first"
	}
	return issues
}

// ruleForm finds the name of the rule that a checker broke off at: a word before a colon, a
// code such as E501, or a name in brackets at the end.
var ruleForm = text.Regexp(`^([A-Za-z][A-Za-z_/-]*):\s|^([A-Z]{1,5}[0-9]{2,5})\b|[\[(]([A-Za-z][A-Za-z0-9_/.-]{1,60})[\])]$`)

// codeForm is a rule that is a code: a gate that writes PAGE_MISSING: gives its issues that code.
var codeForm = text.Regexp(`^[A-Z]+(_[A-Z]+)+$`)

// complaint describes how a command ended, with the end of its output.
func complaint(r sandbox.Result, printed string) string {
	how := fmt.Sprintf("the command ended with exit code %d", r.ExitCode)
	if r.Signal != 0 {
		how = fmt.Sprintf("the command was ended by signal %d", int(r.Signal))
	}
	if printed == "" {
		return how + " and printed nothing"
	}
	if runes := []rune(printed); len(runes) > toldTail {
		printed = "…" + string(runes[len(runes)-toldTail:])
	}
	return how + ":\n" + printed
}

// placeForm matches path:line: message, and with a column.
var placeForm = text.Regexp(`^\s*(?:\./)?([^\s:][^:]*):([0-9]{1,9})(?::[0-9]{1,9})?:?\s+(\S.*)$`)

// parsePlace reads a line that names a place in the tree.
func parsePlace(gate string, severity Severity, tree, line string) (Issue, bool) {
	m := placeForm().FindStringSubmatch(line)
	if m == nil {
		return Issue{}, false
	}
	name := filepath.ToSlash(filepath.Clean(m[1]))
	if !filepath.IsLocal(m[1]) {
		return Issue{}, false
	}
	code, rule := "GATE_FAILED", ""
	if named := ruleForm().FindStringSubmatch(text.Line(m[3], toldLine)); named != nil {
		rule = named[1] + named[2] + named[3]
	}
	if codeForm().MatchString(rule) {
		code = rule // of a file that is missing, too
	} else if info, err := os.Lstat(filepath.Join(tree, m[1])); err != nil || !info.Mode().IsRegular() {
		return Issue{}, false
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return Issue{}, false
	}
	return Issue{Gate: gate, Severity: severity, Code: code, Message: text.Line(m[3], toldLine), Files: []string{name}, Line: n, Rule: rule}, true
}
