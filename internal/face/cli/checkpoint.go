package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/core/registry"
)

func checkpointCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint",
		Short: "Print a signed note over all histories, to keep elsewhere",
		Long: `Print a signed note over the newest entry of every history. Keep it where the
people who can write the database cannot change it; "ramet verify --checkpoint
FILE" then finds cut tails and rewrites.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := l.SigningKey()
			if err != nil {
				return err
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			zero, err := ws.Store.Zero(c.Context())
			if err != nil {
				return err
			}
			heads, err := ws.Store.Heads(c.Context())
			if err != nil {
				return err
			}
			text, block := registry.FormatCheckpoint(zero.ID, heads)
			note, err := key.Sign(text)
			if err != nil {
				return err
			}
			return l.Print(checkpoint{Note: string(note), Heads: block, Key: key.Verifier(), Agents: len(heads)})
		},
	}
}

// checkpoint is the datum of checkpoint. As text it is the file to keep.
type checkpoint struct {
	Note   string `json:"note"`
	Heads  string `json:"heads"`
	Key    string `json:"key"`
	Agents int    `json:"agents"`
}

func (d checkpoint) Text(w *printer.Writer) {
	w.Line("%s", strings.TrimSuffix(d.Note, "\n"))
	w.Line("")
	w.Block("", d.Heads)
}
