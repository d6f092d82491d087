package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/core/config"
	"ramet/internal/operation/session"
)

func configCommand(l *Line) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show or change settings",
		Long: `Show all settings, with the place each value comes from: the user's file, the
project's file (after "ramet trust"), the environment, or the default.

` + settingsHelp(),
		Args: UnknownCommand,
		RunE: func(*cobra.Command, []string) error {
			out := settingList{Ignored: []string{}}
			conf, err := l.Settings()
			if err != nil {
				return err
			}
			for _, known := range config.Settings() {
				one, err := setting(l, known.Key)
				if err != nil {
					return err
				}
				out.Settings = append(out.Settings, one)
			}
			out.Ignored = append(out.Ignored, conf.Ignored...)
			return l.Print(out)
		},
	}
	keys := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, known := range config.Settings() {
			out = append(out, known.Key)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	c.AddCommand(&cobra.Command{
		Use: "get KEY", Short: "Print the value of a setting", Args: CheckArguments(1, 1), ValidArgsFunction: keys,
		RunE: func(_ *cobra.Command, args []string) error {
			one, err := setting(l, args[0])
			if err != nil {
				return err
			}
			return l.Print(one)
		},
	}, &cobra.Command{
		Use: "set KEY VALUE", Short: "Change a setting in the user's file", Args: CheckArguments(2, 2), ValidArgsFunction: keys,
		RunE: func(c *cobra.Command, args []string) error {
			path, err := config.Path(l.Getenv)
			if err != nil {
				return err
			}
			if err := l.Person("config set"); err != nil {
				return err
			}
			if err := session.CheckSetting(args[0], args[1]); err != nil {
				return err
			}
			if err := config.Set(c.Context(), path, args[0], args[1]); err != nil {
				return err
			}
			one, err := setting(l, args[0])
			if err != nil {
				return err
			}
			return l.Print(one)
		},
	}, &cobra.Command{
		Use: "path", Short: "Print the path of the user's file", Args: CheckArguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			path, err := config.Path(l.Getenv)
			if err != nil {
				return err
			}
			return l.Print(pathShape{path})
		},
	})
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
		w.Line("%s is not used as it is now: it has not been accepted this way (`ramet trust`)", path)
	}
}

// pathShape is the datum of config path.
type pathShape struct {
	Path string `json:"path"`
}

func (p pathShape) Text(w *printer.Writer) { w.Line("%s", p.Path) }
