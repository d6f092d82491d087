package operation

import (
	"context"
	"strings"

	"ramet/internal/base/printer"
	"ramet/internal/core/registry"
	"ramet/internal/operation/session"
)

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
