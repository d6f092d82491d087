package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// forkAgentCommand returns the command of the operation, with --run in addition: it is "ramet exec --fork".
func forkAgentCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Fork)
	var run bool
	c.Flags().BoolVar(&run, "run", false, "with --prompt: run the child's first turn and print its answer, as \"ramet exec --fork\" does")
	fork := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !run {
			return fork(c, args)
		}
		bound, err := l.Bind(c, &operation.Fork, args)
		if err != nil {
			return err
		}
		in := bound.(*operation.ForkInput)
		if in.Prompt == nil {
			return fault.New(fault.Usage, "fork: --run goes with --prompt: it says what the child is to do")
		}
		return runExec(c.Context(), l, &execInput{Fork: true, Name: in.Name, At: in.At, Model: in.Model, Driver: in.Driver, Effort: in.Effort, Role: in.Role,
			Worktree: in.Worktree, Clean: in.Clean}, []string{Or0(args), string(*in.Prompt)})
	}
	return c
}

// killCommand returns the command of the operation, with --finished in addition, which names no agent.
func killCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Kill)
	c.Long += `

With --finished instead of an agent, all agents end that are done or have failed and have no
working, waiting or interrupted agent in their subtree. They keep their state.

Killing an agent that is already dead exits with 0 and shows when it ended. Agent 0 can't be
killed.`
	var finished bool
	c.Flags().BoolVar(&finished, "finished", false, "all agents that are done or have failed")
	for _, flag := range []string{"cascade", "reason", "confirm"} {
		c.MarkFlagsMutuallyExclusive("finished", flag)
	}
	one := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if finished {
			return CheckArguments(0, 0)(c, args)
		}
		return one(c, args)
	}
	kill := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !finished {
			return kill(c, args)
		}
		ws, err := l.Open(c.Context())
		if err != nil {
			return err
		}
		ended, err := ws.Agents().KillFinished(c.Context())
		out := struct {
			Killed []id.Agent `json:"killed"`
			Count  int        `json:"count"`
		}{[]id.Agent{}, len(ended)}
		for _, a := range ended {
			out.Killed = append(out.Killed, a.ID)
		}
		return errors.Join(l.Print(printer.Result{JSON: out, Write: func(w *printer.Writer) {
			for _, a := range ended {
				w.Line("ended %s", a.Label())
			}
			if len(ended) == 0 {
				w.Line("no agent is finished")
			}
		}}), err)
	}
	return c
}

// mailCommand returns the command of the operation, with --delete in addition, which is an operation of its own.
func mailCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Mail)
	c.Short = "List an agent's mail, unread first, or delete some; marks nothing"
	c.Long += `

--delete N removes message N from the list. Its text stays in the histories that contain it,
and --deleted lists it.`
	var gone []int
	c.Flags().IntSliceVar(&gone, "delete", nil, "delete mail `N`; repeats")
	list := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(gone) == 0 {
			return list(c, args)
		}
		for _, name := range []string{"unread", "from", "match", "deleted", "limit"} {
			if c.Flags().Changed(name) {
				return fault.New(fault.Usage, "mail: --delete takes numbers, and no other filter then").WithHint("list them first, then delete them by their numbers")
			}
		}
		in := operation.DeleteMailInput{}
		if len(args) > 0 {
			in.Agent = operation.AgentRef(args[0])
		}
		for _, n := range gone {
			in.Numbers = append(in.Numbers, operation.LetterNumber(n))
		}
		return l.Do(c, &operation.DeleteMail, &in)
	}
	return c
}

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

// Pick lets a person choose one of several lines, each with a remark; false: none.
type Pick func(ctx context.Context, title string, lines [][2]string) (int, bool, error)

func resumeCommand(e Env, l *Line) *cobra.Command {
	return l.command("resume [PROJECT]", "Choose one of your projects and open the terminal there", `List the projects that have a workspace in ramet's home, most recently used first, and open the
terminal in the one you select, or in PROJECT (a folder or a workspace). Without a terminal,
the list is printed.`, 0, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		all, err := l.Projects(ctx)
		if err != nil {
			return nil, err
		}
		screen := e.Screen != nil && e.Pick != nil && !l.JSON
		if len(args) == 0 && (!screen || len(all.Projects) == 0) {
			return nil, l.Print(projects{all})
		}
		var chosen public.Project
		if len(args) == 1 {
			if chosen, err = projectNamed(all.Projects, args[0]); err != nil {
				return nil, err
			}
		} else {
			i, ok, err := e.Pick(ctx, "project", projectLines(all.Projects, l))
			if err != nil || !ok {
				return nil, err
			}
			chosen = all.Projects[i]
		}
		if chosen.Gone {
			return nil, fault.New(fault.NotFound, "the folder %s no longer exists", chosen.Folder).
				WithHint("its history is: ramet --workspace %s log", chosen.Name)
		}
		if !screen {
			return nil, l.Print(projects{public.Projects{Projects: []public.Project{chosen}}})
		}
		return nil, openThere(ctx, e, l, chosen)
	})
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
