package app_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ramet/internal/testkit/probe"
)

// The real binary runs a turn and is killed with SIGKILL at many points. After
// each: the next turn begins at once, all links hold, what was acknowledged is
// there, every call has one result, and no process of a tool is alive.

// stubborn is a command line that leaves behind what is hard to end: a double fork
// in a session of its own that ignores every signal that can be ignored, one under
// nohup, one that is stopped.
const stubborn = `(setsid sh -c 'trap \"\" TERM HUP INT QUIT; while :; do sleep 1000; done' &); ` +
	`nohup sh -c '(sleep 1000 &)' >/dev/null 2>&1 & (sh -c 'kill -STOP $$' &); `

// toolLoop is a script of many lines. Its commands leave something behind; the last
// one ends with a command of one's choice.
func toolLoop(t *testing.T, s *stage, leave, last string) string {
	call := func(text, command string) string {
		return `{"steps": [{"text": "` + text + ` "}, {"text": "then "}, {"call": "bash", "args": {"command": "` + command + `"}}]}`
	}
	return s.script(t,
		call("one", leave+`echo up; seq 200`),
		call("two", leave+`echo up; exec false`),
		`{"steps": [{"call": "bash", "args": {"command": "`+leave+`echo a"}}, {"call": "list", "args": {"path": "."}}, {"call": "list", "args": {"path": "."}}]}`,
		call("three", leave+`echo last; `+last),
		`{"steps": [{"text": "the end"}]}`)
}

const (
	toolLoopSays = "one then two then three then the end"
	forever      = "exec sleep 1000"
)

// A turn that is killed before any step that changes a file goes on.
func TestATurnKilledAtAStepGoesOn(t *testing.T) {
	t.Parallel()
	exe := binary(t)
	var s *stage
	var r *running
	turn := func(variable string) (killed bool) {
		s = newStage(t, exe)
		s.made(t)
		cmd := s.command("exec", "--json", "--allow", "bash", "--model", toolLoop(t, s, "(setsid sleep 1000 &); ", "true"), "go")
		cmd.Env = append(cmd.Env, variable)
		if r = s.begin(t, cmd); !r.ends() {
			t.Fatalf("it does not end:%s", r.told())
		}
		if state := cmd.ProcessState; state.Exited() && state.ExitCode() != 0 {
			t.Fatalf("exit code %d:%s\n%s", state.ExitCode(), r.told(), &r.stderr)
		}
		return !cmd.ProcessState.Exited()
	}
	points := probe.RecordSteps(t, 2, func(variable string) { turn(variable) })
	for _, p := range selected(points, 2) {
		probe.KillAtStep(t, p, turn)
		if err := s.recovered(t, r, toolLoopSays); err != nil {
			t.Fatalf("killed at %s: %v", p, err)
		}
	}
}

// recovered checks everything that is promised after a kill of a turn in which the model says that.
func (s *stage) recovered(t *testing.T, r *running, says string) error {
	if err := s.quiet(patience); err != nil {
		return err
	}
	next := s.ramet("exec", "--model", s.script(t, `{"repeat": true, "steps": [{"text": "I am back."}]}`), "and now?")
	if next.code != 0 || next.stdout != "I am back.\n" {
		return fmt.Errorf("the next turn: exit code %d\n%s%s", next.code, next.stdout, next.stderr)
	}
	if out := s.ramet("verify"); out.code != 0 {
		return fmt.Errorf("verify: exit code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
	all, err := s.history("0")
	if err != nil {
		return err
	}
	if err := errors.Join(acknowledged(r, all), answered(all), kept(all, says)); err != nil {
		return fmt.Errorf("%w\nshown:%s\nkept: %+v", err, r.told(), all)
	}
	return nil
}

// acknowledged checks that every entry of the agent that was shown is in its history.
func acknowledged(r *running, all []entry) error {
	hashes := map[string]bool{}
	for _, e := range all {
		hashes[e.Hash] = true
	}
	for _, l := range r.all() {
		if l.Type == "entry" && string(l.Message.Agent) == all[0].Agent && !hashes[l.Message.Hash.String()] {
			return fmt.Errorf("entry %d was shown and is lost", l.Message.ID)
		}
	}
	return nil
}

// kept checks that the history has nothing twice or unsaid. How much of a reply is kept is tested in internal/kernel.
func kept(all []entry, says string) error {
	var history strings.Builder
	for _, e := range all {
		if e.Kind == "assistant" || e.Kind == "interrupted" {
			history.WriteString(e.text())
		}
	}
	had := strings.ReplaceAll(history.String(), "I am back.", "") // twice, where letters wait unread
	if !strings.HasPrefix(says, had) {
		return fmt.Errorf("in the history: %q", had)
	}
	return nil
}
