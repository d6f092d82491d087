package operation

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// LogInput chooses entries of a history.
type LogInput struct {
	Agent  AgentRef `json:"agent,omitempty" arg:"AGENT" help:"the agent: 0, a name, a uuid or the beginning of one (default: yourself if you are an agent, else 0)"`
	Own    bool     `json:"own,omitempty" help:"all entries stored for this agent, of every kind"`
	Ranges bool     `json:"ranges,omitempty" faces:"cli" help:"the ranges of history that make up the context"`
	Limit  *int64   `json:"limit,omitempty" short:"n" default:"mcp=20" range:"mcp=1..200" help:"only the last N"`
	Follow bool     `json:"follow,omitempty" short:"f" faces:"cli" help:"continue as entries are added, until the agent dies"`
}

// Check implements Checker.
func (in *LogInput) Check() error {
	if in.Limit != nil && *in.Limit <= 0 {
		return Invalid("limit", fault.Usage, "log: {limit} %d shows nothing", *in.Limit).Hint("give 1 or more")
	}
	if in.Ranges && (in.Own || in.Follow) {
		return Invalid("ranges", fault.Usage, "log: {ranges} goes with neither {own} nor {follow}").Hint("leave one of them out")
	}
	return nil
}

// Log reads a history.
var Log = Op[LogInput, EntryLog]{
	Doc: Doc{Name: "log", Aliases: "logs history", Group: "history", Faces: CLI | MCP, Effect: Reads,
		Summary: "Show an agent's context, or its stored entries",
		Model:   "Read the end of an agent's history, 20 entries or {limit}: its context as a model sees it, or with {own} the entries that it stored itself, of every kind. For more, read the resource ramet://agents/{ref}/history.",
		Help: `Show the context of an agent (default: your own if you are an agent, else that of agent 0) as its
model sees it: inherited messages, its own, and summaries instead of what was compacted. {own} shows
every entry that this agent stored, of every kind.`},
	Run: readLog,
	Text: func(w *printer.Writer, _ LogInput, out EntryLog) {
		for _, one := range out.ranges {
			w.Line("%s", one.String())
		}
	},
	Public: func(_ Face, out EntryLog) any {
		if out.ranges != nil {
			return out.ranges
		}
		return out
	},
}

// EntryLog is a history that is read while it is printed, or its ranges.
type EntryLog struct {
	ranges []history.Range
	parts  iter.Seq2[printer.Part, error]
}

// Parts implements printer.Stream.
func (l EntryLog) Parts() (string, iter.Seq2[printer.Part, error]) { return "entries", l.parts }

// Documented implements Documented.
func (EntryLog) Documented() any {
	return struct {
		Entries []public.Entry `json:"entries"`
	}{}
}

func readLog(ctx context.Context, e *Env, in LogInput) (out EntryLog, err error) {
	a, err := e.Target(ctx, in.Agent)
	if err != nil {
		return out, err
	}
	if in.Ranges {
		err = e.Store.View(ctx, func(log history.Log) (err error) {
			out.ranges, err = history.BuildRanges(ctx, log, a.ID)
			return err
		})
		return out, err
	}
	r := logReader{LogInput: in, env: e, agent: a}
	out.parts = func(yield func(printer.Part, error) bool) {
		more, err := r.readStored(ctx, yield)
		if err != nil {
			yield(nil, err)
		} else if more && in.Follow {
			r.readAdded(ctx, yield)
		}
	}
	return out, nil
}

// logReader reads the history of one agent.
type logReader struct {
	LogInput
	env   *Env
	agent agent.Agent
	last  id.Message // newest entry that was read
}

// readStored reads what is stored at one moment. It reports whether more is wanted.
func (r *logReader) readStored(ctx context.Context, yield func(printer.Part, error) bool) (more bool, err error) {
	err = r.env.Store.View(ctx, func(log history.Log) error {
		newest, err := r.newest(ctx, log, 1)
		if err != nil {
			return err
		}
		for _, e := range newest {
			r.last = e.ID
		}
		all, isIn, err := r.choose(ctx, log)
		if err != nil {
			return err
		}
		for e, err := range all {
			if err != nil || !yield(r.part(ctx, e, isIn), nil) {
				return err
			}
		}
		more = true
		return nil
	})
	return more, err
}

