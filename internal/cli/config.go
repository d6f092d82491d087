package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/config"
	"ramet/internal/permit"
	"ramet/internal/printer"
)

func (s *session) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show or change settings",
		Long: `Show all settings, with the place each value comes from: the user's file, the
project's file (after "ramet trust"), the environment, or the default.

` + settingsHelp(),
		Args: unknownCommand,
		RunE: func(*cobra.Command, []string) error {
			out := settingList{Ignored: []string{}}
			for _, known := range config.Settings() {
				one, err := s.setting(known.Key)
				if err != nil {
					return err
				}
				out.Settings = append(out.Settings, one)
			}
			out.Ignored = append(out.Ignored, s.conf.Ignored...)
			return s.print(out)
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
		Use: "get KEY", Short: "Print the value of a setting", Args: arguments(1, 1), ValidArgsFunction: keys,
		RunE: func(_ *cobra.Command, args []string) error {
			one, err := s.setting(args[0])
			if err != nil {
				return err
			}
			return s.print(one)
		},
	}, &cobra.Command{
		Use: "set KEY VALUE", Short: "Change a setting in the user's file", Args: arguments(2, 2), ValidArgsFunction: keys,
		RunE: func(c *cobra.Command, args []string) error {
			path, err := config.Path(s.Getenv)
			if err != nil {
				return err
			}
			if err := judge(args[0], args[1]); err != nil {
				return err
			}
			if err := config.Set(c.Context(), path, args[0], args[1]); err != nil {
				return err
			}
			one, err := s.setting(args[0])
			if err != nil {
				return err
			}
			return s.print(one)
		},
	}, &cobra.Command{
		Use: "path", Short: "Print the path of the user's file", Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			path, err := config.Path(s.Getenv)
			if err != nil {
				return err
			}
			return s.print(pathShape{path})
		},
	})
	return c
}

// judge refuses values that the configuration cannot judge itself.
func judge(key, value string) error {
	if key != "allow" {
		return nil
	}
	_, err := permit.ParseAll(value)
	return err
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

func (s *session) setting(key string) (settingShape, error) {
	conf, err := s.config()
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
		w.Line("%s is not read: the folder is not trusted (`ramet trust`)", path)
	}
}

// pathShape is the datum of config path.
type pathShape struct {
	Path string `json:"path"`
}

func (p pathShape) Text(w *printer.Writer) { w.Line("%s", p.Path) }
