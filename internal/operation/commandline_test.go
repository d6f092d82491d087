package operation

import (
	"context"
	"slices"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run/rundir"
)

// What another face starts is the command line that a person would type, in which no value can be taken for a flag.
func TestRunsBeginAsCommandLines(t *testing.T) {
	var got []string
	runs := Local{}.OnRuns(&rundir.Store{}, func(_ context.Context, args ...string) (string, error) {
		got = args
		return `{"run_id": "x", "path": "p", "run_state": "running"}`, nil
	})
	carry := CarryOptions{Model: "m", Limits: Pairs{"calls": "2", "agents": "1"}, NoCache: true}
	made, err := ResumeRun.Call(t.Context(), runs, ResumeRunInput{ID: "x", Redo: []string{"a", "--b"}, FromFailed: true, Accept: "d", CarryOptions: carry})
	want := []string{"run", "resume", "--redo=a", "--redo=--b", "--from-failed=true", "--accept=d", "--no-cache=true", "--limit=agents=1", "--limit=calls=2", "--detach=true", "--model=m", "--json", "--", "x"}
	if err != nil || made.RunID != "x" || !slices.Equal(got, want) {
		t.Errorf("%q, want %q: %+v, %v", got, want, made, err)
	}
	if _, err := StartRun.Call(t.Context(), runs, StartRunInput{Set: Pairs{"k": "v=w"}}); err != nil || !slices.Equal(got, []string{"run", "start", "--set=k=v=w", "--detach=true", "--json", "--"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := StartRun.Call(t.Context(), Local{}.OnRuns(&rundir.Store{}, nil), StartRunInput{}); !fault.Is(err, fault.Usage) {
		t.Errorf("without processes in the background: %v", err)
	}
	garbled := Local{}.OnRuns(&rundir.Store{}, func(context.Context, ...string) (string, error) { return "{", nil })
	if _, err := StartRun.Call(t.Context(), garbled, StartRunInput{}); !fault.Is(err, fault.Failed) {
		t.Errorf("an answer that is not JSON: %v", err)
	}
}
