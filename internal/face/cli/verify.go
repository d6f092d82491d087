package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/core/registry"
	"ramet/internal/operation"
)

// verifyStoreCommand returns the command of the operation. The command shows its progress, and uses the key of
// this home if none is given.
func verifyStoreCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Verify)
	verify := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if given := c.Flags().Lookup("checkpoint").Changed; given && !c.Flags().Lookup("key").Changed {
			own, err := l.SigningKey()
			if err != nil {
				return err
			}
			c.Flags().Set("key", own.Verifier())
		}
		told := l.Progress("entries checked")
		defer told.End()
		c.SetContext(registry.Watching(c.Context(), told.Add))
		return verify(c, args)
	}
	return c
}
