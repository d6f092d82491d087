package session

import (
	"context"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/operation/public"
)

// maxDrawn limits the points, and the letters, of a picture.
const maxDrawn = 5000

// Lineage is everybody who ever was, in time, with what shaped their histories and the letters
// between them.
func (w Agents) Lineage(ctx context.Context) (public.Lineage, error) {
	out := public.Lineage{Agents: []public.LineageAgent{}, Points: []public.LineagePoint{}, Letters: []public.LineageLetter{}}
	all, err := w.Everybody(ctx)
	if err != nil {
		return out, err
	}
	drawn, err := w.ws.Store.Ties(ctx, maxDrawn)
	if err != nil {
		return out, err
	}
	var living []agent.Agent
	for _, a := range all.All {
		if a.Status == agent.Running {
			living = append(living, a)
		}
	}
	said, err := w.ws.words.of(ctx, w.ws.Store, living)
	if err != nil {
		return out, err
	}
	runs := map[id.Agent]bool{}
	for _, n := range agent.Tree(all.All, func(*agent.Agent) bool { return true }) {
		runs[n.ID] = strings.HasPrefix(n.Name, RunName) || runs[n.Parent]
		out.Agents = append(out.Agents, public.FormatLineageAgent(*n.Agent, all.States[n.ID], public.Stamp(said[n.ID].At), runs[n.ID]))
	}
	for _, e := range drawn.Shaping {
		if p, ok := public.FormatPoint(e, drawn); ok {
			out.Points = append(out.Points, p)
		}
	}
	for _, l := range drawn.Letters {
		out.Letters = append(out.Letters, public.FormatLineageLetter(l))
	}
	out.More = drawn.More
	return out, nil
}
