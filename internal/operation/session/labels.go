package session

import (
	"context"
	"slices"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// Labels are those of the marks to which an agent can be rewound, the newest first.
func (w Agents) Labels(ctx context.Context, a id.Agent) (out []string, err error) {
	err = w.ws.Store.View(ctx, func(log history.Log) error {
		ranges, err := history.BuildRanges(ctx, log, a)
		if err != nil {
			return err
		}
		for _, r := range ranges {
			for e, err := range log.QueryRange(ctx, r, history.Selection{Shaping: true}) {
				if err != nil {
					return err
				}
				if e.Kind != history.Mark {
					continue
				}
				if about, err := e.Decode(); err == nil && about.Label != "" {
					out = append(out, about.Label)
				}
			}
		}
		return nil
	})
	slices.Reverse(out)
	return uniqueLabels(out), err
}

func uniqueLabels(all []string) (out []string) {
	for _, s := range all {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
