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

// completeTracked completes ids of the ledger that fit.
func completeTracked(l *Line, f *trackFlags, fits func(ledger.Status) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		folder, err := ledgerOf(l, f, l.Dir)
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
