package registry

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// LastOrder returns the newest command that an agent was given and that is asked for: to itself, or to
// an ancestor before the agent was born. of is in whose history it stands; empty: nobody was.
func LastOrder(ctx context.Context, log history.Log, a id.Agent, is func(history.Meta) bool) (told history.Meta, of id.Agent, _ error) {
	line, err := log.Lineage(ctx, a)
	if err != nil {
		return told, "", err
	}
	end := history.NoLimit
	for _, one := range line {
		for e, err := range log.QueryRange(ctx, history.Range{Agent: one.Agent, End: end}, history.Selection{Orders: true}) {
			if err != nil {
				return told, "", err
			}
			m, err := e.Decode()
			if err != nil {
				return told, "", err
			}
			if is(m) {
				told, of = m, one.Agent
			}
		}
		if of != "" {
			return told, of, nil
		}
		end = history.UpTo(one.ForkMessage)
	}
	return told, "", nil
}
