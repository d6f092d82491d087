package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/base/seal"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
)

// writer is an executor: it is given an attempt with all that it needs, and gives back
// files. Claiming and delivering are done by runner.Serve.
type writer struct{}

func (writer) Do(_ context.Context, a runner.Attempt, _ runner.Orchestrator) (runner.Result, error) {
	fmt.Println(a.ID, "does:", a.Task.Prompt)
	return runner.Result{Files: []runner.Blob{{Path: a.Task.Outputs[0].Path, Data: []byte("hello\n")}}}, nil
}

// A run is the orchestrator of its workers: it alone writes the log. What waits goes
// through a queue, whose hosts claim attempts of it and deliver what came out.
func ExampleOrchestrator() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	small := must(recipe.Parse([]byte(`
name: small
description: one worker
states: {INGESTED: [greet]}
workers:
  greet: {prompt: say hello, outputs: [{path: artifacts/hello.txt, answer: true}]}
`)))
	key := must(seal.LoadKey(filepath.Join(dir, "key")))
	store := &rundir.Store{Root: filepath.Join(dir, "runs"), Logs: logs{}, Key: func() (*seal.Key, error) { return key, nil }, Now: time.Now}
	x := must(store.Begin(ctx, "r1", rundir.NDJSON, []byte("{}\n"), map[string]any{"run_id": "r1", "config_sha256": strings.Repeat("0", 64)}))
	defer x.Close()
	files := must(store.OpenFiles("r1"))
	defer files.Close()
	queue := runner.NewMemoryQueue()
	defer queue.Close()

	r := must(runner.New(ctx, runner.Options{RunID: "r1", Recipe: small, Params: must(small.Bind(nil)), Log: &log{Session: x}, Folder: folder{files},
		Near: queue, Site: runner.Site{Dir: store.Dir("r1")}}))
	var orchestrator runner.Orchestrator = r
	var executor runner.Executor = writer{}
	plan := must(run.PlanResume(x.Now(), store.Disk("r1"), run.Wishes{}))
	err := r.Execute(ctx, plan, func(ctx context.Context) error {
		return queue.Serve(ctx, []string{runner.Work}, 1, func(ctx context.Context, e runner.Enqueued) error {
			return runner.ServeAttempt(ctx, e, queue.Host(), orchestrator, executor)
		})
	})
	fmt.Println(err, x.Now().RunState, string(must(files.Read("artifacts/hello.txt"))))
	// Output:
	// r1:greet:1:all does: say hello
	// <nil> DONE hello
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
