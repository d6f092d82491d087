package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ramet/internal/base/fault"
	"ramet/internal/core/config"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
)

// trackFlags choose the ledger.
type trackFlags struct {
	state string
	flag  *pflag.Flag // for state
}

// ledgerOf is the ledger that the flags choose, as seen from a folder.
func ledgerOf(l *Line, f *trackFlags, from string) (*ledger.Folder, error) {
	if f.flag.Changed && f.state == "" {
		return nil, fault.New(fault.Usage, "--state is empty").WithHint("give it a value, or leave it out")
	}
	project, err := config.ProjectFolder(from)
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
	if err := session.CheckInside(project, dir, "give the folder itself with --state"); err != nil {
		return nil, err
	}
	return ledger.FolderAt(dir, ledger.FolderOptions{Now: l.Now, Repaired: l.TellRepair, Project: project}), nil
}

// makeState makes the default folder as every .ramet is made.
func makeState(l *Line, f *trackFlags, from string) error {
	if f.state != "" {
		return nil
	}
	return session.MakeProjectFolder(from)
}

// completeTracked completes ids of the ledger that can change their status.
func (l *Line) completeTracked(c *cobra.Command, _ []string, _ string) (out []string, _ cobra.ShellCompDirective) {
	folder, err := l.OpenLedger(false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	v, err := folder.Read(context.WithoutCancel(c.Context()))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, e := range v.Entries() {
		if e.Status.Live() {
			out = append(out, e.ID)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func trackCommand(l *Line) *cobra.Command {
	f := &trackFlags{}
	c := parent("track", "The ledger of spawned sub-agents", `Record every sub-agent that any program spawns: which are running, how the others ended,
and which were interrupted and can be resumed.

The ledger is two files in a state folder, agent-history.json and current-agent-id.txt.
Other tools read and write them too, and what they add is preserved. Every command first
repairs damage that it finds, and reports it on standard error.

A spawned sub-agent becomes completed, failed, timeout or interrupted. An interrupted one
becomes resumed or failed. The other states are final.`, hookCommand(l, f), runWithLedgerCommand(l))
	c.PersistentFlags().StringVar(&f.state, "state", "", "state folder, such as .long-run (default .ramet of the project)")
	f.flag = c.PersistentFlags().Lookup("state")
	l.OpenLedger = func(make bool) (*ledger.Folder, error) {
		folder, err := ledgerOf(l, f, l.Dir)
		if err == nil && make {
			err = makeState(l, f, l.Dir)
		}
		return folder, err
	}
	return c
}
