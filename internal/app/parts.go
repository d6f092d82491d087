package app

import (
	"context"
	"os"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/kernel"
	"ramet/internal/launch"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
	"ramet/internal/runner"
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
	policy := policy(r, k.Asking(r.Ask), note)
	jobs := local.NewJobs(k.CommandsChanged)
	environment := func(a agent.Agent) *kernel.Environment { return k.EnvironmentOf(context.Background(), a) }
	drivers := &drivers{request: r, around: doors{r, k.Door, environment}.around, work: work, variables: func(a agent.Agent) []string { return variables(environment(a)) }}
	models := &models{request: r, drivers: drivers, environment: environment, open: map[openModel]kernel.Model{}, queue: decorate.WithQueue(r.Config.Parallels())}
	return &parts{
		request: r, work: work, policy: policy, jobs: jobs, drivers: drivers, models: models,
		tools: &tools{request: r, environment: func(a agent.Agent) []string { return launch.EnvironmentFor(variables(environment(a))) }, hidden: hide, jobs: jobs, person: policy, window: models.window, note: note},
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

// forKernel returns the parts as the kernel uses them.
func (p *parts) forKernel() kernel.Parts {
	r := p.request
	out := kernel.Parts{
		Models:  kernel.Models{Model: p.models.model, ModelIn: p.models.modelIn, LastModel: p.models.last, Effort: llm.Effort(r.Config.Effort), Search: r.Config.Search == "yes"},
		Toolbox: kernel.Toolbox{Tools: p.tools.box, Guard: p.policy, Hooks: hooksOf(r), Files: states(r, p.work)},
		Prompts: kernel.Prompts{
			System: func(a agent.Agent) ([]llm.Message, error) {
				words, _, err := overlay(r, a, nil, p.models.window, p.worksOnItem(a))
				return words, err
			},
			SystemFor: func(a agent.Agent, box tool.Box) ([]llm.Message, string, error) {
				return overlay(r, a, box, p.models.window, p.worksOnItem(a))
			},
			Facts: facts(r),
			Told:  func(a agent.Agent) string { return told(r, a, p.worksOnItem(a)) },
			Joins: p.joins.of,
		},
		Children: kernel.Children{
			Role: r.Workspace.Agents().Role, Driver: p.drivers.named, Drivers: p.drivers.installed,
			Roles:    func() bool { k, err := r.Project().Kit(); return err == nil && len(k.Roles) > 0 },
			Worktree: worktrees{r}.make, Trees: treesOf(r, p.work),
			MostAgents: r.Config.Number("max_agents"),
		},
		Commands: kernel.Commands{Background: p.jobs.Running, Runners: p.jobs.Agents, Abandon: func(a id.Agent) { p.jobs.End(a); p.drivers.end(a) }},
	}
	if p.work != nil {
		out.Model, out.Worktree = p.models.taped(p.work), noTrees(p.work, out.Worktree)
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

// close ends what the parts keep running.
func (p *parts) close() {
	p.jobs.Close()
	p.drivers.pool.Close()
	p.tools.closeLent()
}
