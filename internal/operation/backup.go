package operation

import (
	"context"

	"ramet/internal/base/printer"
)

// BackupInput names the file of a backup.
type BackupInput struct {
	Path Path `json:"path" arg:"FILE" help:"the new file"`
}

// Backup copies the workspace into a new file.
var Backup = Op[BackupInput, BackupInput]{
	Doc: Doc{Name: "backup", Group: "proof", Faces: CLI, Effect: Reads, Summary: "Copy the workspace into a new file",
		Help: `Copy the workspace, as of one moment, to a new SQLite file that you can open with --db FILE,
even if the workspace itself is in PostgreSQL. Writers are not blocked. An existing file is
never overwritten.`},
	Run: func(ctx context.Context, e *Env, in BackupInput) (BackupInput, error) {
		return in, e.Store.Backup(ctx, string(in.Path))
	},
	Text: func(w *printer.Writer, _ BackupInput, out BackupInput) {
		w.Line("workspace copied to %s", string(out.Path))
	},
}
