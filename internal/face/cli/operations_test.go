package cli

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// additions are the flags that commands have besides those of their operations: each makes it another verb.
var additions = []string{"fork --run", "kill --finished", "mail --delete", "ps --all-projects"}

// An operation is described once: its command is derived, and no other has its name or one of its flags by hand.
func TestNoCommandDescribesAnOperationAgain(t *testing.T) {
	root, found := Tree(), map[string]int{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			walk(below)
		}
		name := strings.TrimPrefix(c.CommandPath(), "ramet ")
		from := c.Annotations[derivedFrom]
		if found[name]++; found[name] > 1 {
			t.Errorf("there are two commands %s", name)
		}
		if operation.Named(name) != nil && from != name && operation.Named(name).Describe().Faces&operation.CLI != 0 {
			t.Errorf("the command %s is made by hand, and there is an operation of that name", name)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if _, derived := f.Value.(*words); from != "" && !derived && f.Name != "help" && !slices.Contains(additions, name+" --"+f.Name) {
				t.Errorf("the flag --%s of %s is made by hand: it is a field of the operation, or an addition", f.Name, name)
			}
		})
	}
	walk(root)
	for _, o := range operation.All() {
		if d := o.Describe(); d.Faces&operation.CLI != 0 && found[d.Name] == 0 {
			t.Errorf("the operation %s has no command", d.Name)
		}
	}
}

// screens are slash commands that open something of the terminal's own; the operations of their names are for other faces.
var screens = []string{"exit", "rewind", "undo", "compact", "log", "config", "skills", "export", "import"}

// A slash command of an operation's name is derived.
func TestNoSlashCommandDescribesAnOperationAgain(t *testing.T) {
	for _, row := range session.CommandTable() {
		if o := operation.Named(row.Name); o != nil && row.Usage != "" && !slices.Contains(screens, row.Name) {
			t.Errorf("/%s has its usage by hand, and there is an operation of that name", row.Name)
		}
	}
}
