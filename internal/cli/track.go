package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/fault"
	"ramet/internal/ledger"
	"ramet/internal/ledger/file"
	"ramet/internal/workspace"
)

// trackFlags choose the ledger.
type trackFlags struct{ state string }

func (s *session) trackCommand() *cobra.Command {
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
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&f.state, "state", "", "state folder, such as .long-run (default .ramet of the project)")
	c.AddCommand(s.trackSpawn(f), s.trackComplete(f), s.trackFail(f), s.trackTimeout(f), s.trackInterrupt(f), s.trackResume(f),
		s.trackRun(f), s.trackActive(f), s.trackInterrupted(f), s.trackHistory(f), s.trackList(f),
		s.trackRecover(f), s.trackWatch(f), s.trackInstall(f), s.trackUninstall(), s.trackHook(f))
	return c
}

// ledger is the one that the flags choose, as seen from a folder.
func (s *session) ledger(c *cobra.Command, f *trackFlags, from string) (*file.Folder, error) {
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
	if err := stays(project, dir, "give the folder itself with --state"); err != nil {
		return nil, err
	}
	return file.At(dir, file.Options{Now: s.Now, Repaired: s.tellRepair}), nil
}

// makeState makes the default folder as every .ramet is made.
func (s *session) makeState(f *trackFlags, from string) error {
	if f.state != "" {
		return nil
	}
	return makeProjectFolder(from)
}

// stays refuses a path of the project that leads out of it: a repository must not choose
// what is written elsewhere. What the user names outside is the user's will.
func stays(project, path, hint string) error {
	if !inside(project, path) {
		return nil
	}
	at, rest := path, ""
	for {
		_, err := os.Lstat(at)
		if err == nil || at == filepath.Dir(at) {
			break
		}
		at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest)
	}
	real, err := filepath.EvalSymlinks(at)
	if err == nil && inside(project, filepath.Join(real, rest)) {
		return nil
	}
	return fault.New(fault.Denied, "%s is a link that leads out of the project", path).WithHint("%s", hint)
}

func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// tellRepair says what was repaired, where it is in nobody's way.
func (s *session) tellRepair(r file.Repair) {
	fmt.Fprintf(s.Stderr, "LEDGER_RECOVERED: %s\n", repairSentence(r))
}

func repairSentence(r file.Repair) string {
	return fmt.Sprintf("%s could not be read and is kept as %s; made again from the %s, with %s",
		ledger.FileName, filepath.Base(r.Corrupt), r.From, count(r.Entries, "entry"))
}

// completeTracked completes ids of the ledger that fit.
func (s *session) completeTracked(f *trackFlags, fits func(ledger.Status) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		folder, err := s.ledger(c, f, s.Dir)
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
