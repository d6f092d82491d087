package operation

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

// DriversInput chooses programs.
type DriversInput struct {
	Name    Driver `json:"name,omitempty" arg:"NAME" help:"only this one"`
	NoStart bool   `json:"no_start,omitempty" help:"start none of them"`
}

// ListDrivers lists the programs that can drive agents.
var ListDrivers = Op[DriversInput, public.Drivers]{
	Doc: Doc{Name: "drivers", Group: "agents", Faces: CLI, Effect: Reads,
		Summary: "List the programs that can drive agents: Claude Code, Codex, …",
		Help: `List the programs that can drive agents: those that ramet knows and those of your
configuration, with path, version and capabilities. Installed programs are started briefly
to ask them; {no_start} starts nothing.

[driver.NAME] in your configuration adds a program that speaks the Agent Client Protocol, or
changes one that ramet knows. Its keys: command, args, env, mode (the mode its sessions start
in), asks (in that mode it asks before it changes anything), box (run it in the sandbox), state
(its own folders, which it can write to in the sandbox), login, off.

A program that doesn't ask runs confined: it can write only to the agent's folder and to its own
state. ramet never touches its login.`},
	Run: func(ctx context.Context, e *Env, in DriversInput) (public.Drivers, error) {
		all := e.Programs().Drivers(ctx, !in.NoStart)
		if in.Name == "" {
			return all, nil
		}
		for _, d := range all.Drivers {
			if d.Name == string(in.Name) {
				return public.Drivers{Drivers: []public.Driver{d}}, nil
			}
		}
		_, err := e.Programs().Driver(string(in.Name), "") // it says which was perhaps meant
		if err == nil {
			err = fault.New(fault.NotFound, "no driver %.60q is known", in.Name)
		}
		return all, err
	},
	Text: writeDrivers,
}

func writeDrivers(w *printer.Writer, _ DriversInput, d public.Drivers) {
	rows := [][]string{{"NAME", "STATE", "VERSION", "ASKS", "BOX", "CAN", "WHAT"}}
	for _, one := range d.Drivers {
		what := strings.Join(one.Command, " ")
		switch {
		case one.Why != nil:
			what = *one.Why
		case one.State == "missing" && one.Install != nil:
			what = *one.Install
		case one.Path != nil:
			what = *one.Path
		}
		rows = append(rows, []string{one.Name, one.State, orDash(one.Version), yesNo(one.Asks), yesNo(one.Boxed), orText(strings.Join(one.Can, " ")), text.Line(what, 100)})
	}
	w.Table(rows)
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func orText(s string) string { return orDash(public.Optional(s)) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
