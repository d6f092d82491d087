package operation

import (
	"context"
	"fmt"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/core/config"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

// SettingKey names a setting.
type SettingKey string

// Setting is a setting with its value.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Layer string `json:"layer"`
	Where string `json:"where"`
}

// Text implements printer.Datum.
func (s Setting) Text(w *printer.Writer) { w.Line("%s", s.Value) }

// SettingList lists settings, and the files that are not used.
type SettingList struct {
	Settings []Setting `json:"settings"`
	Ignored  []string  `json:"ignored"`
}

// Config lists the settings.
var Config = Op[NoInput, SettingList]{
	Doc: Doc{Name: "config", Group: "settings", Faces: CLI, Effect: Reads, OnHome: true, Summary: "Show or change settings",
		Help: `Show all settings and where each value comes from: your file, the project's file (after "ramet
trust"), the environment, or the default.

` + settingsHelp()},
	Run: func(_ context.Context, e *Env, _ NoInput) (SettingList, error) {
		out := SettingList{Ignored: []string{}}
		conf, err := e.Session.Settings()
		if err != nil {
			return out, err
		}
		for _, known := range config.Settings() {
			one, err := readSetting(conf, known.Key)
			if err != nil {
				return out, err
			}
			out.Settings = append(out.Settings, one)
		}
		out.Ignored = append(out.Ignored, conf.Ignored...)
		return out, nil
	},
	Text: func(w *printer.Writer, _ NoInput, out SettingList) {
		writeTable(w, "", []string{"KEY", "VALUE", "FROM"}, out.Settings, func(s Setting) []string {
			return []string{s.Key, s.Value, strings.TrimSpace(s.Layer + " " + s.Where)}
		})
		for _, path := range out.Ignored {
			w.Line("%s is not used: this version has not been accepted (`ramet trust`)", path)
		}
	},
}

// settingsHelp returns the table of settings for --help.
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

func readSetting(conf *config.Config, key string) (Setting, error) {
	v, err := conf.Get(key)
	return Setting{key, v.Text, string(v.Layer), v.Where}, err
}

// GetSettingInput names a setting.
type GetSettingInput struct {
	Key SettingKey `json:"key" arg:"KEY" help:"the setting"`
}

// GetSetting returns the value of a setting.
var GetSetting = Op[GetSettingInput, Setting]{
	Doc: Doc{Name: "config get", Group: "settings", Faces: CLI, Effect: Reads, OnHome: true, Summary: "Print the value of a setting"},
	Run: func(_ context.Context, e *Env, in GetSettingInput) (out Setting, err error) {
		conf, err := e.Session.Settings()
		if err != nil {
			return out, err
		}
		return readSetting(conf, string(in.Key))
	},
}

// SetSettingInput names a setting and its value.
type SetSettingInput struct {
	Key   SettingKey `json:"key" arg:"KEY" help:"the setting"`
	Value string     `json:"value" arg:"VALUE" help:"its value"`
}

// SetSetting changes a setting in the user's file.
var SetSetting = Op[SetSettingInput, Setting]{
	Doc: Doc{Name: "config set", Group: "settings", Faces: CLI, OnHome: true, Persons: true, Summary: "Change a setting in the user's file"},
	Run: func(ctx context.Context, e *Env, in SetSettingInput) (out Setting, err error) {
		path, err := config.Path(e.Session.Getenv)
		if err == nil {
			err = session.CheckSetting(string(in.Key), in.Value)
		}
		if err == nil {
			err = config.Set(ctx, path, string(in.Key), in.Value)
		}
		if err != nil {
			return out, err
		}
		conf, err := e.Session.Settings()
		if err != nil {
			return out, err
		}
		return readSetting(conf, string(in.Key))
	},
}

// FilePath is the path of a file.
type FilePath struct {
	Path string `json:"path"`
}

// Text implements printer.Datum.
func (p FilePath) Text(w *printer.Writer) { w.Line("%s", p.Path) }

// ConfigPath returns the path of the user's file.
var ConfigPath = Op[NoInput, FilePath]{
	Doc: Doc{Name: "config path", Group: "settings", Faces: CLI, Effect: Reads, OnHome: true, Summary: "Print the path of the user's file"},
	Run: func(_ context.Context, e *Env, _ NoInput) (FilePath, error) {
		path, err := config.Path(e.Session.Getenv)
		return FilePath{path}, err
	},
}

// RulesInput names a rule to remove.
type RulesInput struct {
	Remove *string `json:"remove,omitempty" help:"remove a rule of this project"`
}

// RuleList lists rules that permit calls.
type RuleList struct {
	Project string   `json:"project"`
	Rules   []string `json:"rules"` // saved for the project
	Allow   []string `json:"allow"` // of the setting
}

