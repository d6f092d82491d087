package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
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
			WithHint("the workers are %s", strings.Join(slices.Sorted(maps.Keys(works)), ", "))
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

// builtinAttempt is one item.
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

// commented is the .json of comment.
type commented struct {
	Posted bool   `json:"posted"`
	Pull   int64  `json:"pull,omitempty"`
	URL    string `json:"url,omitempty"`
	Why    string `json:"why,omitempty"` // it was not posted
}

// comment makes a comment on a pull request, once for its key. With: repo, an address or a folder whose
// origin is on a forge, and pull, the number; without a number no comment is made.
func (j *builtinAttempt) comment(ctx context.Context) (Result, error) {
	body, err := j.input(ctx, "*.md")
	if err != nil {
		return Result{}, err
	}
	number := strings.TrimPrefix(strings.TrimSpace(j.value("pull")), "#")
	if number == "" {
		return j.encoded("*.json", commented{Why: "no pull request was named"})
	}
	pull, err := strconv.ParseInt(number, 10, 64)
	if err != nil || pull < 1 {
		return Result{}, fault.New(fault.Usage, "worker %s: pull is %.40q", j.it.Worker, number).WithHint("give the number of a pull request, or nothing")
	}
	address, err := j.origin(ctx, j.value("repo"))
	if err != nil {
		return Result{}, err
	}
	to, f, ok, err := j.remote(address)
	if err != nil {
		return Result{}, err
	}
	if !ok {
		return Result{}, fault.New(fault.Denied, "worker %s has no forge for %s to comment on pull request %d", j.it.Worker, to, pull).
			WithHint("set GITHUB_TOKEN or GITEA_TOKEN (and GITEA_URL); then `ramet run resume %s --from-failed` continues it", j.it.RunID)
	}
	made, err := f.Comment(ctx, pull, j.it.Task.Key, string(body))
	if err != nil {
		return Result{}, err
	}
	return j.encoded("*.json", commented{Posted: true, Pull: pull, URL: made.URL})
}

// origin returns the address from which a folder of this machine was cloned; anything else is an address already.
func (j *builtinAttempt) origin(ctx context.Context, address string) (string, error) {
	at, err := git.Locate(address)
	if err != nil || !at.Local() {
		return address, err
	}
	out, err := git.Run(ctx, address, "remote", "get-url", "origin")
	if err != nil {
		return "", fault.New(fault.NotFound, "%.200s has no origin, so its forge is unknown", address).WithHint("`git remote add origin URL` there, or give the URL as repo")
	}
	return strings.TrimSpace(out), nil
}

// finding is one of findings.json, the form findings.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Rule    string `json:"rule"`
	Level   string `json:"level"` // error, warning, note
	Message string `json:"message"`
}

// report makes of findings about a change what tools read (SARIF 2.1.0) and what people read on
// a forge. A finding about a line that the change does not show is left out, with a warning.
func (j *builtinAttempt) report(ctx context.Context) (Result, error) {
	data, err := j.input(ctx, "findings.json")
	if err != nil {
		return Result{}, err
	}
	var in struct {
		Findings []finding `json:"findings"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return Result{}, fault.New(fault.OutputInvalid, "read findings.json: %w", err)
	}
	diff, err := j.input(ctx, "*.diff")
	if err != nil {
		return Result{}, err
	}
	shown := shownLines(string(diff))
	var kept []finding
	var issues []Issue
	for _, f := range in.Findings {
		f.File = path.Clean(f.File)
		if !shown[f.File][f.Line] {
			issues = append(issues, Issue{Gate: j.it.Worker, Severity: Warn, Code: "FINDING_PLACE",
				Message: fmt.Sprintf("a finding about %s, line %d was left out: the change does not show that line", text.Line(f.File, 200), f.Line),
				Rule:    f.Rule + " " + strconv.Itoa(f.Line)})
			continue
		}
		kept = append(kept, f)
	}
	slices.SortStableFunc(kept, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, cmp.Compare(a.Rule, b.Rule))
	})
	sarif, err := json.MarshalIndent(sarifOf(kept), "", "  ")
	if err != nil {
		return Result{}, fault.New(fault.OutputInvalid, "write SARIF: %w", err)
	}
	r, err := j.result(map[string][]byte{"*.sarif": append(sarif, '\n'), "*.md": commentOf(kept)})
	r.Issues = issues
	return r, err
}

// shownLines returns the lines of the new files that a diff shows.
func shownLines(diff string) map[string]map[int]bool {
	out := map[string]map[int]bool{}
	file, at, left := "", 0, 0
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case left > 0:
			if strings.HasPrefix(line, "-") || strings.HasPrefix(line, `\`) {
				continue
			}
			out[file][at] = true
			at++
			left--
		case strings.HasPrefix(line, "+++ "):
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "+++ "), "\t")
			file = strings.TrimPrefix(name, "b/")
			out[file] = map[int]bool{}
		case strings.HasPrefix(line, "@@ ") && out[file] != nil:
			at, left = newRange(line)
		}
	}
	return out
}

// newRange reads "@@ -1,2 +3,4 @@": the new side.
func newRange(line string) (from, count int) {
	for _, word := range strings.Fields(line) {
		if side, ok := strings.CutPrefix(word, "+"); ok {
			begin, many, told := strings.Cut(side, ",")
			from, _ = strconv.Atoi(begin)
			if count = 1; told {
				count, _ = strconv.Atoi(many)
			}
			return from, count
		}
	}
	return 0, 0
}

// sarifOf returns the report for tools.
func sarifOf(findings []finding) map[string]any {
	rules, results := []map[string]any{}, []map[string]any{}
	var seen []string
	for _, f := range findings {
		if !slices.Contains(seen, f.Rule) {
			seen = append(seen, f.Rule)
		}
		results = append(results, map[string]any{"ruleId": f.Rule, "level": f.Level, "message": map[string]string{"text": f.Message},
			"locations": []any{map[string]any{"physicalLocation": map[string]any{
				"artifactLocation": map[string]string{"uri": f.File}, "region": map[string]int{"startLine": f.Line}}}}})
	}
	slices.Sort(seen)
	for _, rule := range seen {
		rules = append(rules, map[string]any{"id": rule})
	}
	return map[string]any{"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"runs": []any{map[string]any{"tool": map[string]any{"driver": map[string]any{"name": "ramet", "rules": rules}}, "results": results}}}
}

// commentOf returns the report for people.
func commentOf(findings []finding) []byte {
	var b strings.Builder
	b.WriteString("## Review\n\n")
	if len(findings) == 0 {
		b.WriteString("Nothing found.\n")
	}
	for _, f := range findings {
		fmt.Fprintf(&b, "- **%s** `%s:%d` (%s): %s\n", f.Level, strings.ReplaceAll(f.File, "`", "'"), f.Line, f.Rule, text.Line(f.Message, 1000))
	}
	return []byte(b.String())
}
