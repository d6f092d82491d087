package operation

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

// ListSkills lists the skills that agents can read.
var ListSkills = Op[NoInput, public.Skills]{
	Doc: Doc{Name: "skills", Group: "agents", Faces: CLI, Effect: Reads, Summary: "List the skills that agents can read",
		Help: `List the skills that agents can read: SKILL.md files in .agents/skills and .claude/skills of the
project, once you have accepted them (ramet trust), and of your home folder, and in skills next to
your configuration. An agent sees their names and descriptions, and reads one with the tool skill.
allowed-tools restricts the tools until the turn ends; it never adds any.`},
	Run:  func(_ context.Context, e *Env, _ NoInput) (public.Skills, error) { return e.Prompts().Skills() },
	Text: func(w *printer.Writer, _ NoInput, out public.Skills) { writeSkills(w, out, false) },
}

// CheckSkills checks definitions against their format.
var CheckSkills = Op[NoInput, public.Skills]{
	Doc: Doc{Name: "skills check", Group: "agents", Faces: CLI, Effect: Reads, Summary: "Check skills, agents and commands for errors",
		Help: `Check the skills, agents and commands that you and the project define. The exit code is 1 if a file
defines none.`},
	Run: func(_ context.Context, e *Env, _ NoInput) (public.Skills, error) {
		out, err := e.Prompts().Skills()
		if err == nil && len(out.Flaws) > 0 {
			err = Incomplete{fault.New(fault.Failed, "%s cannot be used", text.Count(len(out.Flaws), "file"))}
		}
		return out, err
	},
	Text: func(w *printer.Writer, _ NoInput, out public.Skills) { writeSkills(w, out, true) },
}

func writeSkills(w *printer.Writer, d public.Skills, remarks bool) {
	rows := [][]string{{"SKILL", "WHOSE", "WHEN TO USE IT"}}
	for _, s := range d.Skills {
		rows = append(rows, []string{s.Name, s.Scope, text.Line(s.Description, 100)})
	}
	if len(d.Skills) == 0 {
		w.Line("no skills")
	} else {
		w.Table(rows)
	}
	for _, s := range d.Skills {
		for _, r := range s.Remarks {
			if remarks {
				w.Line("remark: %s: %s", text.Single(s.Path), r)
			}
		}
	}
	for _, f := range d.Flaws {
		w.Line("not used: %s: %s", text.Single(f.Path), text.Single(f.Why))
	}
	for _, f := range d.Hidden {
		w.Line("hidden: %s: %s", text.Single(f.Path), text.Single(f.Why))
	}
	for _, n := range d.Notes {
		w.Line("note: %s", n)
	}
}
