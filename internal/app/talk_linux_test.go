package app_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A model asks its user something, at a terminal: the choices are offered with "no answer"
// first, words of one's own have a place, and who answered stands in the history. A plan is
// shown as a list.
func TestAModelAsksAtTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(`{"when": "begin", "steps": [{"call": "plan", "args": {"steps": [{"step": "look around", "state": "done"}, {"step": "choose", "state": "doing"}, {"step": "build", "state": "open"}]}}, {"call": "ask", "args": {"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]}}]}`,
		`{"when": "The user chose: PostgreSQL", "steps": [{"call": "ask", "args": {"question": "And which port?"}}]}`,
		`{"when": "The user says: the usual one", "steps": [{"call": "ask", "args": {"question": "Anything else?", "choices": ["no"]}}]}`,
		`{"when": "The user gave no answer", "steps": [{"text": "so it is"}]}`)
	x := w.open(110, 40)
	x.see("[0]", "script/")
	x.say("begin")
	x.see("☑ look around", "▶ choose", "☐ build", "0 asks", "Which database?", "❯ no answer", "SQLite", "PostgreSQL")
	x.decide("PostgreSQL")
	x.see("And which port?", "in other words")
	x.decide("in other words")
	x.see("Your answer: ")
	x.press("the usual one")
	x.see("Your answer: the usual one")
	x.press(enter)
	x.see("Anything else?")
	x.decide("no answer")
	x.see("so it is", " idle ")
	x.leave()
	log := w.ramet("log", "0", "--json")
	for _, want := range []string{"The user chose: PostgreSQL", `"face":"terminal"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	w.ramet("verify")
}

// A command in the background of an agent at a terminal outlives its turn; another process's
// ps shows it; Esc in a later turn ends it, and so does the end of the background kernel.
func TestCommandsInTheBackgroundAtTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	serve := func(lock string) string {
		return `{"call": "bash", "args": {"command": "flock ` + lock + ` sh -c 'echo ready; sleep 1000'", "background": true}}`
	}
	w.script(`{"when": "one", "steps": [`+serve("one.lock")+`]}`, `{"when": "Command 1 runs", "steps": [{"text": "job started"}]}`,
		`{"when": "two", "steps": [{"call": "bash", "args": {"command": "sleep 1000"}}]}`,
		`{"when": "three", "steps": [`+serve("three.lock")+`]}`, `{"when": "Command 2 runs", "steps": [{"text": "it runs again"}]}`)
	free := func(lock string) bool {
		return exec.Command("flock", "-n", filepath.Join(w.project, lock), "true").Run() == nil
	}
	w.ramet("config", "set", "allow", "bash")
	x := w.open(110, 40)
	x.see("[0]", "script/")
	x.say("one")
	x.see("job started", " idle ")
	if free("one.lock") {
		t.Error("it did not outlive its turn")
	}
	if out := w.ramet("ps"); !strings.Contains(out, "in the background: 1 flock one.lock") {
		t.Errorf("ps: %s", out)
	}
	if out := w.ramet("show", "0", "--json"); !strings.Contains(out, `"commands": "1 flock one.lock`) {
		t.Errorf("show: %s", out)
	}
	x.say("two")
	x.see("runs bash")
	x.press(escape)
	x.see("Interrupted. Press Enter to resume", " interrupted ")
	if !free("one.lock") {
		t.Error("it outlived the stop")
	}
	x.say("three")
	x.see("it runs again", " idle ")
	if free("three.lock") {
		t.Error("it did not outlive its turn")
	}
	x.leave()
	if free("three.lock") {
		t.Error("it ended with the terminal")
	}
	w.stopServer()
	if !free("three.lock") {
		t.Error("it outlived the background kernel")
	}
	w.ramet("verify")
}
