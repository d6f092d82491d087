package app

import (
	"os"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/run/rundir"
)

// The agent of a run that begins right after another lookup is known too: its calls would be recorded twice otherwise.
func TestTheAgentOfARunIsKnownAtOnce(t *testing.T) {
	own := runAgents{store: &rundir.Store{Root: t.TempDir()}}
	plain, run := id.NewAgent(), id.NewAgent()
	if own.has(plain) || own.has(run) {
		t.Error("there is no run yet")
	}
	if err := os.Mkdir(own.store.Dir("here"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := own.store.PutAgent("here", string(run)); err != nil {
		t.Fatal(err)
	}
	if own.has(plain) || !own.has(run) {
		t.Errorf("%v is a run's, %v is not", plain, run)
	}
}
