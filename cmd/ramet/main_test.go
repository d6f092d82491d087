package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// beRamet makes the test binary behave as ramet.
const beRamet = "RAMET_TEST_BE_RAMET"

func TestMain(m *testing.M) {
	if os.Getenv(beRamet) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func ramet(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe := testkit.Must(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{beRamet + "=1", "HOME=" + filepath.Join(cmd.Dir, "home"), "PATH=" + os.Getenv("PATH")}
	return cmd
}

func TestASignalEndsTheProcessWith130(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			cmd := ramet(t, "log", "0", "--own", "--follow")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out := testkit.Must(cmd.StdoutPipe())(t)
			testkit.OK(t, cmd.Start())
			// It follows once it has printed what is there.
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || !strings.Contains(line, "fork") {
				t.Fatalf("printed %q, %v", line, err)
			}
			testkit.OK(t, cmd.Process.Signal(signal))
			cmd.Wait() // the exit code is looked at below
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code is %d, not 130", code)
			}
			if got, want := stderr.String(), "error[INTERRUPTED]: stopped by a signal\n"; got != want {
				t.Errorf("standard error is %q, not %q", got, want)
			}
		})
	}
}

func TestTheExitCodeIsThatOfTheCommand(t *testing.T) {
	for code, args := range map[int][]string{
		0: {"version"},
		2: {"frobnicate"},
		3: {"show", "nobody"},
		4: {"kill", "0"},
	} {
		cmd := ramet(t, args...)
		cmd.Run() // the exit code is looked at below
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("ramet %s ended with %d, not %d", strings.Join(args, " "), got, code)
		}
	}
}
