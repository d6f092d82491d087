package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

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

// shownLines are the lines of the new files that a diff shows.
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

// sarifOf is the report for tools.
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

// commentOf is the report for people.
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
