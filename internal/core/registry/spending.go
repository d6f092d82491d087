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
