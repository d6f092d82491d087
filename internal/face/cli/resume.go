package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// Pick lets a person choose one of several lines, each with a remark; false: none.
type Pick func(ctx context.Context, title string, lines [][2]string) (int, bool, error)

func resumeCommand(e Env, l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "resume [PROJECT]",
		Short: "Choose one of your projects and open the terminal there",
		Long: `List the projects that have a workspace in ramet's home, most recently used first, and open the
terminal in the one you select, or in PROJECT (a folder or a workspace). Without a terminal,
the list is printed.`,
		Args: CheckArguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			all, err := l.Projects(c.Context())
			if err != nil {
				return err
			}
			screen := e.Screen != nil && e.Pick != nil && !l.JSON
			if len(args) == 0 && (!screen || len(all.Projects) == 0) {
				return l.Print(projects{all})
			}
			var chosen public.Project
			if len(args) == 1 {
				if chosen, err = projectNamed(all.Projects, args[0]); err != nil {
					return err
				}
			} else {
				i, ok, err := e.Pick(c.Context(), "project", projectLines(all.Projects, l))
				if err != nil || !ok {
					return err
				}
				chosen = all.Projects[i]
			}
			if chosen.Gone {
				return fault.New(fault.NotFound, "the folder %s no longer exists", chosen.Folder).
					WithHint("its history is: ramet --workspace %s log", chosen.Name)
			}
			if !screen {
				return l.Print(projects{public.Projects{Projects: []public.Project{chosen}}})
			}
			return openThere(c.Context(), e, l, chosen)
		},
	}
}

// openThere opens the terminal in a project, as if it had been started in its folder.
func openThere(ctx context.Context, e Env, l *Line, p public.Project) error {
	if err := os.Chdir(p.Folder); err != nil {
		return fault.New(fault.NotFound, "go to %s: %w", p.Folder, err)
	}
	sys := e.System
	sys.Dir = p.Folder
	there := newLine(e, session.New(sys, session.Choice{Home: l.Choice.Home}))
	there.background = l.background
	err := openScreen(ctx, e, there)
	if cerr := there.Close(); err == nil {
		err = cerr
	}
	return err
}

// projectNamed finds a project by its folder, the last part of that, or its workspace.
func projectNamed(all []public.Project, name string) (public.Project, error) {
	var fits []public.Project
	var names []string
	for _, p := range all {
		short := p.Folder[strings.LastIndexAny(p.Folder, `/\`)+1:]
		names = append(names, short, p.Name)
		if p.Folder == strings.TrimRight(name, `/\`) || p.Name == name {
			return p, nil
		}
		if short == name {
			fits = append(fits, p)
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	if len(fits) > 1 {
		return public.Project{}, fault.New(fault.Ambiguous, "%d projects are called %.60q", len(fits), name).WithHint("give the whole folder: %s", fits[0].Folder)
	}
	f := fault.New(fault.NotFound, "no project %.60q", name)
	return public.Project{}, f.WithHint("%s", text.NearestHint(name, names, "ramet resume lists them"))
}

func projectLines(all []public.Project, l *Line) [][2]string {
	var out [][2]string
	for _, p := range all {
		remark := text.Count(p.Agents, "agent")
		if p.Gone {
			remark = "the folder is gone"
		}
		line := p.Folder
		if p.Asked != "" {
			line += "  · " + p.Asked
		}
		out = append(out, [2]string{line, remark + " · " + p.UsedAt.Local().Format("2006-01-02 15:04")})
	}
	return out
}

type projects struct{ public.Projects }

func (d projects) Text(w *printer.Writer) {
	if len(d.Projects.Projects) == 0 {
		w.Line("no project has a workspace yet: `ramet` in its folder begins one")
		return
	}
	rows := [][]string{{"FOLDER", "AGENTS", "USED", "ASKED"}}
	for _, p := range d.Projects.Projects {
		folder := p.Folder
		if p.Gone {
			folder += " (gone)"
		}
		rows = append(rows, []string{folder, fmt.Sprint(p.Agents), w.Age(p.UsedAt), p.Asked})
	}
	w.Table(rows)
}
