//go:build unix

package main

import (
	"bufio"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// The test binary is withpg itself when this variable is set.
const selfEnv = "RAMET_WITHPG_SELF"

func TestMain(m *testing.M) {
	if os.Getenv(selfEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// withpg prepares the command with a server of its own, or the one given.
func withpg(t *testing.T, given string, args ...string) *exec.Cmd {
	t.Helper()
	self := testkit.Must(os.Executable())(t)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), selfEnv+"=1", pgtest.Env+"="+given)
	cmd.Stderr = t.Output()
	return cmd
}

// gone checks that the folder of the server in this URL does not exist.
func gone(t *testing.T, server string) {
	t.Helper()
	u, err := url.Parse(strings.TrimSpace(server))
	if err != nil || u.Query().Get("host") == "" {
		t.Fatalf("the command got the URL %q: %v", server, err)
	}
	if _, err := os.Stat(u.Query().Get("host")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the server's folder is left: %v", err)
	}
}

func TestTheCommandFindsAServerAndItsExitCodeCounts(t *testing.T) {
	cmd := withpg(t, "", "-volatile", "--", "sh", "-c", `echo "$RAMET_TEST_POSTGRES"; test -S "$(echo "$RAMET_TEST_POSTGRES" |
		sed 's/.*host=\([^&]*\).*/\1/; s,%2F,/,g')/.s.PGSQL.5432" && exit 42`)
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 42 {
		t.Errorf("exit code %d, %v", code, err)
	}
	gone(t, string(out))
}

func TestAGivenServerIsPassedOn(t *testing.T) {
	out, err := withpg(t, "postgres://someone@example.org/db", "sh", "-c", `echo "$RAMET_TEST_POSTGRES"`).Output()
	if err != nil || string(out) != "postgres://someone@example.org/db\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestSignalsReachTheCommandAndTheServerStops(t *testing.T) {
	// The shell waits for a child that never ends by itself: the whole group
	// must hear the signal.
	cmd := withpg(t, "", "--", "sh", "-c", `echo "$RAMET_TEST_POSTGRES"; tail -f /dev/null`)
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	defer cmd.Process.Kill()
	server := testkit.Must(bufio.NewReader(out).ReadString('\n'))(t)
	testkit.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", code)
	}
	gone(t, server)
}

func TestWhatCannotRunIsSaid(t *testing.T) {
	for want, args := range map[int][]string{2: {"--"}, 127: {"--", "no-such-command"}} {
		cmd := withpg(t, "postgres://unused@example.org/db", args...)
		if out, _ := cmd.Output(); cmd.ProcessState.ExitCode() != want || len(out) != 0 {
			t.Errorf("%v: %s, printed %q", args, cmd.ProcessState, out)
		}
	}
}
