package loop

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/turn/tool"
)

// Answers count, not the calls of one: three equal calls that fail side by side are one failure.
func TestEqualCallsOfOneAnswerCountOnce(t *testing.T) {
	s := newStage(t, `{"steps": [{"call": "act"}, {"call": "act"}, {"call": "act"}]}
{"steps": [{"call": "act"}, {"call": "act"}, {"call": "act"}]}
{"steps": [{"text": "I give up"}]}`, fails("act", "no"))
	if out := s.must(); out.Text != "I give up" || strings.Count(s.log(), "The same call failed 2 times in a row") != 1 {
		t.Errorf("%+v\n%s", out, s.log())
	}
}

// The same test that fails with edits between, or beside it, is no circle.
func TestWorkThatFailsIsNoCircle(t *testing.T) {
	var lines []string
	for i := range 6 {
		lines = append(lines, fmt.Sprintf(`{"steps": [{"call": "edit", "args": {"n": %d}}, {"call": "act"}]}`, i))
	}
	s := newStage(t, strings.Join(lines, "\n")+"\n"+`{"steps": [{"text": "done"}]}`, fails("act", "no"), echo("edit", tool.Writes))
	if out := s.must(); out.Text != "done" || strings.Contains(s.log(), "[ramet]") {
		t.Errorf("%+v\n%s", out, s.log())
	}
}

func TestTenEqualSuccessesAreNoticed(t *testing.T) {
	s := newStage(t, strings.Repeat(`{"steps": [{"call": "act"}]}`+"\n", 12)+`{"steps": [{"text": "done"}]}`, echo("act", tool.Commands))
	if out := s.must(); out.Worked != 12 {
		t.Errorf("%+v", out)
	}
	if n := strings.Count(s.log(), "[ramet] You have made this call 10 times in a row"); n != 1 || !strings.Contains(s.log(), "call_10=act{}\n[ramet]") {
		t.Errorf("it is told %d times:\n%s", n, s.log())
	}
}

func TestTooManyCallsOfOneAnswer(t *testing.T) {
	calls := make([]string, mostCalls+6)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"call": "look", "args": {"n": %d}}`, i)
	}
	s := newStage(t, `{"steps": [`+strings.Join(calls, ", ")+`]}
{"steps": [{"text": "done"}]}`, echo("look", tool.Reads))
	out := s.must()
	if out.Worked != mostCalls || out.Calls != mostCalls+6 || strings.Count(s.log(), "=not run: of one answer at most 64 calls") != 6 {
		t.Errorf("%+v\n%s", out, s.log())
	}
}
