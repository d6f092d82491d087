package cli

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
)

// lineAlone stands in for what the script for bash takes from the package bash-completion, where that is not
// installed: macOS and many images have none, and each Tab would print an error.
//
//go:embed alone.bash
var lineAlone string

// AddCompletion adds the commands that print scripts for shells, which refuse
// arguments as all others do.
func AddCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = UnknownCommand
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		for _, shell := range c.Commands() {
			shell.Args = CheckArguments(0, 0)
			if shell.Name() == "bash" {
				standAlone(shell)
			}
		}
	}
}

func standAlone(bash *cobra.Command) {
	print := bash.RunE
	bash.RunE = func(c *cobra.Command, args []string) error {
		if _, err := io.WriteString(c.OutOrStdout(), lineAlone); err != nil {
			return err
		}
		return print(c, args)
	}
}
