package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"ramet/internal/printer"
	"ramet/internal/run/schema"
)

func (s *session) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "schema NAME",
		Short:     "Print a published JSON Schema: event, snapshot, issue, recipe or run_config",
		Args:      arguments(1, 1),
		ValidArgs: schema.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := schema.Schema(args[0])
			if err != nil {
				return err
			}
			return s.print(rawJSON(text))
		},
	}
}

// rawJSON is a datum that is JSON in any case.
type rawJSON json.RawMessage

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func (r rawJSON) Text(w *printer.Writer) { w.Block("", string(r)) }
