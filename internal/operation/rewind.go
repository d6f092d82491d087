package operation

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

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
