package app_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit/probe"
)

// A run is killed as the agents' workspace is: at every step that changes a file.
// Afterwards an acknowledged event is in the log, every command works, the log and
// its checkpoints verify, and the next event can be appended.

var runVerbs = map[string][]string{
	"init":       {"run", "init", "--run-id", "new"},
	"transition": {"run", "append", "r", "--type", "RUN_STATE_CHANGED", "--payload", `{"old_state":"CLONED_INPUTS","new_state":"INGESTED"}`},
	"event":      {"run", "append", "r", "--type", "GATE_RUN_STARTED", "--payload", `{"gate":"links"}`},
	"replay":     {"run", "replay", "r"},
	"fork":       {"run", "fork", "r", "--at", "2", "--run-id", "new"},
	"import":     {"run", "import", "export.ndjson"},
}

func TestAKilledRunGoesOn(t *testing.T) {
	template := newRunScene(t, binary(t))
	for verb, args := range runVerbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			points := probe.RecordSteps(t, 1, func(variable string) { template.copy(t).run(variable, args) })
			for _, p := range selected(points, 2) {
				var s *runScene
				var out outcome
				probe.KillAtStep(t, p, func(variable string) bool {
					s = template.copy(t)
					out = s.run(variable, args)
					return out.killed
				})
				s.comesBack(verb, strings.TrimSpace(out.stdout), "killed at "+p.String())
				os.RemoveAll(s.dir)
			}
		})
	}
}

type runScene struct {
	t        *testing.T
	exe, dir string
}

func newRunScene(t *testing.T, exe string) *runScene {
	s := &runScene{t, exe, filepath.Join(t.TempDir(), "project")}
	if err := os.MkdirAll(filepath.Join(s.dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.must("run", "init", "--run-id", "r")
	s.must("run", "append", "r", "--type", "RUN_STATE_CHANGED", "--payload", `{"old_state":"CREATED","new_state":"CLONED_INPUTS"}`)
	s.must("run", "init", "--run-id", "other")
	export := s.must("run", "export", "other")
	if err := errors.Join(os.WriteFile(filepath.Join(s.dir, "export.ndjson"), []byte(export), 0o600),
		os.RemoveAll(filepath.Join(s.dir, ".ramet", "runs", "other"))); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *runScene) copy(t *testing.T) *runScene {
	again := &runScene{t, s.exe, filepath.Join(t.TempDir(), "project")}
	if err := os.CopyFS(again.dir, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	// CopyFS knows no modes but 0666 and 0777; the key is for its owner alone.
	if err := os.Chmod(filepath.Join(again.dir, keyFile), 0o600); err != nil {
		t.Fatal(err)
	}
	return again
}

const keyFile = ".local/share/ramet/keys/log.ed25519"

func (s *runScene) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	return cmd
}

func (s *runScene) must(args ...string) string {
	s.t.Helper()
	out, err := s.command(s.exe, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("ramet %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// run runs a command with a variable in its environment.
func (s *runScene) run(variable string, args []string) outcome {
	s.t.Helper()
	cmd := s.command(s.exe, args...)
	cmd.Env = append(cmd.Env, variable)
	out := outcomeOf(s.t, cmd)
	if !out.killed && out.code != 0 {
		s.t.Fatalf("%v: exit code %d: %s", args, out.code, out.stderr)
	}
	return out
}

func (s *runScene) comesBack(verb, acknowledged, what string) {
	s.t.Helper()
	if verb == "init" || verb == "fork" || verb == "import" {
		s.must("run", "list")
		s.onceOrNotAtAll(verb, acknowledged, what)
		if verb != "fork" {
			return // they read and write nothing of the other run
		}
	} else if acknowledged != "" && verb != "replay" {
		if log := s.must("run", "events", "r", "--json"); !strings.Contains(log, acknowledged) {
			s.t.Fatalf("%s: event %s was acknowledged and is lost", what, acknowledged)
		}
	}
	s.must("run", "append", "r", "--type", "ISSUE_OPENED", "--payload",
		`{"issue":{"issue_id":"i","gate":"g","severity":"warn","message":"m","status":"OPEN"}}`)
	s.must("run", "replay", "r", "--check")
	s.must("run", "verify", "r")
}

// onceOrNotAtAll: a run that was being made is whole, or its command can simply be
// given again.
func (s *runScene) onceOrNotAtAll(verb, acknowledged, what string) {
	s.t.Helper()
	name := "new"
	if verb == "import" {
		name = "other"
	}
	if _, err := os.Stat(filepath.Join(s.dir, ".ramet", "runs", name)); err != nil {
		if acknowledged != "" {
			s.t.Fatalf("%s: run %s was acknowledged and is lost", what, name)
		}
		s.must(runVerbs[verb]...)
	}
	s.must("run", "verify", name)
}
