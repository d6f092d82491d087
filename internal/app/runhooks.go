package app

import (
	"context"
	"encoding/json"

	"ramet/internal/run"
	"ramet/internal/runner"
	"ramet/internal/turn/hook"
)

// heardLog is the log of a run, whose states hooks are told.
type heardLog struct {
	runner.Log
	tell func(runner.Record)
}

func (l heardLog) Append(ctx context.Context, records ...runner.Record) error {
	err := l.Log.Append(ctx, records...)
	if err == nil {
		for _, r := range records {
			if r.Type == run.RunStateChanged {
				l.tell(r)
			}
		}
	}
	return err
}

// heard has hooks told of the states of the run. They run beside it, for its own agent.
func (c *carrier) heard(log runner.Log) runner.Log {
	own, err := c.ws.Store.Agent(context.Background(), c.own)
	if err != nil || c.kernel == nil {
		return log // whoever needs the agent says so
	}
	return heardLog{log, func(r runner.Record) {
		var to struct {
			New    string `json:"new_state"`
			Old    string `json:"old_state"`
			Reason string `json:"reason"`
		}
		if json.Unmarshal(r.Payload, &to) != nil {
			return
		}
		told := c.kernel.Happened(own, hook.Occasion{Event: hook.RunState, About: to.New,
			Fields: map[string]any{"run_id": c.Session.RunID, "state": to.New, "old_state": to.Old, "reason": to.Reason}})
		c.told = append(c.told, told)
	}}
}

// waitForHooks lets the hooks of the last states end, before the run's agent does.
func (c *carrier) waitForHooks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hook.Patience)
	defer cancel()
	for _, told := range c.told {
		select {
		case <-told:
		case <-ctx.Done():
			return // what takes longer is not in the history
		}
	}
}
