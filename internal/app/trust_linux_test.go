package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"ramet/internal/testkit"
)

// asks runs a command on a terminal, waits for its question, answers, and gives what it
// printed.
func (w *world) asks(question, answer string, args ...string) (string, error) {
	w.t.Helper()
	cmd := w.start(args...)
	file, err := pty.Start(cmd)
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	var said strings.Builder
	answered, room := false, make([]byte, 4096)
	for {
		n, err := file.Read(room)
		said.Write(room[:n])
		if !answered && strings.Contains(said.String(), question) {
			answered = true
			if _, err := file.WriteString(answer); err != nil {
				w.t.Fatal(err)
			}
		}
		if err != nil { // EIO: it has ended
			break
		}
	}
	err = cmd.Wait()
	if !answered {
		w.t.Errorf("ramet %v never asked:\n%s", args, said.String())
	}
	return said.String(), err
}

func TestTrustAsksOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("AGENTS.md", "Be kind.\n\u202eevil\u202c\n")
	for _, no := range []string{"\n", "n\n", "yesterday\n", "\x04"} {
		said, err := w.asks("[y/N] ", no, "trust")
		if err == nil || !strings.Contains(said, "+Be kind.") || !strings.Contains(said, "bidi U+202E") || !strings.Contains(said, "nothing was accepted") {
			t.Errorf("%q: %v\n%s", no, err, said)
		}
	}
	if said, err := w.asks("[y/N] ", "y\n", "trust"); err != nil || !strings.Contains(said, "is trusted with what is listed") || strings.Count(said, "+Be kind.") != 1 {
		t.Errorf("%v\n%s", err, said)
	}
	if said := w.ramet("trust"); !strings.Contains(said, "same    instructions") {
		t.Errorf("then\n%s", said)
	}
}

// A recipe that acts outside of the run, and a run of somebody else's, are carried out only after a
// yes to what is listed.
func TestRunsAskForConsentOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outside := filepath.Join(w.home, "outside")
	w.write("recipe.yaml", `
name: theirs
description: for tests
states:
  DRAFTING: [push]
workers:
  push:
    effect: external
    key: push
    with: {OUTSIDE: `+outside+`}
    command: 'echo x >> "$OUTSIDE"; echo pushed'
    outputs: [{path: artifacts/pushed.txt, answer: true}]
`)
	const question = "Carry it out all the same? [y/N] "
	const acts = `outside the sandbox, with your environment: echo x >> "$OUTSIDE"`
	start := []string{"run", "start", "--recipe", "recipe.yaml", "--run-id"}
	if said, err := w.asks(question, "\r", append(start, "s1")...); err == nil || !strings.Contains(said, acts) {
		t.Errorf("%v\n%s", err, said)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it acted")
	}
	if said, err := w.asks(question, "yes\n", append(start, "s2")...); err != nil || !strings.Contains(said, "run s2 is DONE") {
		t.Errorf("%v\n%s", err, said)
	}
	if got, err := os.ReadFile(outside); string(got) != "x\n" || os.Remove(outside) != nil {
		t.Errorf("outside is %q %v", got, err)
	}
	theirs := w.start(append([]string{"--home", filepath.Join(w.home, "theirs")}, append(start, "r")...)...)
	out, err := theirs.CombinedOutput()
	_, digest, _ := strings.Cut(string(out), " --accept ")
	if err == nil || !strings.Contains(string(out), "UNTRUSTED") || len(digest) < 64 {
		t.Fatalf("%v\n%s", err, out)
	}
	theirs = w.start(append([]string{"--home", filepath.Join(w.home, "theirs")}, append(start, "r", "--accept", digest[:64])...)...)
	theirs.Env = append(theirs.Env, "RAMET_TEST_DIE_AFTER=3")
	if out, err := theirs.CombinedOutput(); err == nil {
		t.Fatalf("it did not die:\n%s", out)
	}
	if said, err := w.asks(question, "\r", "run", "resume", "r"); err == nil || !strings.Contains(said, acts) {
		t.Errorf("%v\n%s", err, said)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it acted")
	}
	if said, err := w.asks(question, "yes\n", "run", "resume", "r"); err != nil || !strings.Contains(said, "run r is DONE") {
		t.Errorf("%v\n%s", err, said)
	}
	if got, _ := os.ReadFile(outside); string(got) != "x\n" {
		t.Errorf("outside is %q", got)
	}
	for _, how := range []string{"start of a recipe, refused on a terminal", "resume of another's run, refused on a terminal"} {
		testkit.Attack(t, "runs", how)
	}
}

// In the terminal UI each turn tells of a change, F2 shows it, and no letter accepts it.
func TestAChangeIsAcceptedInTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(`{"repeat": true, "steps": [{"text": "well"}]}`)
	w.write("AGENTS.md", "Be kind.\n")
	w.ramet("trust", "--yes")
	w.write("AGENTS.md", "Be quick.\n")
	x := w.open(100, 30)
	x.see("Three things to try")
	x.say("hello")
	x.see("AGENTS.md has changed since you accepted it", "F2 shows it")
	x.press("\x1bOQ") // F2
	x.see("-Be kind.", "+Be quick.", "Ctrl+A accept exactly this")
	x.press("yes, of course", "\r")
	x.gone("Ctrl+A accept")
	if said := w.ramet("trust", "--list"); !strings.Contains(said, "changed  instructions") {
		t.Errorf("letters accepted it:\n%s", said)
	}
	x.press("\x1bOQ")
	x.see("Ctrl+A accept exactly this")
	x.press("\x01")
	x.see("Accepted. In effect from the next turn.")
	if said := w.ramet("trust"); !strings.Contains(said, "is trusted with what is listed") {
		t.Errorf("then\n%s", said)
	}
}
