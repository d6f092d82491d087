package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/printer"
)

// groupings are what usage can be added up by.
var groupings = []string{"agent", "subtree", "model", "day"}

func (s *session) spendingCommand() *cobra.Command {
	var by, since string
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show what calls of models used and cost",
		Long: `Add up the calls of models that agents made: how many, tokens read and written,
tokens read from and put into caches, cost and time. Each call counts once, although
forks share their histories.

--by agent (default), subtree (each agent with everything below it), model, or day
(UTC). --since takes a date (2026-11-01) or an age (36h, 7d).`,
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains(groupings, by) {
				return fault.New(fault.Usage, "usage can not be added up by %.40q", by).
					WithHint("use %s", strings.Join(groupings, ", "))
			}
			from, err := s.moment(since)
			if err != nil {
				return err
			}
			out, err := s.addUp(c.Context(), by, from)
			if err != nil {
				return err
			}
			return s.print(out)
		},
	}
	c.Flags().StringVar(&by, "by", "agent", "agent, subtree, model or day")
	c.Flags().StringVar(&since, "since", "", "only calls since a date, or of the last hours or days")
	c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(groupings, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// moment reads a date or an age; the empty text is the beginning.
func (s *session) moment(text string) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0), nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 1e5 {
			return s.Now().AddDate(0, 0, -n), nil
		}
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return s.Now().Add(-age), nil
	}
	return time.Time{}, fault.New(fault.Usage, "--since %.40q is neither a date nor an age", text).
		WithHint("write 2026-11-01, 36h or 7d")
}

// spending is the datum of usage.
type spending struct {
	By    string        `json:"by"`
	Rows  []spendingRow `json:"rows"`
	Total spendingRow   `json:"total"`
}

type spendingRow struct {
	Key        string    `json:"key"`
	AgentUUID  *id.Agent `json:"agent_uuid"`
	Calls      int64     `json:"calls"`
	Failed     int64     `json:"failed"`
	Input      int64     `json:"input"`
	Output     int64     `json:"output"`
	CacheRead  int64     `json:"cache_read"`
	CacheWrite int64     `json:"cache_write"`
	Cost       llm.Money `json:"cost_nano_usd"`
	Unpriced   int64     `json:"unpriced"` // calls whose price nobody knows
	TookMS     int64     `json:"took_ms"`
}

func (r *spendingRow) add(c history.Call) {
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

// addUp reads the calls and adds them up, in the order in which the keys first came.
func (s *session) addUp(ctx context.Context, by string, since time.Time) (spending, error) {
	out := spending{By: by, Rows: []spendingRow{}, Total: spendingRow{Key: "total"}}
	ws, err := s.open(ctx)
	if err != nil {
		return out, err
	}
	known := map[id.Agent]agent.Agent{}
	if by == "agent" || by == "subtree" {
		everybody, err := ws.Agents(ctx, agent.Filter{Dead: true, Brief: true})
		if err != nil {
			return out, err
		}
		for _, a := range everybody {
			known[a.ID] = a
		}
	}
	rows := map[string]int{}
	count := func(key string, who *id.Agent, c history.Call) {
		index := key
		if who != nil {
			index = string(*who) // names may come again
		}
		i, ok := rows[index]
		if !ok {
			i = len(out.Rows)
			rows[index] = i
			out.Rows = append(out.Rows, spendingRow{Key: key, AgentUUID: who})
		}
		out.Rows[i].add(c)
	}
	for e, err := range ws.Calls(ctx, since) {
		if err != nil {
			return out, err
		}
		m, err := e.Decode()
		if err != nil {
			return out, err
		}
		if m.Call == nil {
			continue // an entry that was appended by hand
		}
		out.Total.add(*m.Call)
		switch by {
		case "model":
			count(m.Call.Model, nil, *m.Call)
		case "day":
			count(e.CreatedAt.UTC().Format(time.DateOnly), nil, *m.Call)
		case "agent":
			count(known[e.Agent].Label(), &e.Agent, *m.Call)
		case "subtree":
			for a := e.Agent; a != ""; a = known[a].Parent {
				count(known[a].Label(), &a, *m.Call)
			}
		}
	}
	return out, nil
}

func (d spending) Text(w *printer.Writer) {
	if len(d.Rows) == 0 {
		w.Line("no calls of models")
		return
	}
	rows := [][]string{{strings.ToUpper(d.By), "CALLS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST", "TIME"}}
	for _, r := range append(slices.Clip(d.Rows), d.Total) {
		calls := strconv.FormatInt(r.Calls, 10)
		if r.Failed > 0 {
			calls += fmt.Sprintf(" (%d failed)", r.Failed)
		}
		cost := r.Cost.String()
		if r.Unpriced > 0 {
			cost += fmt.Sprintf(" + %s of unknown price", count(int(r.Unpriced), "call"))
		}
		rows = append(rows, []string{r.Key, calls, strconv.FormatInt(r.Input, 10), strconv.FormatInt(r.Output, 10),
			strconv.FormatInt(r.CacheRead, 10), strconv.FormatInt(r.CacheWrite, 10), cost,
			(time.Duration(r.TookMS) * time.Millisecond).String()})
	}
	w.Table(rows)
}
