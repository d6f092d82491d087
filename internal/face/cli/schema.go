package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/run/rundir"
)

func schemaCommand(l *Line, openAPIText func() []byte) *cobra.Command {
	return &cobra.Command{
		Use:       "schema NAME",
		Short:     "Print a published JSON Schema: event, snapshot, issue, recipe or run_config; or openapi",
		Args:      CheckArguments(1, 1),
		ValidArgs: append(rundir.SchemaNames(), openAPI),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == openAPI {
				return l.Print(rawJSON(openAPIText()))
			}
			text, err := rundir.MakeSchema(args[0])
			if err != nil {
				return err
			}
			return l.Print(rawJSON(text))
		},
	}
}

// openAPI is the description of the HTTP API.
const openAPI = "openapi"

// rawJSON is a datum that is JSON in any case.
type rawJSON json.RawMessage

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func (r rawJSON) Text(w *printer.Writer) { w.Block("", string(r)) }
