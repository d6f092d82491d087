package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
)

func keyCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print the public key that checks our checkpoints",
		Long:  "Print the verifier key for checkpoints signed in this home. It is made at first\nuse; its private half stays in the home folder.",
		Args:  CheckArguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			key, err := l.SigningKey()
			if err != nil {
				return err
			}
			return l.Print(publicKey{key.Verifier()})
		},
	}
}

// publicKey is the datum of key.
type publicKey struct {
	Key string `json:"key"`
}

func (k publicKey) Text(w *printer.Writer) { w.Line("%s", k.Key) }
