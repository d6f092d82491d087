package registry

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// EffortCommand is the command of an entry that says how hard the model of an agent
// is to think: from there on, and for the children born after it.
const EffortCommand = "effort"

// EffortEntry records that an agent was told an effort.
func EffortEntry(e llm.Effort) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: EffortCommand, Effort: string(e)}}
}

// Effort returns the effort that an agent was told, itself or before it was born, and by
// whose history. No process was told: both are empty.
func Effort(ctx context.Context, log history.Log, a id.Agent) (_ llm.Effort, of id.Agent, _ error) {
	told, of, err := LastOrder(ctx, log, a, func(m history.Meta) bool { return m.Command == EffortCommand })
	return llm.Effort(told.Effort), of, err
}

// EffortSince returns the effort that an agent was told, of which is known what it was when an entry was its
// newest: only what it was told since is read.
func EffortSince(ctx context.Context, log history.Log, a id.Agent, known llm.Effort, at id.Message) (llm.Effort, error) {
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a, Start: at, End: history.NoLimit}, history.Selection{Orders: true}) {
		if err != nil {
			return "", err
		}
		m, err := e.Decode()
		if err != nil {
			return "", err
		}
		if m.Command == EffortCommand {
			known = llm.Effort(m.Effort)
		}
	}
	return known, nil
}

// checkEffort refuses an effort that no model has.
func checkEffort(d history.Draft) error {
	if sets := d.Kind == history.Command && d.Meta.Command == EffortCommand; sets != (d.Meta.Effort != "") {
		return fault.New(fault.InvalidEvent, "an entry of kind %s and command %.40q cannot set an effort, and command %s must",
			d.Kind, d.Meta.Command, EffortCommand)
	}
	_, err := llm.ParseEffort(d.Meta.Effort)
	return err
}
