package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/core/config"
	"ramet/internal/turn/permit"
)

func rulesCommand(l *Line) *cobra.Command {
	var remove string
	var c *cobra.Command
	c = l.command("rules", "List or remove the rules that you saved for this project", `List the rules that you saved for this project when you were asked, and those of the
setting allow. They stand in ramet's home: nothing that lies in a project permits anything.

A rule permits asking less, not leaving the box: with permission = "sandbox", or in mode
box, a command that a rule permits still runs confined. bash!(COMMAND) runs outside.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		home, err := l.HomeDir()
		if err != nil {
			return nil, err
		}
		project, err := config.ProjectFolder(l.Dir)
		if err != nil {
			return nil, err
		}
		if c.Flags().Changed("remove") {
			if err := l.Person("remove a rule"); err != nil {
				return nil, err
			}
			if err := config.DropRule(ctx, home, project, remove); err != nil {
				return nil, err
			}
		}
		out := ruleList{Project: project, Allow: []string{}}
		if out.Rules, err = config.ReadRules(home, project); err != nil {
			return nil, err
		}
		out.Rules = append([]string{}, out.Rules...)
		conf, err := l.Settings()
		if err != nil {
			return nil, err
		}
		all, err := permit.ParseAll(conf.Allow)
		for _, r := range all {
			out.Allow = append(out.Allow, r.String())
		}
		return out, err
	})
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

// boxedRules returns the rules of the user that permit commands, if these run confined.
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
	saved, err := ReadRules(home, project)
	if err != nil {
		return nil, err
	}
	all, err := permit.ParseAll(conf.Allow)
	for _, r := range append(all, saved...) {
		if r.Tool == "bash" && !r.Outside {
			out = append(out, r.String())
		}
	}
	return out, err
}

// ReadRules returns the rules that the user saved for a project.
func ReadRules(home, project string) ([]permit.Rule, error) {
	texts, err := config.ReadRules(home, project)
	if err != nil {
		return nil, err
	}
	out := make([]permit.Rule, len(texts))
	for i, text := range texts {
		if out[i], err = permit.Parse(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}
