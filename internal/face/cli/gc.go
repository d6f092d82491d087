package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
)

func gcCommand(l *Line) *cobra.Command {
	var s sweeping
	var all, dry bool
	keep, most := "30d", "2GB"
	c := &cobra.Command{
		Use:   "gc",
		Short: "Drop what nobody needs: blobs, old states of files, caches, worktrees of the dead",
		Long: `Drop blobs that no message names. Flags choose something else: --files, --worktrees,
--caches, or --all of these with the blobs. --dry-run says what would be dropped, how much
that is, and why; alone it is the plan of --all.

--files drops states of files: those that are older than --keep, and of the others the
oldest while all take more than --max. The newest state of each agent and of each folder
stays, and so does what was kept in the last hour. Entries that name a state that was
dropped stay as they are; its files can be restored no more.

--worktrees removes the worktrees of agents that ended. What is not committed there, or is
merged nowhere, stays, and is listed; what git ignores goes to the trash, which "ramet trash empty"
empties. --caches drops answers of models and what commands
cached, not used within --keep.

--evidence RUN takes away what was asked and answered in a run that ended, --artifacts RUN
every file that its log names too. The log says so: "ramet run verify" tells that they were
removed, not that they changed. Nothing of a run goes unless it is named.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			named := all || s.worktrees || s.caches || len(s.evidence)+len(s.artifacts) > 0
			if !named && !s.files && !dry && (c.Flags().Changed("keep") || c.Flags().Changed("max")) {
				return fault.New(fault.Usage, "gc: --keep and --max go with --files, --caches or --all").WithHint("add one of them, or leave it out")
			}
			if s.files && !named {
				return sweepFiles(l, c, keep, most, dry)
			}
			if !named && !dry {
				ws, err := l.Open(c.Context())
				if err != nil {
					return err
				}
				out, err := ws.Store.GC(c.Context())
				if err != nil {
					return err
				}
				return l.Print(careSwept(out))
			}
			if all || !named {
				s.blobs, s.files, s.worktrees, s.caches = true, true, true, true
			}
			var err error
			if s.since, s.most, err = limitsCare(l, keep, most); err != nil {
				return err
			}
			s.plan = dry
			return sweep(l, c.Context(), s)
		},
	}
	c.Flags().BoolVar(&s.files, "files", false, "states of files")
	c.Flags().BoolVar(&s.worktrees, "worktrees", false, "worktrees of agents that ended")
	c.Flags().BoolVar(&s.caches, "caches", false, "answers of models, and what commands cached")
	c.Flags().BoolVar(&all, "all", false, "blobs, states, worktrees and caches")
	c.Flags().StringSliceVar(&s.evidence, "evidence", nil, "evidence of this run, which ended")
	c.Flags().StringSliceVar(&s.artifacts, "artifacts", nil, "evidence and artifacts of this run, which ended")
	c.Flags().StringVar(&keep, "keep", keep, "how old states and caches may be (36h, 30d), or a date")
	c.Flags().StringVar(&most, "max", most, "with --files: how much of the disk they may take (500MB, 2GB)")
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be dropped")
	return c
}

// careSwept is the datum of gc.
type careSwept registry.Swept

func (d careSwept) Text(w *printer.Writer) {
	w.Line("dropped %s, %d bytes", text.Count(int(d.Blobs), "blob"), d.Bytes)
}
