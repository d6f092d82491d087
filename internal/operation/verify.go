package operation

import (
	"bytes"
	"context"
	"os"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/seal"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
	"ramet/internal/driver/foreign"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// VerifyInput names what to compare the workspace with.
type VerifyInput struct {
	Checkpoint string `json:"checkpoint,omitempty" faces:"cli" help:"file made by \"ramet checkpoint\""`
	Source     Path   `json:"source,omitempty" faces:"cli" help:"the file that was imported"`
	Key        string `json:"key,omitempty" faces:"cli" help:"public key of the signer (default: this home's key)"`
}

// Verify checks the whole workspace.
var Verify = Op[VerifyInput, Verified]{
	Doc: Doc{Name: "verify", Group: "proof", Faces: CLI | MCP | Slash, Long: true, Effect: Reads,
		Summary: "Check every link, commitment, blob and mail message",
		Model:   "Check the whole workspace: every link, commitment, blob and mail message. The first damage is an error that says where it is.",
		Help: `Check the whole workspace: every link, commitment, blob, mail message and first entry, and every
field of the registry that the histories record. The first damage is reported with agent and message
id, exit code 5.

Without {checkpoint}, verify can't detect that a program with access to the database removed the newest
entries or rewrote everything. Store the output of "ramet checkpoint" elsewhere, and pass it here.

{source} FILE also checks that what was imported from this file (ramet import) is exactly what the
file contains, entry by entry.`},
	Run: func(ctx context.Context, e *Env, in VerifyInput) (out Verified, err error) {
		var heads []registry.Head
		if in.Checkpoint != "" {
			if heads, err = openCheckpoint(ctx, e.Workspace, in.Checkpoint, in.Key); err != nil {
				return out, err
			}
			out.Checkpoint = &in.Checkpoint
		}
		if out.Report, err = auditRecords(ctx, e.Workspace, heads); err != nil {
			return out, err
		}
		if out.OK = true; in.Source != "" {
			out.Sources, err = compareSources(ctx, e.Workspace, string(in.Source))
		}
		return out, err
	},
	Text: writeVerified,
}

// Verified reports what a check found.
type Verified struct {
	OK bool `json:"ok"`
	registry.Report
	Checkpoint *string          `json:"checkpoint"`
	Sources    []public.Sourced `json:"sources,omitempty"`
}

// auditRecords checks the records, and at the same time the database itself. Damage of a record says more.
func auditRecords(ctx context.Context, ws *session.Workspace, heads []registry.Head) (registry.Report, error) {
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- checkDatabase(asked, ws) }()
	report, err := ws.Store.Audit(ctx, heads)
	if err != nil {
		cancel()
		<-answer
		return report, err
	}
	return report, <-answer
}

// checkDatabase asks the database itself: a damaged index changes what is found, but no record.
func checkDatabase(ctx context.Context, ws *session.Workspace) error {
	d, err := ws.Store.Describe(ctx)
	if err != nil || len(d.Problems) == 0 {
		return err
	}
	return fault.New(fault.StorageCorrupt, "%s: %s", d.Place, d.Problems[0]).
		WithHint("restore it from a backup")
}

// openCheckpoint checks signature and workspace of a checkpoint.
func openCheckpoint(ctx context.Context, ws *session.Workspace, path, key string) ([]registry.Head, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read checkpoint: %w", err).
			WithHint("give the file that keeps what `ramet checkpoint` printed")
	}
	// The signed note ends with its signatures; an empty line later come the heads.
	note, block := data, []byte(nil)
	if sig := bytes.Index(data, []byte("\n\n— ")); sig >= 0 {
		if end := bytes.Index(data[sig+2:], []byte("\n\n")); end >= 0 {
			note, block = data[:sig+2+end+1], data[sig+2+end+2:]
		}
	}
	signed, err := seal.Open(note, key)
	if err != nil {
		return nil, err
	}
	zero, heads, err := registry.ParseCheckpoint(signed, string(block))
	if err != nil {
		return nil, err
	}
	if have, err := ws.Store.Zero(ctx); err != nil {
		return nil, err
	} else if have.ID != zero {
		return nil, fault.New(fault.HistoryDamaged, "the checkpoint is of a workspace whose agent 0 is %s, here it is %s", zero, have.ID).
			WithHint("it belongs to another workspace, or this one was replaced")
	}
	return heads, nil
}

