package care

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/config"
	"ramet/internal/printer"
	"ramet/internal/session"
	"ramet/internal/workspace"
)

func trustCommand(l *line.Line) *cobra.Command {
	var revoke bool
	c := &cobra.Command{
		Use:   "trust",
		Short: "Let the files of this project act",
		Long: `Trust the project you stand in: its .ramet/config.toml is read from now on, and its
AGENTS.md (else CLAUDE.md) stands before every conversation.
Trust is bound to the content of the files that act; when one of them changes,
it ends.`,
		Args: line.Arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := l.Person("trust"); err != nil {
				return err
			}
			home, err := l.HomeDir()
			if err != nil {
				return err
			}
			project, err := workspace.Project(l.Dir)
			if err != nil {
				return err
			}
			if revoke {
				err = config.Revoke(c.Context(), home, project)
			} else {
				err = config.SetTrusted(c.Context(), home, project, session.Acting)
			}
			if err != nil {
				return err
			}
			return l.Print(trust{project, !revoke})
		},
	}
	c.Flags().BoolVar(&revoke, "revoke", false, "end the trust")
	return c
}

// trust is the datum of trust.
type trust struct {
	Project string `json:"project"`
	Trusted bool   `json:"trusted"`
}

func (t trust) Text(w *printer.Writer) {
	if t.Trusted {
		w.Line("%s is trusted with its files as they are now", t.Project)
	} else {
		w.Line("%s is not trusted", t.Project)
	}
}
