package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/core/config"
	"ramet/internal/operation"
	"ramet/internal/turn/permit"
)

func configCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Config)
	c.Args = UnknownCommand
	return c
}

func promptCommand() *cobra.Command {
	return parent("prompt", "Show the instructions that agents get first", `Show the prompts: the texts that every agent gets before the conversation. To replace
one, put a file of the same name, such as prompts/base.md, next to your configuration
file (ramet config path).`)
}

// ConfinedRules returns the note about rules that permit commands where these
// run confined.
func ConfinedRules(rules ...string) string {
	return "the box holds for rules too: with permission = \"sandbox\", or in mode box, what " + strings.Join(rules, ", ") +
		" permits runs confined; bash!(COMMAND) is the rule that runs outside"
}

// boxedRules returns the rules of the user that permit commands, if these run confined.
func boxedRules(ctx context.Context, l *Line) (out []string, err error) {
	conf, err := l.Settings()
	if err != nil {
		return nil, err
	}
	if mode, err := permit.ParseMode(conf.Permission); err != nil || mode != permit.Box {
		return nil, err
	}
	all, err := operation.Rules.Call(ctx, l.client(), operation.RulesInput{})
	for _, text := range append(all.Allow, all.Rules...) {
		r, err := permit.Parse(text)
		if err != nil {
			return nil, err
		}
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

func settingKeys() (out []string) {
	for _, known := range config.Settings() {
		out = append(out, known.Key)
	}
	return out
}
