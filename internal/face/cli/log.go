package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func logCommand(l *Line) *cobra.Command {
	var own, ranges, follow bool
	var limit int
	c := &cobra.Command{
		Use:   "log [AGENT]",
		Short: "Show an agent's context, or its stored entries",
		Long: `Show the context of an agent (agent 0 if none is named) as a model would see it:
what it inherited, what it said itself, and summaries in the place of what was
compacted. --own shows the entries that this agent stored, of every kind.`,
		Args:              CheckArguments(0, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 0 || c.Flags().Changed("limit") && limit == 0 {
				return fault.New(fault.Usage, "log: --limit %d shows nothing", limit).WithHint("give 1 or more")
			}
			if ranges && (own || follow) {
				return fault.New(fault.Usage, "log: --ranges goes with neither --own nor --follow").
					WithHint("leave one of them out")
			}
			ws, a, err := l.FindOr0(c.Context(), args)
			if err != nil {
				return err
			}
			g := logger{line: l, ws: ws, agent: a, limit: limit}
			err = ws.Store.View(c.Context(), func(log history.Log) error {
				g.log = log
				switch {
				case ranges:
					return g.ranges(c.Context())
				case own:
					return g.own(c.Context())
				}
				return g.context(c.Context())
			})
			if err != nil || !follow {
				return err
			}
			return g.follow(c.Context(), own)
		},
	}
	f := c.Flags()
	f.BoolVar(&own, "own", false, "the entries stored for this agent, of every kind")
	f.BoolVar(&ranges, "ranges", false, "the stretches of history that make up the context")
	f.IntVarP(&limit, "limit", "n", 0, "only the last N")
	f.BoolVarP(&follow, "follow", "f", false, "go on as entries are added, until the agent dies")
	return c
}

// logger prints the history of one agent.
type logger struct {
	line  *Line
	ws    *session.Workspace
	log   history.Log // one moment of it
	agent agent.Agent
	limit int
	last  id.Message // newest entry that was seen
}

// print prints entries one after the other.
func (l *logger) print(ctx context.Context, all iter.Seq2[history.Entry, error], in func(history.Entry) bool) error {
	blob := func(h chain.Hash) ([]byte, error) { return l.ws.Store.Blob(ctx, h) }
	return printLines(l.line, l.line.Stdout, all, func(p *printer.Printer, e history.Entry) error {
		shape, err := public.ReadEntry(e, in(e), blob)
		if err != nil {
			return err
		}
		return p.PrintLine(entry{shape})
	})
}

func (l *logger) context(ctx context.Context) error {
	var err error
	if l.last, err = l.head(ctx); err != nil {
		return err
	}
	if l.limit > 0 {
		tail, err := history.Tail(ctx, l.log, l.agent.ID, l.limit)
		if err != nil {
			return err
		}
		return l.print(ctx, each(slices.Values(tail)), always)
	}
	return l.print(ctx, history.Play(ctx, l.log, l.agent.ID), always)
}

func always(history.Entry) bool { return true }

// each gives what is in memory already.
func each(list iter.Seq[history.Entry]) iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		for e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// head is the newest own entry at the moment that is looked at.
func (l *logger) head(ctx context.Context) (id.Message, error) {
	for e, err := range l.log.QueryRange(ctx, history.Range{Agent: l.agent.ID}, history.Selection{Newest: 1, Any: true}) {
		return e.ID, err
	}
	return 0, nil
}

// own prints stored entries, saying of each whether it is in the context.
func (l *logger) own(ctx context.Context) error {
	in, err := history.Membership(ctx, l.log, l.agent.ID)
	if err != nil {
		return err
	}
	all := l.log.QueryRange(ctx, history.Range{Agent: l.agent.ID}, history.Selection{})
	if l.limit > 0 {
		if all, err = l.newest(ctx); err != nil {
			return err
		}
	}
	return l.print(ctx, l.seen(all), in)
}

// seen keeps the newest entry that passed.
func (l *logger) seen(all iter.Seq2[history.Entry, error]) iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		for e, err := range all {
			if err == nil {
				l.last = e.ID
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// newest reads the last entries and gives them oldest first.
func (l *logger) newest(ctx context.Context) (iter.Seq2[history.Entry, error], error) {
	var list []history.Entry
	for e, err := range l.log.QueryRange(ctx, history.Range{Agent: l.agent.ID}, history.Selection{Newest: l.limit, Any: true}) {
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.Reverse(list)
	return each(slices.Values(list)), nil
}

// historyPollEvery is how often follow looks for new entries.
const historyPollEvery = 200 * time.Millisecond

func (l *logger) follow(ctx context.Context, own bool) error {
	tick := time.NewTicker(historyPollEvery)
	defer tick.Stop()
	for {
		dead := l.agent.Status == agent.Dead
		added := func(yield func(history.Entry, error) bool) {
			for e, err := range l.seen(l.ws.Store.QueryRange(ctx, history.Range{Agent: l.agent.ID, Start: l.last}, history.Selection{})) {
				if (err != nil || own || e.Kind.Reaches()) && !yield(e, err) {
					return
				}
				if e.Kind == history.Killed {
					dead = true
					return
				}
			}
		}
		err := l.print(ctx, added, func(e history.Entry) bool { return e.Kind.Reaches() })
		if err != nil || dead {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (l *logger) ranges(ctx context.Context) error {
	ranges, err := history.BuildRanges(ctx, l.log, l.agent.ID)
	if err != nil {
		return err
	}
	return l.line.Print(rangeList(ranges))
}

// rangeList is the datum of log --ranges.
type rangeList []history.Range

func (r rangeList) Text(w *printer.Writer) {
	for _, one := range r {
		w.Line("%s", one.String())
	}
}

// entry is the datum of log: an entry with its id and kind, then what it says.
type entry struct{ public.Entry }

// AppendJSON implements printer.Appender.
func (e entry) AppendJSON(b []byte) ([]byte, error) { return e.AppendTo(b) }

// Text implements printer.Datum.
func (e entry) Text(w *printer.Writer) {
	label := fmt.Sprintf("%d %s", e.ID, e.Kind)
	if !e.InContext {
		label += " (not in the context)"
	}
	body := e.Content
	if body == "" && string(e.Meta) != "{}" {
		body = string(e.Meta)
	}
	if by := e.Permitted(); by != "" {
		label += " · " + by
	}
	w.Line("%v", w.Dim(label))
	w.Block("  ", body)
}
