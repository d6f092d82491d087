package app

import (
	"context"
	"encoding/json"
	"errors"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
	"ramet/internal/store/database"
)

// handover is the record that an orchestrator keeps for a host that takes its run over, in addition to the log and the files.
type handover struct {
	Config  string        `json:"config"` // of the run, the file's text
	Agent   string        `json:"agent"`
	Model   string        `json:"model,omitempty"`
	Limits  recipe.Limits `json:"limits"`
	NoCache bool          `json:"no_cache,omitempty"`
	Leave   bool          `json:"leave,omitempty"`
}

// bequeath leaves the run to the host that takes it up, if its log is where the others look.
func (c *carrier) bequeath(ctx context.Context) error {
	if c.hosts == nil || !database.SameSchema(string(c.Session.Kind), c.ws.Place.DB) {
		return nil
	}
	config, err := c.files.Read("run_config.yaml")
	if err != nil {
		return err
	}
	text, err := json.Marshal(handover{Config: string(config), Agent: string(c.own), Model: c.Model, Limits: c.Recipe.Limits, NoCache: c.NoCache, Leave: c.Leave})
	if err != nil {
		return err
	}
	c.copied = func(path string, data []byte) error {
		return c.hosts.orchestrator.PutFile(ctx, c.Session.RunID, path, data)
	}
	if err := c.copyOld(ctx); err != nil {
		return err
	}
	return c.hosts.orchestrator.PutHandover(ctx, c.Session.RunID, text)
}

// copyOld keeps copies of the files that the run was given before it had an orchestrator, as a
// fork has them from the run that it continues.
func (c *carrier) copyOld(ctx context.Context) error {
	copied, err := c.hosts.orchestrator.Copied(ctx, c.Session.RunID)
	if err != nil {
		return err
	}
	for path, sum := range rundir.VouchedFiles(c.Session.Now()) {
		if have, ok := c.files.Hash(path); !ok || have != sum || copied[path] == sum {
			continue
		}
		data, err := c.files.Read(path)
		if err != nil {
			return err
		}
		if err := c.copied(path, data); err != nil {
			return err
		}
	}
	return nil
}

// copying is a run's folder whose files are copied before they have their names.
type copying struct {
	runner.Folder
	put func(path string, data []byte) error
}

func (f copying) Stage(path string, data []byte) (run.Staged, error) {
	staged, err := f.Folder.Stage(path, data)
	if err != nil {
		return nil, err
	}
	if err := f.put(path, data); err != nil {
		staged.Discard()
		return nil, err
	}
	return staged, nil
}

// settle records in the database whether the run is over or can be resumed when this process ends.
func (c *carrier) settle(ctx context.Context, over bool, failure error) error {
	switch {
	case c.hosts == nil:
		return nil
	case over && c.Inherited:
		return errors.Join(c.hosts.orchestrator.ClearButFiles(ctx, c.Session.RunID), c.hosts.queue.Clear(ctx, c.Session.RunID))
	case over:
		return c.hosts.clear(ctx, c.Session.RunID)
	case fault.Is(failure, fault.StorageUnreachable), c.Inherited && fault.Is(failure, fault.Interrupted):
		c.hosts.orchestrator.Release(ctx, c.Session.RunID) // another host may reach it
	}
	return nil
}
