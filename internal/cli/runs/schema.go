package runs

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/httpapi"
	"ramet/internal/printer"
	"ramet/internal/run/schema"
)

func schemaCommand(l *line.Line, p Ports) *cobra.Command {
	return &cobra.Command{
		Use:       "schema NAME",
		Short:     "Print a published JSON Schema: event, snapshot, issue, recipe or run_config; or openapi",
		Args:      line.Arguments(1, 1),
		ValidArgs: append(schema.Names(), openAPI),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == openAPI {
				return l.Print(rawJSON(httpapi.OpenAPI(p.Version)))
			}
			text, err := schema.Schema(args[0])
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
