package session

import (
	"strings"

	"ramet/internal/agent"
	"ramet/internal/foreign"
	"ramet/internal/history"
	"ramet/internal/llm"
	"ramet/internal/llm/catalog"
)

// spent writes down what an answer used before it was imported. It counts for no budget: nobody here
// pays for it again. Of an answer whose other lines were imported before, that is written already.
func (w *bringer) spent(t *tip, said foreign.Said, whole bool) {
	u := *said.Used
	if u.Model == "" {
		u.Model = w.src.Model
	}
	if u.Cost == 0 {
		u.Cost = int64(priced(u))
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

// priced is what it cost by the prices that are known here; 0: nobody knows them.
func priced(u history.Used) llm.Money {
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
