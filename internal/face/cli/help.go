package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// showHelp prints what a command does, how it is called, and at the end with what it may exit.
func showHelp(c *cobra.Command, _ []string) {
	long := strings.TrimSpace(c.Long)
	if long == "" {
		long = c.Short
	}
	long, exits, told := strings.Cut(long, "\n\nExit codes:") // the last paragraph of those that have it
	out := c.OutOrStdout()
	fmt.Fprintf(out, "%s\n\n%s", strings.TrimSpace(long), c.UsageString())
	if told {
		fmt.Fprintf(out, "\nExit codes:%s\n", exits)
	}
}
