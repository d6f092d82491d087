package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/core/config"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

func configCommand(l *Line) *cobra.Command {
	c := l.command("config", "Show or change settings", `Show all settings, with the place each value comes from: the user's file, the
project's file (after "ramet trust"), the environment, or the default.

`+settingsHelp(), 0, 0, func(context.Context, []string) (printer.Datum, error) {
		out := settingList{Ignored: []string{}}
		conf, err := l.Settings()
		if err != nil {
			return nil, err
		}
		for _, known := range config.Settings() {
			one, err := setting(l, known.Key)
			if err != nil {
				return nil, err
			}
			out.Settings = append(out.Settings, one)
		}
		out.Ignored = append(out.Ignored, conf.Ignored...)
		return out, nil
	})
	c.Args = UnknownCommand
	get := l.command("get KEY", "Print the value of a setting", "", 1, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		return setting(l, args[0])
	})
	set := l.command("set KEY VALUE", "Change a setting in the user's file", "", 2, 2, func(ctx context.Context, args []string) (printer.Datum, error) {
		path, err := config.Path(l.Getenv)
		if err == nil {
			err = session.CheckSetting(args[0], args[1])
		}
		if err == nil {
			err = config.Set(ctx, path, args[0], args[1])
		}
		if err != nil {
			return nil, err
		}
		return setting(l, args[0])
	})
	get.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, known := range config.Settings() {
			out = append(out, known.Key)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	set.ValidArgsFunction = get.ValidArgsFunction
	c.AddCommand(get, set, l.command("path", "Print the path of the user's file", "", 0, 0, func(context.Context, []string) (printer.Datum, error) {
		path, err := config.Path(l.Getenv)
		return pathShape{path}, err
	}))
	return c
}

// settingsHelp is the table of settings for --help.
func settingsHelp() string {
	var b strings.Builder
	b.WriteString("Settings:")
	for _, known := range config.Settings() {
		fmt.Fprintf(&b, "\n  %-11s %s", known.Key, known.Help)
		if known.UserOnly {
			b.WriteString("\n              (not from a project's file)")
		}
	}
	return b.String()
}

func setting(l *Line, key string) (settingShape, error) {
	conf, err := l.Settings()
	if err != nil {
		return settingShape{}, err
	}
	v, err := conf.Get(key)
	return settingShape{key, v.Text, string(v.Layer), v.Where}, err
}

// settingShape is the datum of config get.
type settingShape struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Layer string `json:"layer"`
	Where string `json:"where"`
}

func (d settingShape) Text(w *printer.Writer) { w.Line("%s", d.Value) }

// settingList is the datum of config.
type settingList struct {
	Settings []settingShape `json:"settings"`
	Ignored  []string       `json:"ignored"`
}

func (l settingList) Text(w *printer.Writer) {
	rows := [][]string{{"KEY", "VALUE", "FROM"}}
	for _, d := range l.Settings {
		from := d.Layer
		if d.Where != "" {
			from += " " + d.Where
		}
		rows = append(rows, []string{d.Key, d.Value, from})
	}
	w.Table(rows)
	for _, path := range l.Ignored {
		w.Line("%s is not used: this version has not been accepted (`ramet trust`)", path)
	}
}

// pathShape is the datum of config path.
type pathShape struct {
	Path string `json:"path"`
}

func (p pathShape) Text(w *printer.Writer) { w.Line("%s", p.Path) }

func rulesCommand(l *Line) *cobra.Command {
	var remove string
	var c *cobra.Command
	c = l.command("rules", "List or remove saved permission rules of this project", `List the rules that you saved for this project when you were asked, and those of the
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

// sets are tools that agents have, by who has them.
var sets = map[string]string{
	"person": "bash read write edit glob grep fetch job plan ask fork kill send read_mail wait ps look diff merge recall",
	"alone":  "bash read write edit glob grep fetch job read_mail recall children",
	"worker": "bash read write edit glob grep recall",
	"bare":   "",
}

func promptCommand(l *Line) *cobra.Command {
	return parent("prompt", "Show the instructions that agents get first", `Agents are told a few texts before everything else. A file of the same name in the
folder prompts beside your configuration (ramet config path) takes the place of one,
such as prompts/base.md.`, promptShow(l))
}

func promptShow(l *Line) *cobra.Command {
	var tools, to string
	var c *cobra.Command
	c = l.command("show [NAME]", "Show one prompt, or all of an agent's instructions", `Show the prompt of that name (`+strings.Join(session.PromptNames(), ", ")+`), or all that an agent is told:
a person's agent and its children (--for person), a child that knows only its task
(alone), a worker of a run (worker), one without tools (bare), or one with the tools that --tools lists.`, 0, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		folder := l.Prompts()
		if len(args) == 1 {
			text, err := folder.Text(args[0])
			return promptText{text, len(text), string(folder)}, err
		}
		list, ok := sets[to]
		if !ok {
			return nil, fault.New(fault.Usage, "--for %.40q is not a kind of agent", to).WithHint("use person, alone, worker or bare")
		}
		if c.Flags().Changed("tools") {
			list = strings.ReplaceAll(tools, ",", " ")
		}
		text, err := folder.System(strings.Fields(list))
		return promptText{text, len(text), string(folder)}, err
	})
	c.ValidArgsFunction = cobra.FixedCompletions(session.PromptNames(), cobra.ShellCompDirectiveNoFileComp)
	c.Flags().StringVar(&to, "for", "person", "audience: person, alone, worker or bare")
	c.Flags().StringVar(&tools, "tools", "", "the tools of the agent, with commas between them")
	return c
}

// promptText is the datum of prompt show.
type promptText struct {
	Prompt string `json:"prompt"`
	Bytes  int    `json:"bytes"`
	Folder string `json:"folder"` // whose files take the place of ours
}

func (p promptText) Text(w *printer.Writer) { w.Line("%s", p.Prompt) }
