package registry

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// Groupings list what usage can be added up by.
var Groupings = []string{"agent", "subtree", "model", "day"}

// CheckGrouping refuses what is none.
func CheckGrouping(by string) error {
	if slices.Contains(Groupings, by) {
		return nil
	}
	return fault.New(fault.Usage, "usage can not be added up by %.40q", by).
		WithHint("use %s", strings.Join(Groupings, ", "))
}

// Receipts reads the calls of models.
type Receipts interface {
	Agents(ctx context.Context, f agent.Filter) ([]agent.Agent, error)
	Calls(ctx context.Context, since time.Time) iter.Seq2[history.Entry, error]
}

// Spending describes what calls of models used and cost, added up. Its JSON is public
// (docs/json.md, usage).
type Spending struct {
	By    string     `json:"by"`
	Rows  []SpentRow `json:"rows"`
	Total SpentRow   `json:"total"`
}

// SpentRow is one row of a Spending.
type SpentRow struct {
	Key        string    `json:"key"`
	AgentUUID  *id.Agent `json:"agent_uuid"`
	Calls      int64     `json:"calls"`
	Failed     int64     `json:"failed"`
	Input      int64     `json:"input"`
	Output     int64     `json:"output"`
	CacheRead  int64     `json:"cache_read"`
	CacheWrite int64     `json:"cache_write"`
	Cost       llm.Money `json:"cost_nano_usd"`
	Unpriced   int64     `json:"unpriced"` // calls whose price is unknown
	TookMS     int64     `json:"took_ms"`
	// Of agents that other programs drive: what went through ramet's gateway, and what the programs
	// reported; absent where there was none. The numbers above count what went over the wire, and
	// what was reported of turns where nothing did.
	Wire     *SpentBy `json:"wire,omitempty"`
	Reported *SpentBy `json:"reported,omitempty"`
	// Before sessions were imported, as their files tell; absent where there was none. It is in none
	// of the numbers above.
	Imported *SpentBy `json:"imported,omitempty"`
}

func (r *SpentRow) account(m history.Meta) {
	by := Accounts{r.Wire, r.Reported, r.Imported}
	by.add(m)
	r.Wire, r.Reported, r.Imported = by.Wire, by.Reported, by.Imported
}

// SpentBy describes what was spent, by one account.
type SpentBy struct {
	Tokens int64     `json:"tokens"`
	Cost   llm.Money `json:"cost_nano_usd"`
}

func (s *SpentBy) plus(tokens, cost int64) *SpentBy {
	if s == nil {
		s = &SpentBy{}
	}
	return &SpentBy{s.Tokens + tokens, s.Cost + llm.Money(cost)}
}

func (r *SpentRow) add(m history.Meta) {
	if r.account(m); m.Summed() || m.Call == nil {
		return // its calls were counted, or were made elsewhere
	}
	c := *m.Call
	r.Calls++
	if !slices.Contains([]string{string(llm.Stop), string(llm.Length), string(llm.ToolCalls)}, c.Outcome) {
		r.Failed++
	}
	r.Input += c.Input
	r.Output += c.Output
	r.CacheRead += c.CacheRead
	r.CacheWrite += c.CacheWrite
	r.Cost += llm.Money(c.Cost)
	if !c.Priced {
		r.Unpriced++
	}
	r.TookMS += c.TookMS
}

// ParseSince reads a date or an age; the empty text is the beginning.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0), nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 1e5 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	return time.Time{}, fault.New(fault.Usage, "--since %.40q is neither a date nor an age", text).
		WithHint("write 2026-11-01, 36h or 7d")
}

// dayOf returns the day of a call.
func dayOf(e history.Entry, m history.Meta) string {
	at := e.CreatedAt
	if t, err := time.Parse(time.RFC3339, m.OriginalTime); err == nil && m.Brought() {
		at = t
	}
	return at.UTC().Format(time.DateOnly)
}

// AddUp reads the calls and adds them up, in the order in which the keys first came.
// Each call counts once, although forks share their histories.
func AddUp(ctx context.Context, from Receipts, by string, since time.Time) (Spending, error) {
	out := Spending{By: by, Rows: []SpentRow{}, Total: SpentRow{Key: "total"}}
	if err := CheckGrouping(by); err != nil {
		return out, err
	}
	known := map[id.Agent]agent.Agent{}
	if by == "agent" || by == "subtree" {
		everybody, err := from.Agents(ctx, agent.Filter{Dead: true, Brief: true})
		if err != nil {
			return out, err
		}
		for _, a := range everybody {
			known[a.ID] = a
		}
	}
	rows := map[string]int{}
	count := func(key string, who *id.Agent, m history.Meta) {
		index := key
		if who != nil {
			index = string(*who) // names may come again
		}
		i, ok := rows[index]
		if !ok {
			i = len(out.Rows)
			rows[index] = i
			out.Rows = append(out.Rows, SpentRow{Key: key, AgentUUID: who})
		}
		out.Rows[i].add(m)
	}
	for e, err := range from.Calls(ctx, since) {
		if err != nil {
			return out, err
		}
		m, err := e.Decode()
		if err != nil {
			return out, err
		}
		if m.Call == nil && !m.Brought() {
			continue // an entry that was appended by hand
		}
		out.Total.add(m)
		switch by {
		case "model":
			count(m.Spoke(), nil, m)
		case "day":
			count(dayOf(e, m), nil, m)
		case "agent":
			count(known[e.Agent].Label(), &e.Agent, m)
		case "subtree":
			for a := e.Agent; a != ""; a = known[a].Parent {
				count(known[a].Label(), &a, m)
			}
		}
	}
	return out, nil
}

