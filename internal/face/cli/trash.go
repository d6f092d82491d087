package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func trashCommand(l *Line) *cobra.Command {
	c := &cobra.Command{
		Use:   "trash",
		Short: "List, restore or delete files that ramet moved out of the way",
		Long: `List what is in the trash of the workspace: its id, age and size, which act moved it there,
whose files they were, and where it was.

ramet deletes no file of yours. Rewind, undo, restore, merge and the removal of worktrees move
what they could not bring back to the trash: files over 50 MB, files that contain one of your
keys, what is over the 1 GB that is kept at a time, files that a program has open for writing,
and what git ignores. The trash is on the same file system as the files, so moving them takes
no room; if it cannot be, the command refuses before it touches anything. Agents do not see it.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			out, err := ws.Care().ShowTrash(c.Context())
			if err != nil {
				return err
			}
			return l.Print(trashList{out})
		},
	}
	c.AddCommand(trashRestore(l), trashEmpty(l))
	return c
}

func trashRestore(l *Line) *cobra.Command {
	to := ""
	c := &cobra.Command{
		Use:   "restore ID|PATH",
		Short: "Move files from the trash back to where they were",
		Long: `Move an item from the trash back to where it was, or to another path with --to. An item has
an id such as k3hxa7mq.2; k3hxa7mq means everything that the same act moved. A path means the
item that was there. Nothing is overwritten: if something is there, the command refuses.

"ramet undo" brings files back too, if it takes back the act that moved them.`,
		Args:              CheckArguments(1, 1),
		ValidArgsFunction: l.CompleteTrash,
		RunE: func(c *cobra.Command, args []string) error {
			if to != "" && !filepath.IsAbs(to) {
				to = filepath.Join(l.Dir, to)
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			out, err := ws.Care().RestoreTrash(c.Context(), args[0], to)
			if err != nil && len(out.Restored) == 0 {
				return err
			}
			if shown := l.Print(trashRestored{out}); err == nil {
				err = shown
			}
			return err
		},
	}
	c.Flags().StringVar(&to, "to", "", "restore to this path instead")
	return c
}

func trashEmpty(l *Line) *cobra.Command {
	var older, over string
	var yes, dry bool
	c := &cobra.Command{
		Use:   "empty",
		Short: "Delete what is in the trash for good",
		Long: `Delete what is in the trash for good: everything, or what was moved there longer ago than
--older, or is larger than --over; with both, what is older and larger. It asks first; --yes does
not ask, and --dry-run only says what would be deleted.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			e := session.Emptying{Plan: true}
			var err error
			if c.Flags().Changed("older") {
				if e.Before, err = registry.ParseSince(older, l.Now()); err != nil || older == "" {
					return fault.New(fault.Usage, "--older %.40q is neither a date nor an age", older).WithHint("write 30d, 36h or 2026-11-01")
				}
			}
			if c.Flags().Changed("over") {
				if e.Over, err = ParseSize("over", over); err != nil {
					return err
				}
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			if dry || !yes {
				plan, err := ws.Care().EmptyTrash(c.Context(), e)
				if err != nil || dry || len(plan.Items) == 0 {
					plan.Plan = dry
					return firstErrorFiles(err, func() error { return l.Print(trashEmptied{plan}) })
				}
				if err := askEmpty(l, plan); err != nil {
					return err
				}
			}
			e.Plan = false
			out, err := ws.Care().EmptyTrash(c.Context(), e)
			return firstErrorFiles(err, func() error { return l.Print(trashEmptied{out}) })
		},
	}
	c.Flags().StringVar(&older, "older", "", "what was moved there longer ago than this (36h, 30d), or before a date")
	c.Flags().StringVar(&over, "over", "", "what is larger than this (500MB, 2GB)")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be deleted")
	return c
}

// askEmpty asks whether items are to be deleted.
func askEmpty(l *Line, plan public.TrashEmptied) error {
	if l.Password == nil || l.JSON {
		return fault.New(fault.Usage, "trash empty deletes %s for good, and there is no terminal to ask on", text.Count(len(plan.Items), "item")).
			WithHint("--dry-run lists them; repeat with --yes")
	}
	(&printer.Printer{Out: l.Stderr, Color: l.Color(l.ErrTerminal), Now: l.Now}).Print(trashEmptied{plan})
	if !l.Yes("Delete them for good? [y/N] ") {
		return fault.New(fault.Cancelled, "not confirmed, nothing was deleted").WithHint("answer y, or repeat with --yes")
	}
	return nil
}

func firstErrorFiles(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

// trashList is the datum of trash.
type trashList struct{ public.Trash }

// Text of a list.
func (d trashList) Text(w *printer.Writer) {
	if len(d.Items) == 0 {
		w.Line("the trash is empty")
		return
	}
	printTrash(w, d.Items)
	w.Line("%v", w.Dim(fmt.Sprintf("%s, %s; `ramet trash restore ID` brings one back", text.Count(len(d.Items), "item"), formatSize(d.Bytes))))
}

func printTrash(w *printer.Writer, items []public.TrashItem) {
	rows := [][]string{{"ID", "AGE", "SIZE", "ACT", "AGENT", "PATH"}}
	for _, i := range items {
		agent := "-"
		if i.Agent != nil {
			agent = (*i.Agent)[:min(8, len(*i.Agent))]
		}
		at, err := time.Parse(time.RFC3339, i.At)
		age := i.At
		if err == nil {
			age = w.Age(at)
		}
		path := text.Name(i.Path)
		if i.Kind == "folder" || i.Kind == "worktree" {
			path += "/"
		}
		rows = append(rows, []string{i.ID, age, formatSize(i.Size), i.Act, agent, path})
	}
	w.Table(rows)
}

// formatSize writes a size as --over reads it.
func formatSize(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	size, unit := float64(n), 0
	for ; size >= 1000 && unit < len(units)-1; unit++ {
		size /= 1000
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// trashRestored is the datum of trash restore.
type trashRestored struct{ public.TrashRestores }

// Text of what is back.
func (d trashRestored) Text(w *printer.Writer) {
	for _, r := range d.Restored {
		w.Line("restored  %s", text.Name(r.To))
	}
}

// trashEmptied is the datum of trash empty.
type trashEmptied struct{ public.TrashEmptied }

// Text of what was deleted.
func (d trashEmptied) Text(w *printer.Writer) {
	if d.Plan && len(d.Items) > 0 {
		printTrash(w, d.Items)
	}
	did := map[bool]string{false: "deleted", true: "would delete"}[d.Plan]
	w.Line("%s %s, %s", did, text.Count(len(d.Items), "item"), formatSize(d.Bytes))
}
