package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// driven is a stage whose agents the program of these tests drives.
func driven(t testing.TB) *stage {
	t.Helper()
	s := newStage(t, binary(t))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, state := filepath.Join(s.dir, "..", "acpagent"), filepath.Join(s.dir, "..", "state")
	config := filepath.Join(filepath.Dir(s.db), "home", ".config", "ramet")
	for _, err := range []error{os.Symlink(self, program), os.MkdirAll(state, 0o700), os.MkdirAll(config, 0o700),
		os.WriteFile(filepath.Join(config, "config.toml"), []byte(`[driver.fake]
command = "`+program+`"
asks = true
[driver.fake.env]
ACPAGENT_CAN = "resume fork"
ACPAGENT_STATE = "`+state+`"
`), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// hangs waits until a call of the program runs what nobody can end but by the namespace.
func (r *running) hangs(t *testing.T, marker string) {
	t.Helper()
	r.need(t, "it hangs", func(l seen) bool { return l.Type == "call_started" })
	testkit.WaitUntil(t, "its command runs", func() bool {
		_, err := os.Stat(marker)
		return err == nil
	})
}

// A program that hears neither cancel nor SIGTERM, and whose command left its session, is gone
// when a stop, a kill, or the death of ramet is.
func TestNothingOfADriverSurvives(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stop", "kill", "death"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := driven(t)
			s.must(t, "fork", "--name", "kid", "--driver", "fake")
			marker := filepath.Join(s.dir, "hangs")
			r := s.exec(t, "kid", "hang touch "+marker+"; "+strings.ReplaceAll(stubborn, `\"`, `"`)+forever)
			r.hangs(t, marker)
			testkit.WaitUntil(t, "four processes run", func() bool { return len(s.survivors()) >= 4 }) // the command continues after its mark
			switch how {
			case "stop":
				r.cmd.Process.Signal(syscall.SIGINT)
				r.end(t, 130)
			case "kill":
				s.must(t, "kill", "kid", "--cascade")
				left := s.survivors()
				delete(left, r.cmd.Process.Pid)
				if len(left) > 0 && r.cmd.ProcessState == nil {
					t.Errorf("when kill returned these ran: %v", left)
				}
				if !r.ends() {
					t.Fatalf("it does not end:%s", r.told())
				}
			case "death":
				r.kill()
			}
			if err := s.quiet(patience); err != nil {
				t.Error(err)
			}
			if how == "kill" {
				return
			}
			// The next start closes what was open; nothing is repeated.
			told := s.must(t, "exec", "kid", "say on")
			if !strings.Contains(told, "on") {
				t.Errorf("it goes on with %q", told)
			}
			log := s.must(t, "log", "kid", "--own", "--json")
			for what, want := range map[string]int{`"text":"interrupted: outcome unknown"`: 1, `"kind":"interrupted"`: 1, `"name":"bash","is_error":true`: 1, `"name":"bash"`: 2, `"kind":"user"`: 2} {
				if got := strings.Count(log, what); got != want {
					t.Errorf("%q stands %d times in the history, not %d:\n%s", what, got, want, log)
				}
			}
			s.must(t, "verify")
		})
	}
}
