package hook

import (
	"encoding/json"
	"slices"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/core/history"
)

// Verdict combines the answers of all hooks of an occasion. The zero Verdict lets it happen.
type Verdict struct {
	Denied  bool
	Halts   bool   // the turn is to end
	Asks    bool   // a person is to be asked, whatever rules permit
	Why     string // of any of these
	From    string // where the hook stands that says so
	Context string // for the model; empty: nothing
	Args    json.RawMessage
	Tell    []string // for people
	Entries []history.Draft
}

// Judge puts the answers of hooks together: a no outweighs everything, and the first counts of
// what only one can say.
func Judge(o Occasion, p Place, ran []Ran) Verdict {
	var v Verdict
	var context []string
	for _, r := range ran {
		a := r.read(o)
		if a.denied && !v.Denied {
			v.Denied, v.Why, v.From = true, a.why, r.Hook.From
		}
		if a.halts && !v.Halts {
			v.Halts, v.Why, v.From = true, a.why, r.Hook.From
		}
		if a.asks && !v.Denied && !v.Halts && !v.Asks {
			v.Asks, v.Why, v.From = true, a.why, r.Hook.From
		}
		if a.context != "" {
			context = append(context, a.context)
		}
		if a.args != nil && v.Args == nil {
			if v.Args = a.args; r.Hook.Theirs {
				v.Args = toOurs(o.Tool, p.Dir, a.args)
			}
		}
		if a.tell != "" && !slices.Contains(v.Tell, a.tell) {
			v.Tell = append(v.Tell, a.tell)
		}
		v.Entries = append(v.Entries, draftFiring(o, r, a))
	}
	v.Context = strings.Join(context, "\n")
	return v
}

// draftFiring drafts what the history keeps of a firing.
func draftFiring(o Occasion, r Ran, a answer) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.HookCommand, Hook: &history.Hook{
		Event: string(o.Event), About: text.Line(o.Tool+o.About, 120), Program: text.Line(r.Hook.Command, 200), From: text.Line(r.Hook.From, 200),
		Outcome: a.outcome, Why: text.Line(a.why, 300), Exit: r.Exit, TookMS: r.Took.Milliseconds(), Confined: r.Hook.Project,
	}}}
}
