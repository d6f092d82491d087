package ledger

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestErrorParseError_SummariesTellWhatTheyKnow(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Summary
		ok   bool
	}{
		"plain":         {"---\nplan: 02\nstatus: completed\nexecuted_by_agent: a5023ff\ncompleted_at: 2026-01-15T14:45:32Z\n---\n# Done\n", Summary{"02", "completed", "a5023ff", noon.Add(165*60e9 + 32e9)}, true},
		"quotes":        {"---\nplan: \"02\" # the second\nstatus: 'partial'\n---", Summary{Plan: "02", Status: "partial"}, true},
		"comment":       {"---\nplan: 02 # two\nstatus: # none\n---\n", Summary{Plan: "02"}, true},
		"DOS":           {"\uFEFF---\r\nplan: 3\r\n---\r\n", Summary{Plan: "3"}, true},
		"nested":        {"---\ntags:\n  plan: 9\n  - x\nplan: 3\nother: {status: failed}\n...\n", Summary{Plan: "3"}, true},
		"no end":        {"---\nplan: 02\n", Summary{}, false},
		"none":          {"# Summary\nplan: 02\n", Summary{}, false},
		"later":         {"\n---\nplan: 02\n---\n", Summary{}, false},
		"empty":         {"", Summary{}, false},
		"a bad time":    {"---\nplan: 1\ncompleted_at: yesterday\n---\n", Summary{Plan: "1"}, true},
		"a time offset": {"---\ncompleted_at: 2026-01-15T13:00:00+01:00\n---\n", Summary{CompletedAt: noon}, true},
		"an open quote": {"---\nplan: \"02\nstatus: x\n---\n", Summary{Plan: `"02`, Status: "x"}, true},
	} {
		got, ok := ParseSummary([]byte(c.text))
		if ok != c.ok || got != c.want {
			t.Errorf("%s: %+v %t", name, got, ok)
		}
	}
}

func TestErrorParseError_PartialIsInterruptedSkippedIsNothing(t *testing.T) {
	s := Rebuild([]Summary{
		{"04", "failed", "d", minute(4)},
		{"01", "completed", "a", minute(1)},
		{"02", "partial", "b", minute(2)},
		{"03", "skipped", "c", minute(3)},
		{"05", "completed", "", minute(5)}, // nobody did it
		{"06", "", "f", minute(6)},
		{"07", "odd", "g", minute(7)},
	})
	draws(t, s, "a:completed b:interrupted d:failed g:odd")
	for _, e := range s.Entries() {
		if !e.Recovered || e.Description != "Execute plan "+e.Plan || e.EndedAt.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if !strings.Contains(string(s.Format()), `"recovered": true`) {
		t.Error("it is not marked in the file")
	}
	resume(t, s, "b", "e", minute(9)) // it can be gone on with
}

func FuzzParseSummary(f *testing.F) {
	f.Add([]byte("---\nplan: 02\nstatus: \"completed\"\nexecuted_by_agent: 'a' # x\ncompleted_at: 2026-01-15T14:45:32Z\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, ok := ParseSummary(data)
		if !ok && m != (Summary{}) {
			t.Fatalf("%+v", m)
		}
		if utf8.Valid(data) && strings.ContainsAny(m.Plan+m.Status+m.Agent, "\n") {
			t.Fatalf("%+v", m)
		}
		s := Rebuild([]Summary{m})
		again, err := Parse(s.Format())
		if err != nil || again.Len() != s.Len() {
			t.Fatalf("%v: %s", err, s.Format())
		}
	})
}
