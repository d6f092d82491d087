package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/operation/session"
)

// Tree is every command, to be read and not run: man pages and completions are made of it
// when a release is built (tools/release).
func Tree() *cobra.Command {
	return newRoot(Env{}, newLine(Env{}, session.New(session.System{}, session.Choice{})), nil)
}