// BudgetCommand is the command of an entry that sets a budget, ModelCommand that
// of one that sets the model: from there on, and for the children born after it.
const (
	BudgetCommand = "budget"
	ModelCommand  = "model"
)

// ModelEntry records that an agent was told to use a model.
func ModelEntry(provider, model string) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: ModelCommand, Provider: provider, Model: model}}
}

// Account brings an agent's spending, budget and model up to date with an entry
// that it wrote. Stores and the auditor share it.
func Account(a *agent.Agent, k history.Kind, m history.Meta) {
	switch {
	case k == history.Usage && m.Call != nil:
		a.Spent = a.Spent.Plus(agent.Spending{Tokens: m.Call.Tokens(), Cost: m.Call.Cost})
	case k == history.Command && m.Command == BudgetCommand && m.Budget != nil:
		a.Budget = agent.Budget{Tokens: agent.MaybeAtMost(m.Budget.Tokens), Cost: agent.MaybeAtMost(m.Budget.Cost)}
	case k == history.Fork && m.Name != nil, k == history.Command && m.Command == ModelCommand:
		a.Provider, a.Model = m.Provider, m.Model
	}
}

// most is the largest number that the canonical form of JSON keeps exactly.
const most = 1<<53 - 1

// checkAccount refuses entries that would falsify an account.
func checkAccount(d history.Draft) error {
	if c := d.Meta.Call; c != nil {
		if d.Kind != history.Usage {
			return fault.New(fault.InvalidEvent, "an entry of kind %s tells of no call of a model, usage does", d.Kind)
		}
		for _, n := range []int64{c.Input, c.Output, c.CacheRead, c.CacheWrite, c.Reasoning, c.Cost, c.Asked, int64(c.Attempts), c.FirstMS, c.TookMS} {
			if err := checkCount("a call of "+c.Model, n); err != nil {
				return err
			}
		}
	}
	if sets := d.Kind == history.Command && d.Meta.Command == ModelCommand; sets && (d.Meta.Provider == "" || d.Meta.Model == "") {
		return fault.New(fault.InvalidEvent, "command %s must name a provider and a model", ModelCommand)
	}
	if err := checkEffort(d); err != nil {
		return err
	}
	if err := checkLimit(d); err != nil {
		return err
	}
	b := d.Meta.Budget
	if sets := d.Kind == history.Command && d.Meta.Command == BudgetCommand; sets != (b != nil) {
		return fault.New(fault.InvalidEvent, "an entry of kind %s and command %.40q cannot set a budget, and command %s must",
			d.Kind, d.Meta.Command, BudgetCommand)
	}
	if b == nil {
		return nil
	}
	for _, n := range []*int64{b.Tokens, b.Cost} {
		if n != nil {
			if err := checkCount("a budget", *n); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkCount(of string, n int64) error {
	if n < 0 || n > most {
		return fault.New(fault.InvalidEvent, "%.80s cannot count %d", of, n).WithHint("use a whole number from 0 to %d", most)
	}
	return nil
}

// Accounts hold the spending of an agent that another program drives, by its source.
type Accounts struct {
	Wire     *SpentBy // it went through ramet's gateway; nil: nothing did
	Reported *SpentBy // the program said so; nil: it said nothing
	Imported *SpentBy // before it was imported, as its file tells; nil: that tells nothing
}

// AccountsOf reads what an agent's own entries tell of calls of models by other programs.
func AccountsOf(ctx context.Context, log history.Log, a id.Agent) (out Accounts, err error) {
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Told: true}) {
		if err != nil {
			return out, err
		}
		m, err := e.Decode()
		if err != nil {
			return out, err
		}
		if e.Kind == history.Usage && (m.Call != nil || m.Brought()) {
			out.add(m)
		}
	}
	return out, nil
}

func (s *Accounts) add(m history.Meta) {
	if m.Wired() {
		s.Wire = s.Wire.plus(m.Call.Tokens(), m.Call.Cost)
	}
	switch d := m.Driver; {
	case d == nil || d.Used == nil:
	case m.Brought():
		s.Imported = s.Imported.plus(d.Used.Tokens(), d.Used.Cost)
	default:
		s.Reported = s.Reported.plus(d.Used.Tokens(), d.Used.Cost)
	}
}