// choose returns the wanted entries, and a function that reports whether one is in the context.
func (r *logReader) choose(ctx context.Context, log history.Log) (iter.Seq2[history.Entry, error], func(history.Entry) bool, error) {
	isIn := func(history.Entry) bool { return true }
	var tail []history.Entry
	var err error
	if r.Own {
		if isIn, err = history.Membership(ctx, log, r.agent.ID); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case r.Limit == nil && r.Own:
		return log.QueryRange(ctx, history.Range{Agent: r.agent.ID}, history.Selection{}), isIn, nil
	case r.Limit == nil:
		return history.Play(ctx, log, r.agent.ID), isIn, nil
	case r.Own:
		tail, err = r.newest(ctx, log, int(*r.Limit))
	default:
		tail, err = history.Tail(ctx, log, r.agent.ID, int(*r.Limit))
	}
	return func(yield func(history.Entry, error) bool) {
		for _, e := range tail {
			if !yield(e, nil) {
				return
			}
		}
	}, isIn, err
}

// newest returns the last n stored entries, oldest first.
func (r *logReader) newest(ctx context.Context, log history.Log, n int) (out []history.Entry, err error) {
	out, err = history.Newest(ctx, log, history.Range{Agent: r.agent.ID}, n)
	slices.Reverse(out)
	return out, err
}

// part returns an entry that is read in full when it is printed.
func (r *logReader) part(ctx context.Context, e history.Entry, isIn func(history.Entry) bool) printer.Part {
	return func(p *printer.Printer) error {
		shape, err := public.ReadEntry(e, isIn(e), func(h chain.Hash) ([]byte, error) { return r.env.Store.Blob(ctx, h) })
		if err != nil {
			return err
		}
		return p.PrintLine(LogEntry{shape})
	}
}

// logPollInterval is the time between two looks for new entries.
const logPollInterval = 200 * time.Millisecond

// readAdded reads entries as they are added, until the agent dies.
func (r *logReader) readAdded(ctx context.Context, yield func(printer.Part, error) bool) {
	tick := time.NewTicker(logPollInterval)
	defer tick.Stop()
	reaches := func(e history.Entry) bool { return e.Kind.Reaches() }
	for dead := r.agent.Status == agent.Dead; ; {
		for e, err := range r.env.Store.QueryRange(ctx, history.Range{Agent: r.agent.ID, Start: r.last}, history.Selection{}) {
			if (err != nil || r.Own || reaches(e)) && (!yield(r.part(ctx, e, reaches), err) || err != nil) {
				return
			}
			if r.last = e.ID; e.Kind == history.Killed {
				dead = true
				break
			}
		}
		if dead || !yield(nil, nil) {
			return
		}
		select {
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		case <-tick.C:
		}
	}
}

// LogEntry is an entry with its id and kind, then what it says.
type LogEntry struct{ public.Entry }

// Text implements printer.Datum.
func (e LogEntry) Text(w *printer.Writer) {
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

// SearchInput holds the words to look for.
type SearchInput struct {
	Words string   `json:"q" arg:"WORDS" help:"the words, ignoring case"`
	Agent AgentRef `json:"agent,omitempty" help:"only in the history of this agent, including inherited messages: 0, a name, a uuid or the beginning of one"`
	Limit *int64   `json:"limit,omitempty" short:"n" default:"100" range:"1..1000" help:"limit, 1 to 1000"`
}

// Search finds messages.
var Search = Op[SearchInput, public.Search]{
	Doc: Doc{Name: "search", Group: "agents", ID: "searchMessages", Route: "GET /api/v1/search 200", Faces: CLI | HTTP, Effect: Reads,
		Summary: "Find messages that contain words, newest first"},
	Run: func(ctx context.Context, e *Env, in SearchInput) (public.Search, error) {
		ask := session.Search{Words: in.Words, Limit: int(*in.Limit)}
		if in.Agent != "" {
			found, err := e.Find(ctx, string(in.Agent))
			if err != nil {
				return public.Search{}, err
			}
			ask.Of = found.ID
		}
		return e.History().Search(ctx, ask)
	},
	Text: writeHits,
}

func writeHits(w *printer.Writer, _ SearchInput, out public.Search) {
	rows := [][]string{{"AGENT", "MESSAGE", "KIND", "TEXT"}}
	for _, h := range out.Found {
		rows = append(rows, []string{h.Agent.Short(), h.ID.String(), h.Kind, h.Around})
	}
	if len(out.Found) > 0 {
		w.Table(rows)
	} else {
		w.Line("no message contains these words")
	}
	if out.More {
		w.Line("There are more; name an agent, or raise the limit.")
	}
}
