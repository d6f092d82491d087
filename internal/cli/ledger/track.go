// Package ledger are the commands of the ledger of sub-agents.
package ledger

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/fault"
	"ramet/internal/ledger"
	"ramet/internal/ledger/file"
	"ramet/internal/session"
	"ramet/internal/workspace"
)

// trackFlags choose the ledger.
type trackFlags struct{ state string }

// Commands are the commands of this group.
func Commands(l *line.Line) []*cobra.Command { return []*cobra.Command{trackCommand(l)} }

func trackCommand(l *line.Line) *cobra.Command {
	f := &trackFlags{}
	c := &cobra.Command{
		Use:   "track",
		Short: "The ledger of spawned sub-agents",
		Long: `Keep account of every sub-agent that is spawned, by whatever program: who runs, who
ended how, who was interrupted and can be resumed.

The ledger is two files in a state folder, agent-history.json and
current-agent-id.txt, which other tools read and write too; what they add is kept.
Each command first repairs what it finds damaged, and says so on standard error.

spawned goes to completed, failed, timeout or interrupted; interrupted goes to
resumed or failed; the others are final.`,
		Args: line.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&f.state, "state", "", "state folder, such as .long-run (default .ramet of the project)")
	c.AddCommand(spawnCommand(l, f), completeCommand(l, f), failCommand(l, f), timeoutCommand(l, f), interruptCommand(l, f), resumeCommand(l, f),
		runCommand(l, f), activeCommand(l, f), interruptedCommand(l, f), historyCommand(l, f), listCommand(l, f),
		recoverCommand(l, f), watchCommand(l, f), installCommand(l, f), uninstallCommand(l), hookCommand(l, f))
	return c
}

// ledgerOf is the ledger that the flags choose, as seen from a folder.
func ledgerOf(l *line.Line, c *cobra.Command, f *trackFlags, from string) (*file.Folder, error) {
	if c.Flags().Changed("state") && f.state == "" {
		return nil, fault.New(fault.Usage, "--state is empty").WithHint("give it a value, or leave it out")
	}
	project, err := workspace.Project(from)
	if err != nil {
		return nil, err
	}
	dir := f.state
	switch {
	case dir == "":
		dir = filepath.Join(project, ".ramet")
	case !filepath.IsAbs(dir):
		here, err := filepath.EvalSymlinks(from)
		if err != nil {
			return nil, fault.New(fault.NotFound, "folder %s: %w", from, err)
		}
		dir = filepath.Join(here, dir)
	}
	if err := session.Stays(project, dir, "give the folder itself with --state"); err != nil {
		return nil, err
	}
	return file.At(dir, file.Options{Now: l.Now, Repaired: l.TellRepair, Project: project}), nil
}

// makeState makes the default folder as every .ramet is made.
func makeState(l *line.Line, f *trackFlags, from string) error {
	if f.state != "" {
		return nil
	}
	return session.MakeProjectFolder(from)
}

// completeTracked completes ids of the ledger that fit.
func completeTracked(l *line.Line, f *trackFlags, fits func(ledger.Status) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		folder, err := ledgerOf(l, c, f, l.Dir)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		v, err := folder.Read(context.WithoutCancel(c.Context()))
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var out []string
		for _, e := range v.Entries() {
			if fits(e.Status) {
				out = append(out, e.ID)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
