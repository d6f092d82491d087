package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/core/config"
	"ramet/internal/turn/permit"
)

func rulesCommand(l *Line) *cobra.Command {
	var remove string
	c := &cobra.Command{
		Use:   "rules",
		Short: "List or remove the rules that you saved for this project",
		Long: `List the rules that you saved for this project when you were asked, and those of the
setting allow. They stand in ramet's home: nothing that lies in a project permits anything.

A rule permits asking less, not leaving the box: with permission = "sandbox", or in mode
box, a command that a rule permits still runs confined. bash!(COMMAND) runs outside.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			home, err := l.HomeDir()
			if err != nil {
				return err
			}
			project, err := config.ProjectFolder(l.Dir)
			if err != nil {
				return err
			}
			if c.Flags().Changed("remove") {
				if err := l.Person("remove a rule"); err != nil {
					return err
				}
				if err := config.DropRule(c.Context(), home, project, remove); err != nil {
					return err
				}
			}
			out := ruleList{Project: project, Rules: []string{}, Allow: []string{}}
			saved, err := config.ReadRules(home, project)
			if err != nil {
				return err
			}
			out.Rules = append(out.Rules, saved...)
			conf, err := l.Settings()
			if err != nil {
				return err
			}
			all, err := permit.ParseAll(conf.Allow)
			if err != nil {
				return err
			}
			for _, r := range all {
				out.Allow = append(out.Allow, r.String())
			}
			return l.Print(out)
		},
	}
	c.Flags().StringVar(&remove, "remove", "", "take a rule of this project back")
	return c
}

// ruleList is the datum of rules.
type ruleList struct {
	Project string   `json:"project"`
	Rules   []string `json:"rules"` // saved for the project
	Allow   []string `json:"allow"` // of the setting
}

func (l ruleList) Text(w *printer.Writer) {
	for _, r := range l.Rules {
		w.Line("%s", r)
	}
	for _, r := range l.Allow {
		w.Line("%s %v", r, w.Dim("(setting allow)"))
	}
	if len(l.Rules)+len(l.Allow) == 0 {
		w.Line("no rules")
	}
}

// ConfinedRules returns the note about rules that permit commands where these
// run confined.
func ConfinedRules(rules ...string) string {
	return "the box holds for rules too: with permission = \"sandbox\", or in mode box, what " + strings.Join(rules, ", ") +
		" permits runs confined; bash!(COMMAND) is the rule that runs outside"
}

// boxedRules are the rules of the user that permit commands, if these run confined.
func boxedRules(l *Line) (out []string, err error) {
	conf, err := l.Settings()
	if err != nil {
		return nil, err
	}
	if mode, err := permit.ParseMode(conf.Permission); err != nil || mode != permit.Box {
		return nil, err
	}
	home, err := l.HomeDir()
	if err != nil {
		return nil, err
	}
	project, err := config.ProjectFolder(l.Dir)
	if err != nil {
		return nil, err
	}
	saved, err := config.ReadRules(home, project)
	if err != nil {
		return nil, err
	}
	all, err := permit.ParseAll(conf.Allow)
	if err != nil {
		return nil, err
	}
	for _, text := range saved {
		r, err := permit.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	for _, r := range all {
		if r.Tool == "bash" && !r.Outside {
			out = append(out, r.String())
		}
	}
	return out, nil
}
