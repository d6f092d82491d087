package cli

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"ramet/internal/base/shape"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

var update = flag.Bool("update", false, "write testdata/operations.txt anew")

// The golden file has every operation as each face offers it: a change on any face shows in a diff.
func TestOperationsAreOfferedAsTheGoldenFileTells(t *testing.T) {
	help := map[string]string{}
	for _, g := range groups(Env{}, newLine(Env{}, session.New(session.System{}, session.Choice{}))) {
		for _, c := range g.commands {
			for _, c := range append(c.Commands(), c) {
				help[c.CommandPath()] = c.Short + "\n" + c.Long + "\n" + c.UsageString()
			}
		}
	}
	var b strings.Builder
	types := &shape.Types{}
	for _, o := range operation.All() {
		d := o.Describe()
		fmt.Fprintf(&b, "==== %s: effect %d, only persons %t, tool %q\n", d.Name, d.Effect, d.Persons, d.Tool)
		if d.Faces&operation.CLI != 0 {
			b.WriteString(help[d.Name])
		}
		if d.Faces&operation.Slash != 0 {
			row, _ := operation.SlashRows().Find(cmp.Or(d.Slash, d.Name))
			fmt.Fprintf(&b, "---- terminal\n%s\n%s\n%s\n", row.Usage, row.Summary, row.Help)
		}
		for _, f := range []operation.Face{operation.HTTP, operation.MCP} {
			if d.Faces&f != 0 {
				title := map[operation.Face]string{operation.HTTP: "HTTP " + d.ID + ": " + d.Route, operation.MCP: "MCP: " + d.Model}[f]
				accepts, _ := json.MarshalIndent(operation.Shape(o, f).Schema(), "", "  ")
				answer := shape.Any()
				if o.Answer(f).Kind() == reflect.Struct {
					answer = shape.Open(types.Fields(o.Answer(f))...)
				}
				answers, _ := json.MarshalIndent(answer.Schema(), "", "  ")
				fmt.Fprintf(&b, "---- %s\naccepts %s\nanswers %s\n", title, accepts, answers)
			}
		}
	}
	schemas, _ := json.MarshalIndent(types.Schemas(), "", "  ")
	got := b.String() + "==== types\n" + string(schemas) + "\n"
	const golden = "testdata/operations.txt"
	if *update {
		os.WriteFile(golden, []byte(got), 0o644)
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != got {
		t.Errorf("%v: operations are not offered as %s tells: go test -update writes it anew, git diff shows the change", err, golden)
	}
}
