package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

func skillsCommand(l *Line) *cobra.Command {
	list := func(check bool) func(*cobra.Command, []string) error {
		return func(c *cobra.Command, _ []string) error {
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			shape, err := ws.Prompts().Skills()
			if err != nil {
				return err
			}
			if err := l.Print(skills{shape, check}); err != nil {
				return err
			}
			if check && len(shape.Flaws) > 0 {
				return Exited(1)
			}
			return nil
		}
	}
	c := &cobra.Command{
		Use:   "skills",
		Short: "List the skills that agents can read",
		Long: `List the skills that agents can read: SKILL.md files in .agents/skills and .claude/skills
of the project, once you accepted them (ramet trust), of your home, and in skills beside
your configuration. An agent is told their names and descriptions, and reads one with
the tool skill. allowed-tools takes tools away until the turn ends, and adds none.`,
		Args: CheckArguments(0, 0),
		RunE: list(false),
	}
	c.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Check the skills, and other definitions, against their format",
		Long:  "Check the skills, agents and commands that the user and the project define. Exit 1 if a\nfile defines nothing.",
		Args:  CheckArguments(0, 0),
		RunE:  list(true),
	})
	return c
}

// skills is the datum of both.
type skills struct {
	public.Skills
	check bool
}

func (d skills) Text(w *printer.Writer) {
	rows := [][]string{{"SKILL", "WHOSE", "WHEN TO USE IT"}}
	for _, s := range d.Skills.Skills {
		rows = append(rows, []string{s.Name, s.Scope, text.Line(s.Description, 100)})
	}
	if len(d.Skills.Skills) == 0 {
		w.Line("there are no skills")
	} else {
		w.Table(rows)
	}
	for _, s := range d.Skills.Skills {
		for _, r := range s.Remarks {
			if d.check {
				w.Line("remark: %s: %s", text.Single(s.Path), r)
			}
		}
	}
	for _, f := range d.Flaws {
		w.Line("not used: %s: %s", text.Single(f.Path), text.Single(f.Why))
	}
	for _, f := range d.Hidden {
		w.Line("hidden: %s: %s", text.Single(f.Path), text.Single(f.Why))
	}
	for _, n := range d.Notes {
		w.Line("note: %s", n)
	}
}
