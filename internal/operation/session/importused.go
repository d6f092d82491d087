package session

import (
	"context"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
)

// spent writes down what an answer used before it was imported. It counts for no budget: nobody here
// pays for it again. Of an answer whose other lines were imported before, that is written already.
func (w *bringer) spent(t *tip, said foreign.Said, whole bool) {
	u := *said.Used
	if u.Model == "" {
		u.Model = w.src.Model
	}
	if w.twice(said.Time, u) {
		if last := &t.drafts[len(t.drafts)-1]; last.Kind == history.Usage {
			last.Meta.Driver = &history.Driver{Name: w.src.Program, Version: w.src.Version, Attested: history.FromFile}
		}
		return
	}
	if u.Cost == 0 {
		u.Cost = int64(costOf(u))
	}
	about := &history.Driver{Name: w.src.Program, Version: w.src.Version, Attested: history.FromFile, Used: &u}
	last := &t.drafts[len(t.drafts)-1]
	switch {
	case last.Kind == history.Usage: // a line of its own
		last.Meta.Driver = about
	case !whole:
		return
	default:
		t.drafts = append(t.drafts, history.Draft{Kind: history.Usage, Meta: history.Meta{Driver: about, OriginalTime: said.Time}})
		t.at = append(t.at, nil)
	}
	if w.out.Used == nil {
		w.out.Used = &agent.Spending{}
	}
	*w.out.Used = w.out.Used.Plus(agent.Spending{Tokens: u.Tokens(), Cost: u.Cost})
}

// answer is one that was counted: what another program wrote down of it, and when to the millisecond.
type answer struct {
	program, model, time              string
	input, output, cacheRead, written int64
}

func answerOf(program, at string, u history.Used) answer {
	return answer{program, u.Model, at, u.Input, u.Output, u.CacheRead, u.CacheWrite}
}

// twice reports whether an answer was counted already, in another import of it: other programs fork by copying the file.
// Whoever is imported first tells what it used.
func (w *bringer) twice(at string, u history.Used) bool {
	if at == "" {
		return false
	}
	a := answerOf(w.src.Program, at, u)
	of, there := w.answers[a]
	if !there {
		w.answers[a] = w.held.main
	}
	return there && of != w.held.main
}

// count reads which answers were counted, once for all imports.
func (m *Imports) count(ctx context.Context) error {
	if m.answers != nil {
		return nil
	}
	answers := map[answer]id.Agent{}
	for _, list := range m.known {
		for _, b := range list {
			for _, a := range m.family(b.agent, true) {
				for e, err := range m.ws.Store.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Told: true}) {
					if err != nil {
						return err
					}
					meta, err := e.Decode()
					if err != nil {
						return err
					}
					if d := meta.Driver; d != nil && d.Attested == history.FromFile && d.Used != nil && meta.OriginalTime != "" {
						answers[answerOf(d.Name, meta.OriginalTime, *d.Used)] = b.agent
					}
				}
			}
		}
	}
	m.answers = answers
	return nil
}

// family lists a session's own agent and those below it; with own, only its branches, not other sessions.
func (m *Imports) family(a id.Agent, own bool) []id.Agent {
	out := []id.Agent{a}
	for i := 0; i < len(out); i++ {
		for _, child := range m.below[out[i]] {
			if !own || !m.origin[child] {
				out = append(out, child)
			}
		}
	}
	return out
}

// costOf returns the cost by the prices that are known here; 0: unknown.
func costOf(u history.Used) llm.Money {
	vendor, name, _ := strings.Cut(u.Model, "/")
	v, err := catalog.Find(vendor)
	if err != nil {
		return 0
	}
	price, ok := v.Price(name)
	if !ok {
		return 0
	}
	return price.Cost(llm.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning})
}
