package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
)

// ProjectAgents lists the agents of one project.
type ProjectAgents struct {
	Name   string          `json:"name"`
	Folder string          `json:"folder"`
	Open   bool            `json:"open"`             // the background kernel holds it
	List   json.RawMessage `json:"agents,omitempty"` // as ps prints them
	Error  *public.Error   `json:"error,omitempty"`  // why they cannot be read
	Table  string          `json:"table,omitempty"`
}

// ListAgents lists the agents of a project for "ps --all-projects".
func ListAgents(ctx context.Context, c operation.Client, in operation.PsInput, out *ProjectAgents) {
	err := func() error {
		found, err := c.Call(ctx, &operation.Ps, &in)
		if err != nil {
			return err
		}
		r := operation.Ps.Result(operation.CLI, &in, found)
		var text, table strings.Builder
		if err := (&printer.Printer{Out: &text, JSON: true, Now: time.Now}).Print(r); err != nil {
			return err
		}
		var list struct{ Agents json.RawMessage }
		if err := json.Unmarshal([]byte(text.String()), &list); err != nil {
			return err
		}
		out.List = list.Agents
		err = (&printer.Printer{Out: &table, Now: time.Now}).Print(r)
		out.Table = table.String()
		return err
	}()
	out.Error = public.FormatError(err)
}

func addAllProjects(e Env, l *Line, ps *cobra.Command) *cobra.Command {
	all := ps.Flags().Bool("all-projects", false, "the agents of all your projects")
	run := ps.RunE
	ps.RunE = func(c *cobra.Command, args []string) error {
		if !*all {
			return run(c, args)
		}
		if err := l.Person("list the agents of all projects"); err != nil {
			return err
		}
		in, err := l.Bind(c, &operation.Ps, args)
		if err != nil {
			return err
		}
		out, err := listAllProjects(c.Context(), e, l, *in.(*operation.PsInput))
		if err != nil {
			return err
		}
		return l.Print(out)
	}
	return ps
}

// listAllProjects asks the background kernel for the projects that it holds, and reads the others.
func listAllProjects(ctx context.Context, e Env, l *Line, in operation.PsInput) (out allProjects, err error) {
	k, err := e.Servers.Background(l.Session)
	if err != nil {
		return out, err
	}
	out.Projects, err = k.ListAgents(ctx, in)
	if err != nil && !fault.Is(err, fault.NotFound) { // NOT_FOUND: none runs
		return out, err
	}
	known, err := l.Projects(ctx)
	if err != nil {
		return out, err
	}
	for _, p := range known.Projects {
		if slices.ContainsFunc(out.Projects, func(open ProjectAgents) bool { return open.Folder == p.Folder }) {
			continue
		}
		one := ProjectAgents{Name: p.Name, Folder: p.Folder}
		if p.Gone {
			one.Error = public.FormatError(fault.New(fault.NotFound, "the folder does not exist any more"))
		} else {
			there := l.In(p.Folder)
			ListAgents(ctx, operation.Local{Open: there.Open}, in, &one)
			if err := there.Close(); err != nil && one.Error == nil {
				one.Error = public.FormatError(err)
			}
		}
		out.Projects = append(out.Projects, one)
	}
	if !l.JSON {
		return out, nil
	}
	for i := range out.Projects {
		out.Projects[i].Table = ""
	}
	return out, nil
}

type allProjects struct {
	Projects []ProjectAgents `json:"projects"`
}

func (d allProjects) Text(w *printer.Writer) {
	for i, p := range d.Projects {
		if i > 0 {
			w.Line("")
		}
		w.Line("%s", p.Folder)
		if p.Error != nil {
			w.Line("  %s", p.Error.Message)
			continue
		}
		for line := range strings.Lines(p.Table) {
			w.Line("  %s", strings.TrimRight(line, "\n"))
		}
	}
	if len(d.Projects) == 0 {
		w.Line("No project has a workspace yet. Run `ramet` in its folder.")
	}
}
