package permit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// Log reads the decisions of persons about agents.
type Log interface {
	history.Orders
	Agent(ctx context.Context, a id.Agent) (agent.Agent, error)
}

// Grant is a permission that a person gave an agent and its subtree.
type Grant struct {
	Rule Rule
	To   id.Agent
	By   *history.Actor

	foreign bool // given by a person who was told what foreign content the agent took in
}

// Standing holds the decisions of persons about an agent so far.
type Standing struct {
	Mode   Mode // empty: no person chose one
	Of     id.Agent
	Grants []Grant

	living  []id.Agent // the agent and its ancestors that live
	allowed []Rule     // of the settings
	broken  error      // why these could not be read
	given   []Rule     // of the command line
}

// Look reads the standing of an agent: the mode is its own, else that of the nearest
// ancestor that has one; grants are its own and those of its ancestors, as far as these
// live.
func Look(ctx context.Context, log Log, a id.Agent) (Standing, error) {
	var out Standing
	for a != "" {
		row, err := log.Agent(ctx, a)
		if err != nil {
			return out, err
		}
		mode, grants, err := readOrders(ctx, log, a)
		if err != nil {
			return out, err
		}
		if out.Mode == "" && mode != "" {
			out.Mode, out.Of = mode, a
		}
		if row.Status == agent.Running {
			out.Grants = append(out.Grants, grants...)
			out.living = append(out.living, a)
		}
		if row.Parent == a {
			return out, fault.New(fault.HistoryDamaged, "agent %s is its own parent", a)
		}
		a = row.Parent
	}
	return out, nil
}

// readOrders reads what persons ordered in one history.
func readOrders(ctx context.Context, log Log, a id.Agent) (mode Mode, grants []Grant, err error) {
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Orders: true}) {
		if err != nil {
			return "", nil, err
		}
		m, err := e.Decode()
		if err != nil {
			return "", nil, err
		}
		switch {
		case m.Command == history.ModeCommand:
			if known, err := ParseMode(m.Mode); err == nil {
				mode = known
			} else {
				mode = ReadOnly // of a newer version: nothing is permitted that is not understood
			}
		case m.Command == history.PermitCommand && m.Permission != nil && m.Permission.Choice == string(ForAgent):
			if r, err := Parse(m.Permission.Rule); err == nil {
				grants = append(grants, Grant{Rule: r, To: a, By: m.Actor, foreign: m.Permission.Foreign})
			}
		}
	}
	return mode, grants, nil
}

// ModeEntry returns the record of a mode that a person chose.
func ModeEntry(m Mode) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.ModeCommand, Mode: string(m)}}
}

// held is a rule and where it stands.
type held struct {
	Rule
	from  string
	by    *history.Actor
	given bool // on the command line of this process

	foreign bool // see Grant
}

// Where rules stand.
const (
	fromSettings = "settings"
	fromProject  = "project"
)

// standing returns the decisions about an agent, with the grants of this process.
func (p *Policy) standing(ctx context.Context, a id.Agent) (Standing, error) {
	out := Standing{living: []id.Agent{a}}
	if p.Log != nil {
		var err error
		if out, err = Look(ctx, p.Log, a); err != nil {
			return out, err
		}
	}
	if p.Given != nil {
		out.given = p.Given(ctx, a)
	}
	if p.Settings != nil {
		var mode Mode
		if out.allowed, mode, out.broken = p.Settings(); out.broken != nil {
			out.allowed, mode = nil, Ask
		}
		out.Mode = cmp.Or(out.Mode, mode)
	}
	out.Mode = cmp.Or(out.Mode, p.Mode, Ask)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range out.living {
		out.Grants = append(out.Grants, p.granted[one]...)
	}
	return out, nil
}

// rules returns all that could permit a call of an agent.
func (p *Policy) rules(s Standing) ([]held, error) {
	var out []held
	for _, r := range s.allowed {
		out = append(out, held{Rule: r, from: fromSettings})
	}
	for _, r := range s.given {
		out = append(out, held{Rule: r, from: fromSettings, given: true})
	}
	if p.Book != nil {
		saved, err := p.Book.Rules()
		if err != nil {
			return nil, err
		}
		for _, r := range saved {
			out = append(out, held{Rule: r, from: fromProject})
		}
	}
	for _, g := range s.Grants {
		out = append(out, held{Rule: g.Rule, from: string(g.To), by: g.By, foreign: g.foreign})
	}
	return out, nil
}

// matchHeld is match for rules with their places; those that leave the box come first.
func matchHeld(rules []held, tool, subject string) ([]held, bool) {
	plain := make([]Rule, len(rules))
	for i, r := range rules {
		plain[i] = r.Rule
	}
	leaving := slices.DeleteFunc(slices.Clone(plain), func(r Rule) bool { return !r.Outside })
	by, ok := matchRules(leaving, tool, subject)
	if !ok {
		by, ok = matchRules(slices.DeleteFunc(plain, func(r Rule) bool { return r.Outside }), tool, subject)
	}
	out := make([]held, len(by))
	for i, r := range by {
		out[i] = rules[slices.IndexFunc(rules, func(h held) bool { return h.Rule == r })]
	}
	return out, ok
}

// Mode names how the calls of an agent are permitted.
type Mode string

// The modes, in the order in which one key goes through them.
const (
	Ask      Mode = "ask"
	Edits    Mode = "edits" // accept edits
	Box      Mode = "box"
	ReadOnly Mode = "read-only" // plan
)

// Modes lists them.
func Modes() []Mode { return []Mode{Ask, Edits, Box, ReadOnly} }

// Next returns the mode that the key goes to.
func (m Mode) Next() Mode {
	all := Modes()
	return all[(slices.Index(all, m)+1)%len(all)] // the first, if it is none
}

// Title returns the mode for people.
func (m Mode) Title() string {
	if m == Edits {
		return "accept edits"
	}
	return string(m)
}

// otherNames maps the names that people and older settings use for modes.
var otherNames = map[string]Mode{"sandbox": Box, "plan": ReadOnly, "readonly": ReadOnly, "accept edits": Edits, "accept-edits": Edits, "acceptedits": Edits}

// ModeNames returns all words that ParseMode reads: first our own.
func ModeNames() []string {
	var own []string
	for _, m := range Modes() {
		own = append(own, string(m))
	}
	return append(own, slices.Sorted(maps.Keys(otherNames))...)
}

// ParseMode reads a mode.
func ParseMode(s string) (Mode, error) {
	word := strings.ToLower(strings.TrimSpace(s))
	if m := Mode(word); slices.Contains(Modes(), m) {
		return m, nil
	}
	if m, ok := otherNames[word]; ok {
		return m, nil
	}
	names := ModeNames()
	return "", fault.New(fault.InvalidField, "%.40q is not a mode", s).
		WithHint("%s", text.NearestHint(word, names, "the modes are: "+strings.Join(names[:len(Modes())], ", ")))
}
