package dbosqueue

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"ramet/internal/fault"
	"ramet/internal/runner"
)

const (
	application = "ramet"
	// version is that of what is stored. DBOS hands out only what has its own version;
	// left to itself it would take the hash of the binary, and every build would lose
	// sight of the jobs of the one before.
	version  = "ramet-1"
	workflow = "ramet.job"
	// patience is how long an end may take.
	patience = 10 * time.Second
)

// start makes an engine. It works until it is stopped, whatever becomes of ctx: an
// engine whose context ends marks as cancelled what it is doing.
func start(ctx context.Context, config dbos.Config) (dbos.Context, error) {
	if err := checkEnvironment(); err != nil {
		return nil, err
	}
	config.AppName, config.ApplicationVersion = application, version
	config.Logger = slog.New(slog.DiscardHandler)
	config.SystemDBStartupTimeout = 30 * time.Second
	return dbos.NewContext(context.WithoutCancel(ctx), config)
}

// checkEnvironment refuses variables that would give the engine another name or
// version than ours, or have it connect to DBOS's own service.
func checkEnvironment() error {
	for _, name := range []string{"DBOS__APPVERSION", "DBOS__VMID", "DBOS__CLOUD"} {
		if os.Getenv(name) != "" {
			return fault.New(fault.InvalidConfig, "the variable %s is set", name).WithHint("unset it: ramet names its hosts itself")
		}
	}
	return nil
}

// as is an engine whose calls end with ctx.
func as(engine dbos.Context, ctx context.Context) dbos.Context { return dbos.From(engine, ctx) }

// stored is what a workflow keeps of a job; its id is the workflow's.
type stored struct {
	RunID string `json:"run_id"`
	Queue string `json:"queue"`
}

// jobOf reads a job out of a row that was listed with its input.
func jobOf(row dbos.WorkflowStatus) (runner.Job, error) {
	text, _ := row.Input.(string)
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return runner.Job{}, fault.New(fault.StorageCorrupt, "job %s: its row in the queue is not readable: %w", row.ID, err).
			WithHint("cancel it, or delete the queue")
	}
	return runner.Job{ID: row.ID, RunID: s.RunID, Queue: s.Queue}, nil
}

// rowOf finds the row of a job.
func rowOf(ctx context.Context, engine dbos.Context, id string) (row dbos.WorkflowStatus, found bool, err error) {
	rows, err := dbos.ListWorkflows(as(engine, ctx), dbos.WithFilterWorkflowIDs(id), dbos.WithFilterLoadInput(true), dbos.WithFilterLoadOutput(false))
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	return rows[0], true, nil
}

// outcome is what is kept of an error: its code. Texts may hold what a repository holds.
func outcome(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(string(fault.CodeOf(err)))
}

func checkJob(j runner.Job) error {
	if j.ID == "" || j.Queue == "" || len(j.Queue) > 100 {
		return fault.New(fault.Usage, "a job needs an id and the name of a queue, at most 100 bytes: %.100q in %.100q", j.ID, j.Queue)
	}
	return nil
}

func checkServe(queues []string, parallel int) error {
	if len(queues) == 0 || parallel < 1 {
		return fault.New(fault.Usage, "a host needs the name of a queue and room for at least one job")
	}
	return nil
}
