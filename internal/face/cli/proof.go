package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
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

func keyCommand(l *Line) *cobra.Command {
	return l.command("key", "Print the public key of our checkpoints", `Print the public key that verifies checkpoints signed in this home. The key pair is created
on first use. The private key never leaves the home folder.`, 0, 0, func(context.Context, []string) (printer.Datum, error) {
		key, err := l.SigningKey()
		if err != nil {
			return nil, err
		}
		return printer.Result{JSON: map[string]string{"key": key.Verifier()}, Write: func(w *printer.Writer) { w.Line("%s", key.Verifier()) }}, nil
	})
}
