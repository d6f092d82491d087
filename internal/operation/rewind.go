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
	Agent AgentRef   `json:"agent" arg:"AGENT" help:"who goes back"`
	Label *Label     `json:"label,omitempty" arg:"LABEL" help:"to the newest mark of this label (default: the newest mark)"`
	To    id.Message `json:"to,omitempty" help:"message id"`
	Files bool       `json:"files,omitempty" help:"files too"`
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
		Help: `Go back: the context becomes what it was just after a mark (the newest of that
label; the newest mark if no label is given) or after the message {to} ID.
Nothing is deleted, and what was rewound can be reached again. A clear is a wall.

Files stay as they are. With {files} they become what they were then; what others than
this agent could have changed since is kept as it is, and listed, unless {force} says
otherwise. That includes what changed while a command of the agent was running: you may
have edited it meanwhile. On a terminal you are asked about these files; elsewhere they
are kept and the exit code is 4, unless {commands} restores them too, or {commands}=false
keeps them. {dry_run} only says what would happen to files.`},
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
