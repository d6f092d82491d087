package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"ramet/internal/printer"
	"ramet/internal/seal"
)

func (s *session) signingKey() (*seal.Key, error) {
	home, err := s.homeDir()
	if err != nil {
		return nil, err
	}
	return seal.LoadKey(filepath.Join(home, "keys", "log.ed25519"))
}

func (s *session) keyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print the public key that checks our checkpoints",
		Long:  "Print the verifier key for checkpoints signed in this home. It is made at first\nuse; its private half stays in the home folder.",
		Args:  arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			key, err := s.signingKey()
			if err != nil {
				return err
			}
			return s.print(publicKey{key.Verifier()})
		},
	}
}

// publicKey is the datum of key.
type publicKey struct {
	Key string `json:"key"`
}

func (k publicKey) Text(w *printer.Writer) { w.Line("%s", k.Key) }
