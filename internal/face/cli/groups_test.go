package cli

import (
	"slices"
	"strings"
	"testing"

	"ramet/internal/operation/session"
)

// A command that its group does not name is found only where all are made, and a name
// without its command hides what is wrong with a command line.
func TestGroupsNameTheirCommands(t *testing.T) {
	l := newLine(Env{}, session.New(session.System{}, session.Choice{}))
	all := groups(Env{}, l)
	for _, g := range all {
		var names []string
		for _, c := range g.commands() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
		if got := strings.Fields(g.names); !slices.Equal(got, names) {
			t.Errorf("group %q names %v, and has %v", g.id, got, names)
		}
		for _, name := range names {
			if got := needed(all, []string{name, "--help"}); len(got) != 1 || got[0].id != g.id {
				t.Errorf("%s makes the commands of %d groups", name, len(got))
			}
		}
	}
	for _, args := range [][]string{nil, {"help", "ps"}, {"--json", "ps"}, {"__complete", "p"}, {"pss"}} {
		if got := needed(all, args); len(got) != len(all) {
			t.Errorf("%v: %d of %d groups", args, len(got), len(all))
		}
	}
}
