package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/run/rundir"
)

func schemaCommand(l *Line, openAPIText func() []byte) *cobra.Command {
	c := l.command("schema NAME", "Print a published JSON Schema: event, snapshot, issue, recipe or run_config; or openapi", "", 1, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		if args[0] == openAPI {
			return rawJSON(openAPIText()), nil
		}
		text, err := rundir.MakeSchema(args[0])
		return rawJSON(text), err
	})
	c.ValidArgs = append(rundir.SchemaNames(), openAPI)
	return c
}

const openAPI = "openapi"

type rawJSON json.RawMessage

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func (r rawJSON) Text(w *printer.Writer) { w.Block("", string(r)) }
