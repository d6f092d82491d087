package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/operation"
)

// mailCommand is the command of the operation, with --delete in addition, which is an operation of its own.
func mailCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Mail)
	c.Short = "List an agent's mail, unread first, or delete some; marks nothing"
	c.Long += `

--delete N removes message N from the list. Its text stays in the histories that contain it,
and --deleted lists it.`
	var gone []int
	c.Flags().IntSliceVar(&gone, "delete", nil, "delete mail `N`; repeats")
	list := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(gone) == 0 {
			return list(c, args)
		}
		for _, name := range []string{"unread", "from", "match", "deleted", "limit"} {
			if c.Flags().Changed(name) {
				return fault.New(fault.Usage, "mail: --delete takes numbers, and no other filter then").WithHint("list them first, then delete them by their numbers")
			}
		}
		in := operation.DeleteMailInput{}
		if len(args) > 0 {
			in.Agent = operation.AgentRef(args[0])
		}
		for _, n := range gone {
			in.Numbers = append(in.Numbers, operation.LetterNumber(n))
		}
		return l.Do(c, &operation.DeleteMail, &in)
	}
	return c
}