// Rules lists or removes the saved rules of a project.
var Rules = Op[RulesInput, RuleList]{
	Doc: Doc{Name: "rules", Group: "settings", Faces: CLI, OnHome: true, Summary: "List or remove saved permission rules of this project",
		Help: `List the permission rules that you saved for this project, and those of the setting allow.
They are stored in ramet's home: no file of a project can allow anything.

A rule means that you aren't asked. It doesn't let a command out of the sandbox, in any
mode: the rule bash!(COMMAND) does, for exactly this command. The rule net(HOST) lets confined
commands connect to a host on the ports 80 and 443; net(*.HOST), net(HOST:PORT) and net
(every name) are possible.`},
	Run: func(ctx context.Context, e *Env, in RulesInput) (out RuleList, err error) {
		home, err := e.Session.HomeDir()
		if err != nil {
			return out, err
		}
		if out.Project, err = config.ProjectFolder(e.Session.Dir); err != nil {
			return out, err
		}
		if in.Remove != nil {
			if err := session.NeedPerson(ctx, "remove a rule", e.Session.Own); err != nil {
				return out, err
			}
			if err := config.DropRule(ctx, home, out.Project, *in.Remove); err != nil {
				return out, err
			}
		}
		saved, err := config.ReadRules(home, out.Project)
		if err != nil {
			return out, err
		}
		out.Rules, out.Allow = append([]string{}, saved...), []string{}
		conf, err := e.Session.Settings()
		if err != nil {
			return out, err
		}
		all, err := permit.ParseAll(conf.Allow)
		for _, r := range all {
			out.Allow = append(out.Allow, r.String())
		}
		return out, err
	},
	Text: func(w *printer.Writer, _ RulesInput, out RuleList) {
		for _, r := range out.Rules {
			w.Line("%s", r)
		}
		for _, r := range out.Allow {
			w.Line("%s %v", r, w.Dim("(setting allow)"))
		}
		if len(out.Rules)+len(out.Allow) == 0 {
			w.Line("no rules")
		}
	},
}

// PromptName names one of the texts that agents get first.
type PromptName string

// AgentKind is a kind of agent that gets texts.
type AgentKind string

// toolSets lists the tools of agents, by kind of agent.
var toolSets = map[AgentKind]string{
	"person": "bash read write edit glob grep fetch job plan ask fork kill send read_mail wait ps look diff merge recall",
	"alone":  "bash read write edit glob grep fetch job read_mail recall children",
	"worker": "bash read write edit glob grep recall",
	"bare":   "",
}

// Words implements Words.
func (AgentKind) Words() []string { return []string{"person", "alone", "worker", "bare"} }

// Refuse implements Refuser.
func (AgentKind) Refuse(word string) error {
	return Invalid("for", fault.Usage, "{for} %.40q is not a kind of agent", word).Hint("use person, alone, worker or bare")
}

// ShowPromptInput chooses one text, or all those of an agent.
type ShowPromptInput struct {
	Name  PromptName `json:"name,omitempty" arg:"NAME" help:"one of the texts"`
	For   AgentKind  `json:"for,omitempty" default:"person" help:"audience: person, alone, worker or bare"`
	Tools *string    `json:"tools,omitempty" help:"the tools of the agent, separated by commas"`
}

// PromptText holds the texts that agents get first.
type PromptText struct {
	Prompt string `json:"prompt"`
	Bytes  int    `json:"bytes"`
	Folder string `json:"folder"` // whose files replace ramet's own
}

// ShowPrompt shows what agents get first.
var ShowPrompt = Op[ShowPromptInput, PromptText]{
	Doc: Doc{Name: "prompt show", Group: "settings", Faces: CLI, Effect: Reads, OnHome: true, Summary: "Show one prompt, or all of an agent's instructions",
		Help: `Show the prompt of that name (` + strings.Join(session.PromptNames(), ", ") + `), or all that an agent is told:
a person's agent and its children (--for person), a child that knows only its task
(alone), a worker of a run (worker), one without tools (bare), or one with the tools that --tools lists.`},
	Run: func(_ context.Context, e *Env, in ShowPromptInput) (out PromptText, err error) {
		folder := e.Session.Prompts()
		text := ""
		if in.Name != "" {
			text, err = folder.Text(string(in.Name))
		} else {
			tools := toolSets[in.For]
			if in.Tools != nil {
				tools = strings.ReplaceAll(*in.Tools, ",", " ")
			}
			text, err = folder.System(strings.Fields(tools))
		}
		return PromptText{text, len(text), string(folder)}, err
	},
	Text: func(w *printer.Writer, _ ShowPromptInput, out PromptText) { w.Line("%s", out.Prompt) },
}
