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
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
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
	On: readLog,
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

func readLog(ctx context.Context, e *Env, a agent.Agent, in LogInput) (out EntryLog, err error) {
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
		for e, err := range history.ReadAhead(all) {
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
	writeTable(w, "no message contains these words", []string{"AGENT", "MESSAGE", "KIND", "TEXT"}, out.Found, func(h public.Hit) []string {
		return []string{h.Agent.Short(), h.ID.String(), h.Kind, h.Around}
	})
	if out.More {
		w.Line("There are more; name an agent, or raise the limit.")
	}
}

// MessageKind is a kind of message that a person may write.
type MessageKind string

// Words implements Words.
func (MessageKind) Words() []string {
	return []string{"user", "assistant", "system", "tool_result", "note"}
}

// Refuse implements Refuser.
func (MessageKind) Refuse(word string) error {
	_, err := history.ParseWritable(word)
	return err
}

// AppendInput is a message.
type AppendInput struct {
	Agent AgentRef    `json:"agent" arg:"AGENT" help:"the agent whose history gets the message"`
	Text  Text        `json:"text" arg:"TEXT" help:"the message"`
	Kind  MessageKind `json:"kind,omitempty" default:"user" help:"user, assistant, system, tool_result or note"`
}

// Append writes one message without a model.
var Append = Op[AppendInput, public.Written]{
	Doc: Doc{Name: "append", Group: "history", Faces: CLI, Summary: "Append one message without a model; print its id",
		Help: `Append one message to an agent's history, without calling a model, and print its id. When the
id is printed, the message is on disk. TEXT - reads standard input.`},
	On: func(ctx context.Context, e *Env, a agent.Agent, in AppendInput) (public.Written, error) {
		return public.FormatWritten(e.History().Append(ctx, a, history.Kind(in.Kind), string(in.Text)))
	},
}

// MarkInput marks a point of a history.
type MarkInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" slash:"-" help:"the agent to mark a point of"`
	Label *string  `json:"label,omitempty" arg:"LABEL" help:"what to call it"`
}

// Check implements Checker.
func (in *MarkInput) Check() error { return checkGiven("label", in.Label, history.CheckLabel) }

// Mark marks a point to rewind to.
var Mark = Op[MarkInput, public.Written]{
	Doc: Doc{Name: "mark", Group: "history", Faces: CLI | Slash, Quiet: true, Summary: "Mark a point to rewind to; print its id",
		Help: `Mark a point to rewind to, and record the state of the agent's files there for "ramet rewind --files".`},
	On: func(ctx context.Context, e *Env, a agent.Agent, in MarkInput) (public.Written, error) {
		return public.FormatWritten(e.History().Mark(ctx, a, valueOf(in.Label)))
	},
}

// RewindInput chooses a point of a history to go back to.
type RewindInput struct {
	Agent AgentRef   `json:"agent" arg:"AGENT" help:"the agent to rewind"`
	Label *Label     `json:"label,omitempty" arg:"LABEL" help:"to the newest mark with this label (default: the newest mark)"`
	To    id.Message `json:"to,omitempty" help:"message id"`
	Files bool       `json:"files,omitempty" help:"restore files too"`
	RestoreOptions
}

// Check implements Checker.
func (in *RewindInput) Check() error {
	if !in.Files && (in.Force || in.DryRun || in.Commands != nil) {
		return Invalid("files", fault.Usage, "rewind: {force}, {commands} and {dry_run} go with {files}").Hint("add {files}, or leave them out")
	}
	if in.To != 0 && in.Label != nil {
		return Invalid("to", fault.Usage, "rewind: both a label and {to}").Hint("leave one of them out")
	}
	return checkGiven("label", in.Label, history.CheckLabel)
}

// Undecided implements Confirmer.
func (in *RewindInput) Undecided() bool { return in.Files && in.RestoreOptions.Undecided() }

// Rewind goes back in a history.
var Rewind = Op[RewindInput, Rewound]{
	Doc: Doc{Name: "rewind", Group: "history", Faces: CLI,
		Summary: "Go back to a mark or a message; print the entry's id",
		Help: `Rewind the context of an agent to just after a mark (the newest one with that label; without a
label, the newest mark) or after the message {to} ID. Nothing is deleted, and you can return to
what was rewound. You can't rewind past a clear.

Files are not changed. With {files} they are restored too. Files that others than this agent may
have changed since are kept and listed, unless you give {force}. That includes files that changed
while a command of the agent was running: you may have edited them. On a terminal you are asked
about these files. Otherwise they are kept and the exit code is 4, unless {commands} restores them
too or {commands}=false keeps them. {dry_run} shows what would happen to files.`},
	On: rewind,
	Public: func(_ Face, out Rewound) any {
		if out.Files != nil {
			return *out.Files
		}
		return out.entry
	},
	Text: func(w *printer.Writer, _ RewindInput, out Rewound) {
		if out.Files != nil {
			writeRestore(w, *out.Files)
			return
		}
		out.entry.Text(w)
	},
	Ask: func(w *printer.Writer, plan Rewound) string { return askRestore(w, *plan.Files) },
}

