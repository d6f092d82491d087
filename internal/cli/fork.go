package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/printer"
	"ramet/internal/registry"
)

func (s *session) forkCommand() *cobra.Command {
	var name, prompt, at string
	c := &cobra.Command{
		Use:   "fork [AGENT]",
		Short: "Fork an agent; print the child's uuid",
		Long: `Fork an agent (agent 0 if none is named) and print the child's uuid. The child
inherits the context by reference: the cost does not depend on its length.
Files are shared, not copied.

With --at the child begins with a rewind to that message, so that its context
is the parent's as it was just after it.`,
		Args:              arguments(0, 1),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			ws, parent, err := s.findOr0(ctx, args)
			if err != nil {
				return err
			}
			child := registry.Child{ID: id.NewAgent(), Name: name}
			if c.Flags().Changed("name") {
				if err := agent.CheckName(name); err != nil {
					return err
				}
			}
			if c.Flags().Changed("at") {
				target, err := id.ParseMessage(at)
				if err != nil {
					return err
				}
				// Asked of the parent, so that the refusal speaks of what the user sees.
				if err := history.Lookup(ctx, ws, parent.ID, target); err != nil {
					return err
				}
				child.Entries = append(child.Entries, history.NewRewind(target, ""))
			}
			if c.Flags().Changed("prompt") {
				text, err := s.text(prompt)
				if err != nil {
					return err
				}
				said, err := history.Say(history.User, text)
				if err != nil {
					return err
				}
				child.Entries = append(child.Entries, said)
			}
			born, err := ws.Fork(ctx, registry.Fork{Parent: parent.ID, Claim: agent.Passing(), Children: []registry.Child{child}})
			if err != nil {
				return err
			}
			return s.print(forked(shapeAgent(born[0])))
		},
	}
	c.Flags().StringVar(&name, "name", "", "a name for the child")
	c.Flags().StringVar(&prompt, "prompt", "", "first message of the child (- reads standard input)")
	c.Flags().StringVar(&at, "at", "", "message id at which the child's context ends")
	return c
}

// forked is the datum of fork.
type forked agentShape

func (f forked) Text(w *printer.Writer) { w.Line("%s", string(f.UUID)) }
