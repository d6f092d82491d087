package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
)

func (s *session) rewindCommand() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "rewind AGENT [LABEL]",
		Short: "Go back to a mark or a message; print the entry's id",
		Long: `Go back: the context becomes what it was just after a mark (the newest of that
label; the newest mark if no label is given) or after the message --to ID.
Nothing is deleted, and what was rewound can be reached again. Files stay as
they are. A clear is a wall.`,
		Args:              arguments(1, 2),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("to") && len(args) == 2 {
				return fault.New(fault.Usage, "rewind: both a label and --to").WithHint("leave one of them out")
			}
			if c.Flags().Changed("to") {
				target, err := id.ParseMessage(to)
				if err != nil {
					return err
				}
				return s.append(c, args[0], history.NewRewind(target, ""))
			}
			return s.rewindToMark(c, args)
		},
	}
	c.Flags().StringVar(&to, "to", "", "message id")
	return c
}

func (s *session) rewindToMark(c *cobra.Command, args []string) error {
	label := ""
	if len(args) == 2 {
		label = args[1]
		if err := history.CheckLabel(label); err != nil {
			return err
		}
	}
	ws, a, err := s.findToWrite(c.Context(), args[0])
	if err != nil {
		return err
	}
	ranges, err := history.BuildRanges(c.Context(), ws, a.ID)
	if err != nil {
		return err
	}
	outline, err := history.Shape(c.Context(), ws, ranges)
	if err != nil {
		return err
	}
	mark, ok := outline.Mark(label)
	if !ok {
		return noMark(a.Label(), label, outline.Marks())
	}
	return s.append(c, string(a.ID), history.NewRewind(mark.ID, mark.Label))
}

func noMark(who, label string, marks []history.Label) error {
	if label == "" {
		return fault.New(fault.NotFound, "agent %s has no mark", who).
			WithHint("set one with `ramet mark`, or rewind with --to ID")
	}
	err := fault.New(fault.NotFound, "agent %s has no mark %q", who, label)
	var labels []string
	for _, m := range marks {
		if quoted := fmt.Sprintf("%q", m.Label); m.Label != "" && !slices.Contains(labels, quoted) {
			labels = append(labels, quoted)
		}
	}
	if len(labels) == 0 {
		return err.WithHint("it has no labels since its last clear")
	}
	return err.WithHint("it has %s", strings.Join(labels, ", "))
}
