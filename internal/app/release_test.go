package app_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// everySwitch has each switch of tests set.
var everySwitch = []string{
	"RAMET_TEST_SCRIPTS=1", "RAMET_TEST_LEASE=1ms", "RAMET_TEST_PULSE=1ms", "RAMET_TEST_CLOCK=/etc/hostname", "RAMET_TEST_STALL=1ms", "RAMET_TEST_RETRY=1ms",
	"RAMET_TEST_DIE_AFTER=1", "RAMET_TEST_PANIC=1", "RAMET_TEST_STEPS=" + os.DevNull,
}

// smoke are commands with and without a model, in the order in which they are run.
var smoke = [][]string{
	{"version"},
	{"append", "0", "hello"},
	{"fork", "--name", "ada"},
	{"exec", "ada", "say something", "--model", "script/model.jsonl"}, // refused, but by a test's ramet
	{"exec", "ada", "say something"},
	{"mark", "ada", "here"},
	{"send", "ada", "--from", "0", "a letter"},
	{"mail", "ada"},
	{"log", "ada"},
	{"ps"},
	{"rewind", "ada", "here"},
	{"kill", "ada"},
	{"ps", "--all"},
	{"verify"},
}

// The released binary has no switches: it does the same whether or not they are set, and
// does not know their names. A test's ramet does both, so the test can fail.
func TestTheReleasedBinaryHasNoSwitches(t *testing.T) {
	t.Parallel()
	release := testkit.Must(released())(t)
	probed := testkit.Must(built())(t)
	for exe, known := range map[string]bool{release: false, probed: true} {
		image := testkit.Must(os.ReadFile(exe))(t)
		for _, word := range []string{"RAMET_TEST_", "the screen breaks", "ramet/internal/testkit/probe"} {
			if bytes.Contains(image, []byte(word)) != known {
				t.Errorf("%s has %q: %t", exe, word, !known)
			}
		}
	}
	plain := smoked(t, release, nil)
	if switched := smoked(t, release, everySwitch); switched != plain {
		t.Errorf("the switches change the released binary:\n%s\nwithout them:\n%s", switched, plain)
	}
	const answer = "said by a script"
	if strings.Contains(plain, answer) || !strings.Contains(smoked(t, probed, everySwitch), answer) {
		t.Errorf("a script is a model for the released binary, or not for a test's:\n%s", plain)
	}
	for _, part := range smoke {
		want := "exit status 0"
		if strings.Contains(strings.Join(part, " "), "script/") {
			want = "exit status 3"
		}
		_, rest, _ := strings.Cut(plain, "$ ramet "+strings.Join(part, " ")+"\n")
		if output, _, _ := strings.Cut(rest, "$ ramet "); !strings.HasSuffix(output, want+"\n") {
			t.Errorf("ramet %s: %s", strings.Join(part, " "), output)
		}
	}
}

// smoked is what the series prints, with its exit codes, in a new project.
func smoked(t *testing.T, exe string, switches []string) string {
	t.Helper()
	dir := t.TempDir()
	script := `{"repeat": true, "steps": [{"text": "said by a script"}]}` + "\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "model.jsonl"), []byte(script), 0o600))
	var all strings.Builder
	for _, args := range smoke {
		cmd := exec.CommandContext(t.Context(), exe, args...)
		cmd.Dir = dir
		cmd.Env = slices.Concat([]string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH")}, switches)
		out, _ := cmd.CombinedOutput() // the exit code is part of what is compared
		all.WriteString("$ ramet " + strings.Join(args, " ") + "\n" + steady(strings.ReplaceAll(string(out), dir, "DIR")))
		all.WriteString(cmd.ProcessState.String() + "\n")
	}
	return all.String()
}
