package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// In the help of a flag the words between back-quotes become the name of its value.
func TestHelpOfFlagsNamesNoCommandsAsValues(t *testing.T) {
	name := regexp.MustCompile("`[A-Z][A-Z_]*`")
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(name.ReplaceAllString(f.Usage, ""), "`") {
				t.Errorf("%s --%s: %s", c.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(Tree())
}

// The table of exit codes is a topic of its own, not a part of every command's help.
func TestExitCodesAreATopic(t *testing.T) {
	var out strings.Builder
	help := HelpCommand()
	help.SetOut(&out)
	help.SetArgs([]string{"exit-codes"})
	if err := help.Execute(); err != nil || !strings.HasPrefix(out.String(), "Exit codes: 0 ok\n    1  FAILED, ") {
		t.Errorf("%v\n%s", err, out.String())
	}
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if strings.Contains(c.Long, "Exit codes:") {
			t.Errorf("%s has a table of exit codes", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(Tree())
}
