package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
)

// Search asks for what was said.
type Search struct {
	Words string   // letters and digits, whatever their case
	Of    id.Agent // only in the history of this agent, inherited entries included; empty: everywhere
	Limit int
}

const (
	searchTime  = 5 * time.Second // after that the rest is not looked at
	searchMost  = 20_000          // hits that are kept for sorting
	maxSearched = 200             // characters that are looked for
)

// Search finds the messages in whose text, calls or results some words stand, or in who let a call run or not. Contents that are
// too large to stand in a history are not looked at. Nothing to look for: USAGE.
func (w History) Search(ctx context.Context, s Search) (public.Search, error) {
	out := public.Search{Found: []public.Hit{}}
	want := strings.ToLower(strings.TrimSpace(s.Words))
	if want == "" || utf8.RuneCountInString(want) > maxSearched {
		return out, fault.New(fault.Usage, "search: 1 to %d characters are looked for", maxSearched)
	}
	end := time.Now().Add(searchTime)
	err := w.ws.Store.View(ctx, func(log history.Log) error {
		ranges, err := w.searched(ctx, log, s.Of)
		if err != nil {
			return err
		}
		for _, r := range ranges {
			for e, err := range log.QueryRange(ctx, r, history.Selection{}) {
				if err != nil {
					return err
				}
				if len(out.Found) >= searchMost || time.Now().After(end) {
					out.More = true
					return nil
				}
				if around, ok := containsWords(e, want); ok {
					out.Found = append(out.Found, public.Hit{Agent: e.Agent, ID: e.ID, Kind: string(e.Kind), At: public.Stamp(e.CreatedAt), Around: around})
				}
			}
		}
		return nil
	})
	slices.SortFunc(out.Found, func(a, b public.Hit) int { return cmp.Compare(b.ID, a.ID) })
	if s.Limit > 0 && len(out.Found) > s.Limit {
		out.Found, out.More = out.Found[:s.Limit], true
	}
	return out, err
}

// searched are the stretches in which is looked: those of one agent's history, or what everybody
// stored.
func (w History) searched(ctx context.Context, log history.Log, of id.Agent) ([]history.Range, error) {
	if of != "" {
		return history.BuildRanges(ctx, log, of)
	}
	all, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: true, Brief: true})
	if err != nil {
		return nil, err
	}
	out := make([]history.Range, len(all))
	for i, a := range all {
		out[i] = history.Range{Agent: a.ID, End: history.NoLimit}
	}
	return out, nil
}

// containsWords finds words in what an entry says.
func containsWords(e history.Entry, want string) (around string, ok bool) {
	if len(e.Content) == 0 {
		return "", false
	}
	parts, err := e.Parts()
	if err != nil {
		return "", false // verify says so; it is no reason not to find the others
	}
	for _, p := range parts {
		for _, said := range []string{p.Text, string(p.Args)} {
			if at := strings.Index(strings.ToLower(said), want); at >= 0 {
				return excerptAt(said, at, len(want)), true
			}
		}
	}
	if said := e.Permitted(); strings.Contains(strings.ToLower(said), want) { // as it is shown with the result
		return text.Line(said, 1000), true
	}
	return "", false
}

// excerptAt returns one line of a text around a place in it.
func excerptAt(said string, at, long int) string {
	const before, behind = 80, 160
	at = min(at, len(said)) // lower case may be longer or shorter
	from, till := max(0, at-before), min(len(said), at+long+behind)
	for from > 0 && !utf8.RuneStart(said[from]) {
		from--
	}
	for till < len(said) && !utf8.RuneStart(said[till]) {
		till++
	}
	return text.Line(said[from:till], 4*(before+behind))
}
