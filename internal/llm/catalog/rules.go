package catalog

import (
	"encoding/json"
	"path"

	"ramet/internal/late"
	"ramet/internal/llm"
)

// Rule is what holds for the models of a family and stands in no list of models:
// how hard they are to think where nobody says, and what they want or charge
// otherwise than others. Rules stand in table/rules.json, each with the page that
// says so and the day on which it did; of two, the later one wins.
type Rule struct {
	Vendor   string     `json:"vendor"`
	Families []string   `json:"families"` // patterns of names, see path.Match; a star ends at a slash
	Effort   llm.Effort `json:"effort,omitempty"`
	Quiet    bool       `json:"quiet,omitempty"`
	Steady   bool       `json:"steady,omitempty"`
	Long     llm.Long   `json:"long,omitzero"`
	Search   int64      `json:"search,omitempty"` // it can search the web: what that costs, in pico-dollars
	Source   string     `json:"source"`
	Date     string     `json:"date"`
}

// Rules are all of them, in order.
var Rules = late.Value[[]Rule]{Make: func() []Rule {
	var out []Rule
	text, err := files.ReadFile("table/rules.json")
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic("catalog: rules: " + err.Error())
	}
	return out
}}

// Fits says whether a rule is about a model.
func (r Rule) Fits(vendor, name string) bool {
	if r.Vendor != vendor {
		return false
	}
	for _, family := range r.Families {
		if ok, err := path.Match(family, name); ok && err == nil {
			return true
		}
	}
	return false
}

// EffortRule is the rule that says how hard a model of the vendor is to think where
// nobody says; ok is false where none does.
func (v Vendor) EffortRule(m llm.Model) (out Rule, ok bool) {
	for _, r := range Rules.Get() {
		if r.Effort != "" && r.Fits(v.owner(), m.Name) && m.Effort == r.Effort {
			out, ok = r, true
		}
	}
	return out, ok
}

// ruled is a model with what the rules say of it.
func ruled(vendor string, m llm.Model) llm.Model {
	for _, r := range Rules.Get() {
		if !r.Fits(vendor, m.Name) {
			continue
		}
		if r.Effort != "" && (m.Thinks || !m.Known) {
			m.Effort = r.Effort
		}
		m.Quiet, m.Steady = m.Quiet || r.Quiet, m.Steady || r.Steady
		m.Search = m.Search || r.Search > 0
		if r.Search > 0 && m.Price.Input > 0 {
			m.Price.Search = r.Search
		}
		if r.Long.Above > 0 && m.Price.Input > 0 {
			m.Price.Long = r.Long
		}
	}
	return m
}

// least is how much of its name a model must share with another to be taken for
// one of its family: more than the maker's name.
const least = 6

// guessed is a model that is in no table, with the limits of the one whose name is
// most like its own. What it costs and whether it thinks is not guessed.
func guessed(table Table, name string) llm.Model {
	out, best := llm.Model{Name: name}, least-1
	for _, m := range table.Models {
		n := 0
		for n < min(len(name), len(m.Name)) && name[n] == m.Name[n] {
			n++
		}
		if n > best {
			best, out.Context, out.Output = n, m.Context, m.Output
		}
	}
	return out
}
