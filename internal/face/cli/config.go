package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/core/config"
	"ramet/internal/operation/session"
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
		w.Line("%s is not used as it is now: it has not been accepted this way (`ramet trust`)", path)
	}
}

// pathShape is the datum of config path.
type pathShape struct {
	Path string `json:"path"`
}

func (p pathShape) Text(w *printer.Writer) { w.Line("%s", p.Path) }
