package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
)

func keyCommand(l *Line) *cobra.Command {
	return l.command("key", "Print the public key that checks our checkpoints", `Print the verifier key for checkpoints signed in this home. It is made at first
use; its private half stays in the home folder.`, 0, 0, func(context.Context, []string) (printer.Datum, error) {
		key, err := l.SigningKey()
		if err != nil {
			return nil, err
		}
		return publicKey{key.Verifier()}, nil
	})
}

// publicKey is the datum of key.
type publicKey struct {
	Key string `json:"key"`
}

func (k publicKey) Text(w *printer.Writer) { w.Line("%s", k.Key) }
