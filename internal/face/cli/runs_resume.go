package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/run"
)

func resumeRunCommand(l *Line, f *runFlags, p RunsPorts) *cobra.Command {
	var o carryFlags
	var wishes run.Wishes
	var accept string
	c := &cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a run that was interrupted",
		Long: `Go on with a run where its log ends. What was completed is not done again while its
inputs and outputs are what they were; what was interrupted is done again; of external
effects without a way to look them up nobody knows whether they happened: they are listed
(UNKNOWN_OUTCOME) and done again only with --redo. ` + "`ramet run plan ID`" + ` shows it before.

A run that another host took up (` + "`ramet worker --orchestrate`" + `) brings its files with it; one
that is DONE there is only fetched.

A run is yours if its checkpoints are signed by the key of your home. One that is not, such
as one that came with a repository, is carried out only after your consent: what would run
is listed, and you are asked; in a script --accept names exactly that.

` + ExitHelp(),
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if there, err := l.GoOn(c.Context(), o.detached); there {
				return err
			}
			store, err := l.Runs(f.dir)
			if err != nil {
				return err
			}
			kind, err := f.kind()
			if err != nil {
				return err
			}
			agreed, err := consent(l, c.Context(), store, args[0], kind, accept)
			if err != nil {
				return err
			}
			x, err := store.OpenAfresh(c.Context(), args[0], kind)
			if err != nil {
				return err
			}
			if agreed != "" {
				if err := x.Adopt(c.Context(), agreed); err != nil {
					return errors.Join(err, x.Close())
				}
			}
			if x.Repaired != "" {
				fmt.Fprintf(l.Stderr, "LOG_TAIL_REPAIRED: %s\n", x.Repaired)
			}
			home, err := fetch(c.Context(), l, p, store, x)
			if err != nil || home {
				return errors.Join(err, x.Close())
			}
			if x.Came() == run.Done { // which carry refuses
				return errors.Join(carry(l, p, c.Context(), &o, store, x, wishes), x.Close())
			}
			return carryOn(l, p, c.Context(), &o, store, x, wishes)
		},
	}
	c.Flags().StringArrayVar(&wishes.Redo, "redo", nil, "a work item to do again; repeats")
	c.Flags().BoolVar(&wishes.Force, "force", false, "do everything again")
	c.Flags().BoolVar(&wishes.FromFailed, "from-failed", false, "reopen a run that FAILED")
	c.Flags().StringVar(&accept, "accept", "", "consent to a run that is not yours, if what would run has this digest")
	c.RegisterFlagCompletionFunc("accept", cobra.NoFileCompletions)
	o.add(c)
	return c
}
