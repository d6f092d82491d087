package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

func driversCommand(l *Line) *cobra.Command {
	var quiet bool
	c := &cobra.Command{
		Use:   "drivers [NAME]",
		Short: "List the programs that can drive agents: Claude Code, Codex, …",
		Long: `List the programs that can drive agents: those that ramet knows, and those of your
configuration, each with where it was found, its version and what it advertises. Those that
are installed are started for that, and end at once; with --no-start nothing is.

[driver.NAME] in your configuration adds a program that speaks the Agent Client Protocol, or
changes one that ramet knows: command, args, env, mode (that its sessions are put into), asks
(in that mode it asks before it changes anything), box (it runs confined), state (its own
folders, which it may write in the box), login, off.

A program that does not ask runs confined: it writes the agent's folder and its own state
only. Its login is its own: ramet never touches it.

` + ExitHelp(),
		Args: CheckArguments(0, 1),
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return driverNames(l, c), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			all := ws.Programs().Drivers(c.Context(), !quiet)
			if len(args) == 0 {
				return l.Print(drivers{all})
			}
			for _, d := range all.Drivers {
				if d.Name == args[0] {
					return l.Print(drivers{public.Drivers{Drivers: []public.Driver{d}}})
				}
			}
			_, err = ws.Programs().Driver(args[0], "") // it says which was perhaps meant
			if err == nil {
				err = fault.New(fault.NotFound, "no driver %.60q is known", args[0])
			}
			return err
		},
	}
	c.Flags().BoolVar(&quiet, "no-start", false, "start none of them")
	return c
}

func driverNames(l *Line, c *cobra.Command) []string {
	ws, err := l.Open(c.Context())
	if err != nil {
		return nil
	}
	var out []string
	for _, d := range ws.Programs().Drivers(c.Context(), false).Drivers {
		out = append(out, d.Name)
	}
	return out
}

type drivers struct{ public.Drivers }

func (d drivers) Text(w *printer.Writer) {
	rows := [][]string{{"NAME", "STATE", "VERSION", "ASKS", "BOX", "CAN", "WHAT"}}
	for _, one := range d.Drivers.Drivers {
		what := strings.Join(one.Command, " ")
		switch {
		case one.Why != nil:
			what = *one.Why
		case one.State == "missing" && one.Install != nil:
			what = *one.Install
		case one.Path != nil:
			what = *one.Path
		}
		rows = append(rows, []string{one.Name, one.State, or(one.Version), yesNo(one.Asks), yesNo(one.Boxed), orText(strings.Join(one.Can, " ")), text.Line(what, 100)})
	}
	w.Table(rows)
}

func or(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func orText(s string) string { return or(public.Optional(s)) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
