package operation

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

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
	Run: func(ctx context.Context, e *Env, in AppendInput) (public.Written, error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return public.Written{}, err
		}
		written, err := e.Workspace.History().Append(ctx, a, history.Kind(in.Kind), string(in.Text))
		return public.FormatWritten(written), err
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
	Run: func(ctx context.Context, e *Env, in MarkInput) (public.Written, error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return public.Written{}, err
		}
		written, err := e.Workspace.History().Mark(ctx, a, valueOf(in.Label))
		return public.FormatWritten(written), err
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
	Run: rewind,
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

func rewind(ctx context.Context, e *Env, in RewindInput) (out Rewound, err error) {
	if in.Files {
		restored, err := e.rewindFiles(ctx, in.Agent, session.Rewinding{To: in.To, Label: string(valueOf(in.Label))}, in.RestoreOptions)
		return Rewound{Files: &restored}, err
	}
	a, err := e.Target(ctx, in.Agent)
	if err != nil {
		return out, err
	}
	var written history.Entry
	if in.To != 0 {
		written, err = e.Workspace.History().RewindTo(ctx, a, in.To)
	} else {
		written, err = e.Workspace.History().Rewind(ctx, a, string(valueOf(in.Label)))
	}
	out.entry = public.FormatWritten(written)
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
	Run: func(ctx context.Context, e *Env, in ClearInput) (public.Written, error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return public.Written{}, err
		}
		written, err := e.Workspace.History().Clear(ctx, a)
		return public.FormatWritten(written), err
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
	Run: func(ctx context.Context, e *Env, in CompactInput) (out Compacted, err error) {
		model, err := in.model()
		if err != nil {
			return out, err
		}
		a, err := e.Target(ctx, in.Agent)
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
	Run: func(ctx context.Context, e *Env, in RedactInput) (out Redacted, err error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return out, err
		}
		return Redacted{a.ID, in.ID}, e.Workspace.History().Redact(ctx, a, in.ID)
	},
	Text: func(w *printer.Writer, _ RedactInput, out Redacted) { w.Line("message %d is redacted", int64(out.ID)) },
}

// Redacted is a message whose content was deleted.
type Redacted struct {
	Agent id.Agent   `json:"agent_uuid"`
	ID    id.Message `json:"id"`
}
