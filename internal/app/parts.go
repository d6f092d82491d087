package app

import (
	"cmp"
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/driver"
	"ramet/internal/face/cli"
	"ramet/internal/files"
	"ramet/internal/kernel"
	acts "ramet/internal/kernel/process"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
	"ramet/internal/operation/session"
	"ramet/internal/runner"
	"ramet/internal/tools/hookprogram"
	"ramet/internal/tools/local"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// parts builds the turns of one kernel.
type parts struct {
	request request
	work    *runner.WorkerPool // nil: no agent works on items of runs
	policy  *permit.Policy
	jobs    *local.Jobs
	drivers *drivers
	models  *models
	tools   *tools
	joins   *joining
}

// newParts makes the parts of a kernel that runs nothing yet. hide is what confined commands may not
// read.
func newParts(r request, work *runner.WorkerPool, hide []string, k *kernel.Kernel) *parts {
	note := func(a id.Agent, what string) { k.Events.Publish(loop.Event{Type: loop.Note, Agent: a, Text: what}) }
	r.termsOf = k.TermsOf
	policy := policy(r, k.Asking(r.Ask), note)
	jobs := local.NewJobs(k.CommandsChanged)
	environment := func(a agent.Agent) *kernel.Environment { return k.EnvironmentOf(context.Background(), a) }
	drivers := &drivers{request: r, around: doors{r, k.Door, environment}.around, work: work, environment: environment}
	models := &models{request: r, drivers: drivers, environment: environment, open: map[openModel]kernel.Model{}, queue: decorate.WithQueue(r.Config.Parallels())}
	return &parts{
		request: r, work: work, policy: policy, jobs: jobs, drivers: drivers, models: models,
		tools: &tools{request: r, environment: environment, hidden: hide, jobs: jobs, person: policy, network: policy, window: models.window, note: note},
		joins: &joining{request: r, note: note},
	}
}

// variables returns the variables of an environment; nil: of this process.
func variables(e *kernel.Environment) []string {
	if e == nil {
		return os.Environ()
	}
	return e.Variables
}

// umask returns the umask of an environment; empty: that of this process.
func umask(e *kernel.Environment) string {
	if e == nil {
		return ""
	}
	return e.Umask
}

// forKernel returns the parts as the kernel uses them.
func (p *parts) forKernel() kernel.Parts {
	r := p.request
	out := kernel.Parts{
		Models:  kernel.Models{Model: p.models.model, ModelIn: p.models.modelIn, LastModel: p.models.last, Effort: llm.Effort(r.Config.Effort), Search: r.Config.Search == "yes"},
		Toolbox: kernel.Toolbox{Tools: p.tools.box, Guard: p.policy, Hooks: func(a agent.Agent) loop.Hooks { return r.Project().HooksOf(a, r.terms(a).Cwd) }, Files: states(r, p.work)},
		Prompts: kernel.Prompts{
			System: func(a agent.Agent, box tool.Box) ([]llm.Message, string, error) {
				return overlay(r, a, box, p.models.window, p.worksOnItem(a))
			},
			Facts: facts(r),
			Joins: p.joins.of,
		},
		Children: kernel.Children{
			Role: r.Workspace.Agents().Role, Driver: p.drivers.named, Drivers: p.drivers.installed,
			Roles: func() bool { k, err := r.Project().Kit(); return err == nil && len(k.Roles) > 0 },
			Trees: r.Trees(),
			Worktree: func(ctx context.Context, parent agent.Agent, child id.Agent, name string) (acts.Place, func(), error) {
				folder, err := r.root(parent)
				if err != nil {
					return acts.Place{}, nil, err
				}
				return r.Trees().Child(ctx, folder, child, name)
			},
			MostAgents: r.Config.Number("max_agents"),
		},
		Commands: kernel.Commands{Background: p.jobs.Running, Runners: p.jobs.Agents, Abandon: p.abandon},
	}
	if p.work != nil {
		out.Model, out.Worktree = p.models.taped(p.work), noTrees(p.work, out.Worktree)
		out.Trees = nil // agents of a run have none of this kind
		out.Tools, out.Guard, out.Offer = p.tools.chosen(p.work), p.work.Guard(p.policy), p.work.Tools
	}
	return out
}

// worksOnItem reports whether an agent works on an item of a run; false if unknown.
func (p *parts) worksOnItem(a agent.Agent) bool {
	if p.work == nil {
		return false
	}
	belongs, err := p.work.Belongs(a)
	return err == nil && belongs
}

// abandon ends the commands and the program of an agent, and removes its temporary folder if it has ended.
func (p *parts) abandon(a id.Agent) {
	p.jobs.End(a)
	p.drivers.pool.End(a)
	removeTemporary(context.Background(), p.request, a)
}

// close ends what the parts keep running.
func (p *parts) close() {
	p.jobs.Close()
	p.drivers.pool.Close()
}

// states takes the states of the folders that agents work in. Agents of runs have none: what
// they make is in the outputs of their items.
func states(r request, work *runner.WorkerPool) func(agent.Agent) loop.Files {
	return func(a agent.Agent) loop.Files {
		terms := r.terms(a)
		if terms.NoTools {
			return nil
		}
		if work != nil {
			if belongs, err := work.Belongs(a); err != nil || belongs {
				return nil
			}
		}
		return r.Files().FileStates(a, terms.Cwd)
	}
}

// recoverFiles finishes what a process that was killed left half restored.
func recoverFiles(ctx context.Context, r request) {
	done, err := r.Files().RecoverFiles(ctx)
	for _, d := range done {
		r.warn(d.Finished())
	}
	if err != nil {
		r.warn("a restore of files that was interrupted is not finished: " + err.Error())
	}
}

// warn notifies the caller that started the kernel.
func (r request) warn(what string) {
	if r.Warn != nil {
		r.Warn(what)
	}
}

// hookRunner runs the hooks of a workspace: the project's confined as its commands are, the user's
// free, with what reaches the user's desktop.
func hookRunner(ws *session.Workspace) (hookprogram.Runner, error) {
	hide, err := hidden(ws)
	if err != nil {
		return hookprogram.Runner{}, err
	}
	project, err := filepath.EvalSymlinks(ws.Place.Project)
	if err != nil {
		return hookprogram.Runner{}, err
	}
	usual := launch.EnvironmentFor(os.Environ())
	return hookprogram.Runner{Project: project, Env: usual, Free: launch.ReachingVariables(os.Environ()),
		Box: func(dir string) (*sandbox.Box, error) {
			if err := sandbox.Available(); err != nil {
				return nil, err
			}
			root, err := ws.Writable(dir)
			if err != nil {
				return nil, err
			}
			box := &sandbox.Box{Write: []string{root}, Hide: hide, Show: []string{project}, Guard: quarantine(ws), Guarded: []string{root}, Forbid: reserved(ws)}
			keep, err := readOnly(ws, root)
			box.Keep = append(keep, filepath.Join(root, ".claude"), filepath.Join(root, ".agents"))
			return box, err
		},
		Accepted: func(dir, command string) error {
			return hookprogram.Unaccepted(trust.Gate{Home: ws.Home, Project: project}, dir, command)
		}}, nil
}

// policy returns what the user permits in a workspace. note tells people something about an agent.
func policy(r request, ask permit.Asker, note func(id.Agent, string)) *permit.Policy {
	return &permit.Policy{Acts: sandbox.ActsByName, Settings: r.Turns().Unasked, Ignores: r.Turns().IgnoresForeign, Confinable: sandbox.Available, Ask: ask,
		Given:     func(ctx context.Context, a id.Agent) []permit.Rule { return r.termsOf(ctx, a).Allow },
		Reachable: func(ctx context.Context, a id.Agent) bool { return r.canAsk(r.termsOf(ctx, a)) },
		Log:       r.Store, Book: rulebook{r.Home, r.Place.Project}, Warn: note}
}

// rulebook is the rules that the user saved for a project.
type rulebook struct{ home, project string }

func (b rulebook) Rules() ([]permit.Rule, error) { return cli.ReadRules(b.home, b.project) }

func (b rulebook) Save(ctx context.Context, r permit.Rule) error {
	return config.SaveRule(ctx, b.home, b.project, r.String())
}

// self returns the user of the operating system.
func self() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// hidden returns the paths that confined commands may not read: ramet's own folders and files, and those named in the
// user's configuration, except what is in a program's own folders: its login.
func hidden(ws *session.Workspace, own ...string) ([]string, error) {
	settings, err := config.Path(os.Getenv)
	if err != nil {
		return nil, err
	}
	runs := filepath.Join(ws.Place.Project, ".ramet", "runs")
	if other := os.Getenv("RAMET_RUNS"); other != "" {
		if runs, err = filepath.Abs(other); err != nil {
			return nil, err
		}
	}
	out := append([]string{ws.Home, settings, prompts(settings), runs, files.TrashInProject(ws.Place.Project), session.StatesFolder(ws.Home, ws.Place)}, databaseFiles(ws.Place.DB)...)
	return append(out, slices.DeleteFunc(ws.Config.HiddenPaths(os.Getenv), func(path string) bool {
		return slices.ContainsFunc(own, func(folder string) bool { return isBelow(path, folder) })
	})...), nil
}

// acceptedFiles refuses a command line of the project, and other forms of it, that run files of the
// project which are not what a person accepted. The file is the one that is executed, if it is known;
// a link outside of the project must have been accepted with it.
func acceptedFiles(ws *session.Workspace, what, file string, line []string, forms ...[]string) error {
	project, err := filepath.EvalSymlinks(ws.Place.Project)
	if err != nil {
		return err
	}
	gate := trust.Gate{Home: ws.Home, Project: project}
	refuse := func(name string) error {
		return fault.New(fault.Untrusted, "%s, which %s runs, is not what you accepted", name, what).WithHint("look at it and accept it with `ramet trust`")
	}
	for _, form := range append(forms, line) {
		first, err := gate.UnacceptedProgram(project, launch.ProjectFiles(project, form))
		if err != nil {
			return err
		}
		if first != "" {
			return refuse(first)
		}
	}
	if file == "" || isBelow(file, project) {
		return nil
	}
	link, err := filepath.Rel(ws.Place.Project, line[0])
	if err != nil {
		return err
	}
	if ok, err := gate.AcceptsLink(filepath.ToSlash(link), file); !ok {
		return cmp.Or(err, refuse(link))
	}
	return nil
}

// readOnly returns what no confined command may write below a folder that has the project's files:
// what programs execute or obey there because a person accepted it.
func readOnly(ws *session.Workspace, root string) ([]string, error) {
	s, err := trust.Gate{Home: ws.Home, Project: ws.Place.Project}.Shelf()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out := []string{filepath.Join(root, ".git"), filepath.Join(root, ".ramet")}
	for _, kind := range []trust.Kind{trust.Servers, trust.Obeyed, hookprogram.Kind, driver.PresetPrograms} {
		for _, p := range s.Paths(kind) {
			out = append(out, filepath.Join(root, filepath.FromSlash(p)))
		}
	}
	return out, nil
}

// reserved returns files and folders of ramet's that no other program may make where they do not exist yet:
// those of the database, and the user's settings and prompts, which lie among the files where the
// workspace is the user's home.
func reserved(ws *session.Workspace) []string {
	out := databaseFiles(ws.Place.DB)
	if settings, err := config.Path(os.Getenv); err == nil {
		out = append(out, settings, prompts(settings))
	}
	return out
}

// prompts returns the user's folder of prompts, next to the settings.
func prompts(settings string) string { return filepath.Join(filepath.Dir(settings), "prompts") }

// databaseFiles returns the files of a database in a file, including those that SQLite would
// read if they were there.
func databaseFiles(db string) []string {
	if strings.Contains(db, "://") {
		return nil
	}
	return []string{db, db + "-wal", db + "-shm", db + "-journal", db + "-spare"}
}

// confinedCache returns the folder for compiler caches of a project's confined commands. Files of one project's commands
// must not end up in the programs of another.
func confinedCache(ws *session.Workspace) string {
	return filepath.Join(ws.Home, "cache", "confined", config.WorkspaceName(ws.Place.Project))
}

// quarantine returns the folder for files that a confined command left under a name that other programs execute.
func quarantine(ws *session.Workspace) string { return filepath.Join(ws.Home, "quarantine") }
