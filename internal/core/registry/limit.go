package registry

import (
	"context"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// ToolsCommand is the command of an entry that limits the tools of an agent, and of all that
// are born below it. No clear, no rewind and no compaction takes it back: an agent that is limited
// cannot make anybody who is not.
const ToolsCommand = "tools"

// LimitEntry records that an agent has only these of the tools that it would have.
func LimitEntry(l history.Limit) history.Draft {
	if l.Tools == nil {
		l.Tools = []string{}
	}
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: ToolsCommand, Limit: &l}}
}

// Limit is one of an agent's, and in whose history it stands.
type Limit struct {
	history.Limit
	Of id.Agent
}

// Limits returns all that hold for an agent: its own, and those of its ancestors when it was born,
// the oldest first. It has what each of them leaves.
func Limits(ctx context.Context, log history.Log, a id.Agent) ([]Limit, error) {
	line, err := log.Lineage(ctx, a)
	if err != nil {
		return nil, err
	}
	var out []Limit
	end := history.NoLimit
	for _, one := range line {
		var of []Limit
		for e, err := range log.QueryRange(ctx, history.Range{Agent: one.Agent, End: end}, history.Selection{Orders: true}) {
			if err != nil {
				return nil, err
			}
			m, err := e.Decode()
			if err != nil {
				return nil, err
			}
			if m.Command == ToolsCommand && m.Limit != nil {
				of = append(of, Limit{*m.Limit, one.Agent})
			}
		}
		out = slices.Concat(of, out)
		end = history.UpTo(one.ForkMessage)
	}
	return out, nil
}

// checkLimit refuses a limit in another entry than that of its command, and one without.
func checkLimit(d history.Draft) error {
	if sets := d.Kind == history.Command && d.Meta.Command == ToolsCommand; sets != (d.Meta.Limit != nil) {
		return fault.New(fault.InvalidEvent, "an entry of kind %s and command %.40q cannot limit tools, and command %s must",
			d.Kind, d.Meta.Command, ToolsCommand)
	}
	return nil
}
