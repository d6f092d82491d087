package app_test

import (
	"fmt"
	"strings"
	"testing"
)

// An agent that a kernel of another host holds can be forked: at its last final entry, so
// that a call that runs there is not in the child's context; and the holder goes on.
func TestAnAgentOfAnotherHostIsForked(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	a, b := m.host("a"), m.host("b")
	a.ramet(0, "fork", "--name", "ada")
	a.ramet(0, "append", "ada", "the point")
	began, told := a.fifo()
	block, goOn := a.fifo()
	k := a.begin("exec", "ada", "work", "--allow", "bash", "--model", a.script(
		fmt.Sprintf(`{"steps": [{"text": "I work"}, {"call": "bash", "args": {"command": "echo > %s; read x < %s"}}]}`, began, block),
		`{"steps": [{"text": "late words"}]}`))
	a.told(told)

	b.ramet(0, "fork", "ada", "--name", "kid", "--prompt", "go on from there")
	if got := b.ramet(0, "log", "kid"); !strings.Contains(got, "the point") || !strings.Contains(got, "go on from there") || strings.Contains(got, "I work") {
		t.Errorf("the child's context:\n%s", got)
	}
	b.ramet(0, "exec", "kid", "and?", "--model", b.script(`{"steps": [{"text": "I go on"}]}`))

	fmt.Fprintln(goOn, "done")
	k.ends(t, 0, "late words")
	if got := b.ramet(0, "log", "ada"); !strings.Contains(got, "late words") || strings.Contains(got, "interrupted") {
		t.Errorf("the parent's context:\n%s", got)
	}
}
