package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	template := twoRuns(t)
	for verb, args := range runVerbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			s := &runScene{newScene(t, template)}
			s.kill(2, args, func(printed, what string) { s.comesBack(verb, strings.TrimSpace(printed), what) })
		})
	}
}

type runScene struct{ *scene }

// twoRuns makes a project with a run, and an export of another one.
func twoRuns(t *testing.T) string {
	t.Helper()
	s := newScene(t, "")
	s.must("run", "init", "--run-id", "r")
	s.must("run", "append", "r", "--type", "RUN_STATE_CHANGED", "--payload", `{"old_state":"CREATED","new_state":"CLONED_INPUTS"}`)
	s.must("run", "init", "--run-id", "other")
	export := s.must("run", "export", "other")
	if err := errors.Join(os.WriteFile(filepath.Join(s.dir, "export.ndjson"), []byte(export), 0o600),
		os.RemoveAll(filepath.Join(s.dir, ".ramet", "runs", "other"))); err != nil {
		t.Fatal(err)
	}
	return s.dir
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
		if again := outcomeOf(s.command(runVerbs[verb]...)); again.code != 0 {
			s.t.Fatalf("%s, and once more: %s", what, again.stderr)
		}
	}
	s.must("run", "verify", name)
}
