package ledger

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// RepairResult describes a repair.
type RepairResult struct {
	Corrupt string // where the file that could not be read is kept; empty if it could be
	From    string // the source of the new one
	Entries int    // how many it has
	Pointer bool   // the pointer named no entry
}

// The sources of a new file.
const (
	FromTemp      = "temporary file"
	FromSummaries = "summaries"
	FromTemplate  = "template"
)

// Recover repairs the two files and returns what it did. A missing file is made from the template.
func (f *Folder) Recover(ctx context.Context) (RepairResult, error) {
	if err := f.make(); err != nil {
		return RepairResult{}, err
	}
	return f.change(ctx, func(*Sheet) (string, error) { return "", nil })
}

// make makes the state folder, where its path says.
func (f *Folder) make() error {
	root, err := f.gate.Make(0o755)
	if err != nil {
		return err
	}
	return durable.Failure("make folder", f.dir, root.Close())
}

// restore reads the file under the lock. One that cannot be read is put aside, and replaced at once by what can be
// recovered: a crash in between loses nothing.
func (f *Folder) restore() (*Sheet, RepairResult, error) {
	data, there, err := f.load()
	if err != nil {
		return nil, RepairResult{}, err
	}
	if !there {
		return New(), RepairResult{}, nil
	}
	if sheet, err := Parse(data); err == nil {
		return sheet, RepairResult{}, nil
	}
	var r RepairResult
	if r.Corrupt, err = f.keep(data); err != nil {
		return nil, r, err
	}
	sheet, from := f.rebuild()
	r.From, r.Entries = from, sheet.Len()
	if err := f.save(sheet.Format()); err != nil {
		return nil, r, err
	}
	f.removeLeftovers()
	f.told(r)
	return sheet, r, nil
}

// corrupt is the suffix of a file that was put aside.
const corrupt = ".corrupt-"

// keep copies a file that cannot be read.
func (f *Folder) keep(data []byte) (string, error) {
	for at := f.now().UTC(); ; at = at.Add(time.Millisecond) {
		path := f.path() + corrupt + at.Format("20060102T150405.000Z")
		err := durable.CreateFile(path, data, 0o644)
		if !fault.Is(err, fault.Conflict) {
			return path, err
		}
	}
}

// rebuild makes a new sheet from temporary files or summaries.
func (f *Folder) rebuild() (*Sheet, string) {
	for _, path := range findLeftovers(f.dir) {
		if strings.Contains(filepath.Base(path), corrupt) {
			continue // half of a copy of what could not be read
		}
		if sheet := readSheet(path); sheet != nil {
			return sheet, FromTemp
		}
	}
	var found []Summary
	if root, err := f.gate.Open(); err == nil { // by its handle: a link leads nowhere else
		defer root.Close()
		paths, _ := fs.Glob(root.FS(), "summaries/*-SUMMARY.md") // of our own pattern
		for _, path := range paths {
			if data, err := root.ReadFile(filepath.FromSlash(path)); err == nil {
				if s, ok := ParseSummary(data); ok {
					found = append(found, s)
				}
			}
		}
	}
	if sheet := Rebuild(found); sheet.Len() > 0 {
		return sheet, FromSummaries
	}
	return New(), FromTemplate
}

func readSheet(path string) *Sheet {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	sheet, err := Parse(data)
	if err != nil || sheet.Writable() != nil {
		return nil
	}
	return sheet
}

// findLeftovers returns the temporary files of writers that were killed, newest first: ours
// (.agent-history.json and digits), and those of other tools.
func findLeftovers(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	type left struct {
		path string
		at   time.Time
	}
	var found []left
	for _, e := range entries {
		if !isLeftover(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			found = append(found, left{filepath.Join(dir, e.Name()), info.ModTime()})
		}
	}
	slices.SortStableFunc(found, func(a, b left) int { return b.at.Compare(a.at) })
	var out []string
	for _, l := range found {
		out = append(out, l.path)
	}
	return out
}

func isLeftover(name string) bool {
	if digits, ok := strings.CutPrefix(name, "."+FileName); ok {
		return digits != "" && strings.Trim(digits, "0123456789") == "" || strings.HasPrefix(digits, corrupt)
	}
	rest, ok := strings.CutPrefix(name, FileName)
	return ok && (strings.HasPrefix(rest, ".tmp") || strings.HasSuffix(rest, ".tmp"))
}

// Summary holds the front matter of a SUMMARY.md about a plan.
type Summary struct {
	Plan, Status, Agent string
	CompletedAt         time.Time
}

// ParseSummary reads the front matter at the beginning of a file: lines of key: value between two lines of ---. Unknown
// keys, nested values and other YAML are ignored. ok is false without front matter.
func ParseSummary(data []byte) (s Summary, ok bool) {
	text := strings.TrimPrefix(string(data), "\uFEFF")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return Summary{}, false
	}
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "---" || line == "..." {
			return s, true
		}
		key, value, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		switch value = trimScalar(value); key {
		case "plan":
			s.Plan = value
		case "status":
			s.Status = value
		case "executed_by_agent":
			s.Agent = value
		case "completed_at":
			s.CompletedAt = parseTime(value)
		}
	}
	return Summary{}, false // it never ended: this is no front matter
}

// trimScalar returns a value without its quotes and without a comment after it.
func trimScalar(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if inner, _, closed := strings.Cut(s[1:], s[:1]); closed {
			return inner
		}
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	if strings.HasPrefix(s, "#") {
		return ""
	}
	return s
}

// Rebuild makes a sheet from summaries, after the file was lost: partial is interrupted; a summary that is skipped, or
// names no agent or no status, makes no entry.
func Rebuild(summaries []Summary) *Sheet {
	s := New()
	summaries = slices.Clone(summaries)
	slices.SortStableFunc(summaries, func(a, b Summary) int {
		return cmp.Or(a.CompletedAt.Compare(b.CompletedAt), strings.Compare(a.Plan, b.Plan))
	})
	for _, m := range summaries {
		status := Status(strings.ToLower(m.Status))
		switch status {
		case "partial":
			status = Interrupted
		case "complete":
			status = Completed
		case "skipped", "":
			continue
		}
		if m.Agent == "" {
			continue
		}
		s.add(Entry{ID: m.Agent, Description: Start{Plan: m.Plan}.describe(), Plan: m.Plan,
			At: m.CompletedAt, Status: status, EndedAt: m.CompletedAt, Recovered: true}, nil)
	}
	s.Prune()
	return s
}
