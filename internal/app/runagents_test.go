package app

import (
	"os"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/run/rundir"
	"ramet/internal/testkit"
)

// The agent of a run that begins right after another lookup is known too: its calls would be recorded twice otherwise.
func TestTheAgentOfARunIsKnownAtOnce(t *testing.T) {
	own := runAgents{store: &rundir.Store{Root: t.TempDir()}}
	plain, run := id.NewAgent(), id.NewAgent()
	if own.has(plain) || own.has(run) {
		t.Error("there is no run yet")
	}
	testkit.OK(t, os.Mkdir(own.store.Dir("here"), 0o700))
	testkit.OK(t, own.store.PutAgent("here", string(run)))
	if own.has(plain) || !own.has(run) {
		t.Errorf("%v is a run's, %v is not", plain, run)
	}
}