// Rewound is the entry of a rewind, or what became of the files.
type Rewound struct {
	entry public.Written
	Files *public.Restore // nil: they stay as they are
}

func rewind(ctx context.Context, e *Env, a agent.Agent, in RewindInput) (out Rewound, err error) {
	if in.Files {
		restored, err := e.rewindFiles(ctx, a, session.Rewinding{To: in.To, Label: string(valueOf(in.Label))}, in.RestoreOptions)
		return Rewound{Files: &restored}, err
	}
	if in.To != 0 {
		out.entry, err = public.FormatWritten(e.History().RewindTo(ctx, a, in.To))
	} else {
		out.entry, err = public.FormatWritten(e.History().Rewind(ctx, a, string(valueOf(in.Label))))
	}
	return out, err
}

// ClearInput names an agent.
type ClearInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" slash:"-" help:"the agent"`
}

// Clear empties a context.
var Clear = Op[ClearInput, public.Written]{
	Doc: Doc{Name: "clear", Group: "history", Faces: CLI | Slash, Quiet: true, Summary: "Empty an agent's context; print the entry's id",
		Help: `Empty an agent's context. Nothing is deleted: the clear is an entry of the history. You can't
rewind to before it. Children that were forked earlier keep their context.`},
	On: func(ctx context.Context, e *Env, a agent.Agent, _ ClearInput) (public.Written, error) {
		return public.FormatWritten(e.History().Clear(ctx, a))
	},
}

// CompactInput chooses a context, and the model that summarizes it.
type CompactInput struct {
	Agent AgentRef `json:"agent,omitempty" arg:"AGENT" default:"0" help:"the agent"`
	Model Model    `json:"model,omitempty" help:"vendor/name of the model that writes the summary"`
}

// Check implements Checker.
func (in *CompactInput) Check() error {
	_, err := in.model()
	return At("model", err)
}

func (in *CompactInput) model() (ref llm.Ref, err error) {
	if in.Model == "" {
		return ref, nil
	}
	return catalog.Parse(string(in.Model))
}

// Compact replaces the older part of a context by a summary.
var Compact = Op[CompactInput, Compacted]{
	Doc: Doc{Name: "compact", Group: "history", Faces: CLI,
		Summary: "Replace the older part of a context with a summary",
		Help: `Replace all but the newest messages of an agent's context (default: agent 0) with a summary
that its model writes. Nothing is lost: the messages stay in the history, and a rewind to
before the compaction undoes it.`},
	On: func(ctx context.Context, e *Env, a agent.Agent, in CompactInput) (out Compacted, err error) {
		model, err := in.model()
		if err != nil {
			return out, err
		}
		now, err := e.Turns().Compact(ctx, a, model)
		return Compacted{a.ID, a.Total, now.Total}, err
	},
	Text: func(w *printer.Writer, _ CompactInput, out Compacted) {
		w.Line("%s became %s", text.Count(int(out.Before), "message"), text.Count(int(out.After), "message"))
	},
}

// Compacted is a context that was compacted.
type Compacted struct {
	Agent  id.Agent `json:"agent_uuid"`
	Before int64    `json:"messages_before"`
	After  int64    `json:"messages_after"`
}

// RedactInput names a message.
type RedactInput struct {
	Agent AgentRef   `json:"agent" arg:"AGENT" help:"the agent that stores the message"`
	ID    id.Message `json:"id" arg:"ID" help:"of the message"`
}

// Redact deletes the content of a message.
var Redact = Op[RedactInput, Redacted]{
	Doc: Doc{Name: "redact", Group: "proof", Faces: CLI, Effect: Destroys,
		Summary: "Delete the content of a message for good",
		Help: `Delete the content of a message, its salt and its blobs from the database, including free pages and
the write-ahead log, and record that it was deleted. The history still verifies. File contents that
the message's calls wrote, or that a files entry recorded, are deleted from the recorded states and
the trash. Saved outputs of tools that the message quotes are deleted, and the message disappears from
the prompt history of terminals. Copies elsewhere (backups, exports, evidence and cached answers of
runs, archives of a server) are not changed.`},
	On: func(ctx context.Context, e *Env, a agent.Agent, in RedactInput) (out Redacted, err error) {
		return Redacted{a.ID, in.ID}, e.History().Redact(ctx, a, in.ID)
	},
	Text: func(w *printer.Writer, _ RedactInput, out Redacted) { w.Line("message %d is redacted", int64(out.ID)) },
}

// Redacted is a message whose content was deleted.
type Redacted struct {
	Agent id.Agent   `json:"agent_uuid"`
	ID    id.Message `json:"id"`
}
