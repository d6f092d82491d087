package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/ledger"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
)

// A command is in the registry and in the ledger while it runs, below the run's agent; who kills it
// there ends it, and all that it began.
func TestACommandIsAnAgent(t *testing.T) {
	s := newStageCrew(t, ``)
	long := fmt.Sprintf("9%d4321", os.Getpid()) // seconds; nobody else's
	events, enough := s.kernel.Events.Subscribe(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.crew.Do(t.Context(), s.command("setsid sleep "+long+" & sleep "+long, printed), s.orchestrator)
		done <- err
	}()
	for e := range events {
		if e.Type != loop.Forked {
			continue
		}
		enough()
		a, err := s.store.Agent(t.Context(), e.Children[0])
		if err != nil || a.Parent != s.run.ID || a.Status != agent.Running || a.Name == "" {
			t.Errorf("%+v %v", a, err)
		}
		book := testkit.Must(s.book.Read(t.Context()))(t)
		if list := book.Entries(); len(list) != 1 || list[0].ID != string(a.ID) || list[0].Status != ledger.Spawned {
			t.Errorf("%+v", list)
		}
		if _, err := s.kernel.Kill(t.Context(), registry.Kill{Agent: a.ID, Cascade: true}); err != nil {
			t.Error(err)
		}
	}
	s.fails(<-done, fault.Killed)
	s.clean()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, _ := os.ReadFile(path); strings.Contains(string(line), long) {
			t.Errorf("%s: %q", path, line)
		}
	}
	testkit.Must(s.do(s.command("echo well", printed)))(t)
	s.clean()
	book := testkit.Must(s.book.Read(t.Context()))(t)
	if list := book.Entries(); len(list) != 2 || list[0].Status != ledger.Failed || list[1].Status != ledger.Completed || list[1].Type != "draft" {
		t.Errorf("%+v", list)
	}
}