// compareSources compares imports with their file.
func compareSources(ctx context.Context, ws *session.Workspace, path string) ([]public.Sourced, error) {
	found, err := foreign.In(ctx, path)
	if err != nil {
		return nil, err
	}
	var out []public.Sourced
	for _, f := range found {
		s, err := ws.History().CompareSource(ctx, f)
		if fault.Is(err, fault.NotFound) && len(found) > 1 {
			continue // of a database, others were
		}
		if err != nil {
			return nil, err
		}
		out = append(out, public.Sourced{Agent: string(s.Agent.ID), Program: s.Imported.Program, Session: s.Imported.Session, SHA256: s.Imported.SHA256,
			Entries: s.Entries, Lines: s.Lines, Redacted: s.Redacted, Since: s.Since})
	}
	if len(out) == 0 {
		return nil, fault.New(fault.NotFound, "nothing of %s was imported into this workspace", path).WithHint("`ramet import FILE` does it")
	}
	return out, nil
}

func writeVerified(w *printer.Writer, _ VerifyInput, v Verified) {
	w.Line("ok: %s, %s, %s, %s", text.Count(v.Agents, "agent"), text.Count(v.Messages, "entry"), text.Count(v.Blobs, "blob"), text.Count(v.Letters, "mail message"))
	if v.Redacted > 0 {
		w.Line("%s redacted", text.Count(v.Redacted, "entry"))
	}
	for _, s := range v.Sources {
		w.Line("%s of session %s are what the file says (SHA-256 %s)", text.Count(s.Entries, "entry"), s.Session, s.SHA256)
		if s.Since > 0 {
			w.Line("the file has grown by %s since: `ramet import` takes them", text.Count(int(s.Since), "byte"))
		}
	}
	if v.Checkpoint != nil {
		w.Line("all %s of the checkpoint are here", text.Count(v.Heads, "head"))
	} else {
		w.Line("%v", w.Dim("not checked against a checkpoint: cut tails and full rewrites would not show"))
	}
}

// Checkpointed is a signed note over all histories.
type Checkpointed struct {
	Note   string `json:"note"`
	Heads  string `json:"heads"`
	Key    string `json:"key"`
	Agents int    `json:"agents"`
}

// Checkpoint signs the newest entry of every history.
var Checkpoint = Op[NoInput, Checkpointed]{
	Doc: Doc{Name: "checkpoint", Group: "proof", Faces: CLI, Effect: Reads, Summary: "Print a signed checkpoint of all histories, to keep elsewhere",
		Help: `Print a signed checkpoint of the newest entry of every history. Keep it where those who can
write to the database can't change it: "ramet verify --checkpoint FILE" then detects removed
entries and rewritten histories.`},
	Run: signCheckpoint,
	Text: func(w *printer.Writer, _ NoInput, out Checkpointed) { // the file to keep
		w.Line("%s", strings.TrimSuffix(out.Note, "\n"))
		w.Line("")
		w.Block("", out.Heads)
	},
}

func signCheckpoint(ctx context.Context, e *Env, _ NoInput) (out Checkpointed, err error) {
	key, err := session.SigningKey(e.Home)
	if err != nil {
		return out, err
	}
	zero, err := e.Store.Zero(ctx)
	if err != nil {
		return out, err
	}
	heads, err := e.Store.Heads(ctx)
	if err != nil {
		return out, err
	}
	text, block := registry.FormatCheckpoint(zero.ID, heads)
	note, err := key.Sign(text)
	return Checkpointed{Note: string(note), Heads: block, Key: key.Verifier(), Agents: len(heads)}, err
}

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
