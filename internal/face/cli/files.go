package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

// fileCommands are the commands of this group.
func fileCommands(l *Line) []*cobra.Command {
	return []*cobra.Command{filesCommand(l), diffCommand(l), restoreCommand(l), undoCommand(l)}
}

func filesCommand(l *Line) *cobra.Command {
	var at string
	var states bool
	c := &cobra.Command{
		Use:   "files [AGENT]",
		Short: "List an agent's files as they were",
		Long: `List the files of an agent's folder (agent 0 if none is named) as the newest entry of
its history tells them; with --at ID, as they were when that message was written.
--states lists the entries instead: a state is taken before the first call of a turn
that may write, and after all that may have written, if something changed; a mark and a
restore record one too.

A file over 50 MB, a file that contains one of your keys, and what is over the 1 GB that is kept
at a time are known by their hash only. They can be restored while they are in the trash ("ramet
trash"). Ignored files are left out ("ramet config get files").`,
		Args:              CheckArguments(0, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			var when id.Message
			if c.Flags().Changed("at") {
				if states {
					return fault.New(fault.Usage, "files: both --at and --states").WithHint("leave one of them out")
				}
				var err error
				if when, err = id.ParseMessage(at); err != nil {
					return err
				}
			}
			ws, a, err := l.FindOr0(c.Context(), args)
			if err != nil {
				return err
			}
			if states {
				all, err := ws.Files().ShowStates(c.Context(), a)
				if err != nil {
					return err
				}
				return l.Print(stateList{all})
			}
			s, err := ws.Files().StateAt(c.Context(), a, when)
			if err != nil {
				return err
			}
			out, err := ws.Files().ShowFiles(s)
			if err != nil {
				return err
			}
			return l.Print(listing{out})
		},
	}
	c.Flags().StringVar(&at, "at", "", "message id")
	c.Flags().BoolVar(&states, "states", false, "list the states, not the files of one")
	return c
}

// listing is the datum of files.
type listing struct{ public.FileList }

// Text of a listing: the files; folders show in their paths.
func (d listing) Text(w *printer.Writer) {
	for _, f := range d.Files {
		note := ""
		switch {
		case f.Kind == "folder":
			continue
		case f.Kind == "repository":
			note = "  (another repository: its files are neither kept nor restored)"
		case f.Hash == "":
			note = "  (not known)"
		case !f.Restorable:
			note = "  (not restorable)"
		}
		w.Line("%s %9d  %s%v", f.Mode, f.Size, text.Name(f.Path), w.Dim(note))
	}
	if d.Partial {
		w.Line("%v", w.Dim(fmt.Sprintf("partial: %d of %d", d.Seen, d.Of)))
	}
}

// stateList is the datum of files --states.
type stateList struct{ public.FileStates }

// Text of a list of states.
func (d stateList) Text(w *printer.Writer) {
	if len(d.States) == 0 {
		w.Line("no states")
		return
	}
	rows := [][]string{{"ID", "WHEN", "CHANGED", "BYTES", "STATE", "BRANCH"}}
	for _, s := range d.States {
		root, branch := "none: ", ""
		if s.Root != nil {
			root = (*s.Root)[:12]
		} else if s.None != nil {
			root += *s.None
		}
		if s.Partial {
			root += fmt.Sprintf(" (partial: %d of %d)", s.Seen, s.Of)
		}
		if s.Branch != nil {
			branch = *s.Branch
		}
		rows = append(rows, []string{s.ID.String(), string(s.When), fmt.Sprint(s.Changed), fmt.Sprint(s.Bytes), root, branch})
	}
	w.Table(rows)
}
