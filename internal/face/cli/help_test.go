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

// Help begins with what one does; what it may exit with stands at the end.
func TestHelpEndsWithTheCodes(t *testing.T) {
	root := Tree()
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		var out strings.Builder
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Error(err)
		}
		at := strings.Index(out.String(), "Exit codes:")
		if at >= 0 && at < strings.Index(out.String(), "Usage:") {
			t.Errorf("%s: the codes stand before the usage", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(root)
}
