package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// showHelp prints the help of a command.
func showHelp(c *cobra.Command, _ []string) {
	long := strings.TrimSpace(c.Long)
	if long == "" {
		long = c.Short
	}
	fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s", long, c.UsageString())
}
