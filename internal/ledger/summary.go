package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

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
