package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"ramet/internal/agent"
	"ramet/internal/cli/care"
	"ramet/internal/control"
	"ramet/internal/credential"
	"ramet/internal/environ"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/ledger/file"
	"ramet/internal/llm"
	"ramet/internal/llm/catalog"
	"ramet/internal/llm/dial"
	"ramet/internal/llm/google"
	"ramet/internal/llm/retry"
	"ramet/internal/llm/signed"
	"ramet/internal/loop"
	"ramet/internal/permit"
	"ramet/internal/proc"
	"ramet/internal/registry"
	"ramet/internal/runner/crew"
	"ramet/internal/session"
	"ramet/internal/tool"
	"ramet/internal/tool/local"
	"ramet/internal/tool/talk"
	"ramet/internal/trust"
)

// kernel puts a kernel together: store, models, tools, permissions, socket.
func kernel(ctx context.Context, ws *session.Workspace, o session.Kernel) (*session.Running, error) {
	return kernelFor(ctx, request{ws, o}, nil)
}

// request is the workspace that a kernel is for, and how it is to work.
type request struct {
	*session.Workspace
	session.Kernel
}

// kernelFor is a kernel whose agents may work on items of runs.
func kernelFor(ctx context.Context, r request, work *crew.Crew) (*session.Running, error) {
	policy, err := policy(r)
	if err != nil {
		return nil, err
	}
	server, err := control.Listen(r.Peers)
	if err != nil {
		return nil, err
	}
	models := models{request: r, open: map[llm.Ref]proc.Model{}}
	hide, err := hidden(r.Workspace)
	if err != nil {
		return nil, err
	}
	jobs := local.NewJobs()
	tools := tools{request: r, environment: environ.For(os.Environ()), hidden: hide, jobs: jobs, person: policy}
	place := r.Peers
	trees := worktrees{r}.make
	model, box, guard := models.model, tools.box, loop.Guard(policy)
	var offer func(agent.Agent, tool.Box) tool.Box
	if work != nil {
		model, box, guard, offer = models.taped(work), tools.chosen(work), work.Guard(policy), work.Tools
		trees = noTrees(work, trees)
	}
	k, err := proc.Start(ctx, proc.Options{
		Lease: switches().Lease,
		Store: r.Store, Owner: server.Owner,
		Book: r.Book, BookOwner: file.Self(), TaskTime: r.Timeout,
		Model: model, Effort: llm.Effort(r.Config.Effort), Tools: box, Guard: guard,
		System:    func(agent.Agent) ([]llm.Message, error) { return overlay(r, nil) },
		SystemFor: func(_ agent.Agent, box tool.Box) ([]llm.Message, error) { return overlay(r, box) },
		Facts:     facts(r),
		Told:      func(agent.Agent) string { return told(r) },
		Worktree:  trees, Background: jobs.Running, Abandon: jobs.End,
		Offer: offer,
		Gone:  place.Gone,
		Tell:  func(ctx context.Context, rings ...registry.Ring) { place.Tell(ctx, server.Owner, rings...) },
		There: place.States,
		Clean: r.Secrets.Own,

		Limits: loop.Limits{Steps: r.Config.Number("steps")}, Attended: r.Attended,
		MostAgents: r.Config.Number("max_agents"), MostUnread: r.Config.Number("max_unread"),
		Wake: proc.Wake(r.Config.Wake), MostWakes: r.Config.Number("max_wakes"), Resident: r.Ask != nil,
		Sleeps: func(a agent.Agent) bool { return strings.HasPrefix(a.Name, session.RunName) },
		Trees:  treesOf(r, work),
	})
	if err != nil {
		server.Close()
		return nil, err
	}
	policy.Ask = k.Asking(r.Ask) // nothing runs yet
	jobs.Changed = k.CommandsChanged
	policy.Warn = func(a id.Agent, what string) { k.Events.Publish(loop.Event{Type: loop.Note, Agent: a, Text: what}) }
	policy.Boxed = func(a id.Agent, rule permit.Rule) {
		tellOnce(r.Home, "rules-are-confined", func() {
			k.Events.Publish(loop.Event{Type: loop.Note, Agent: a, Text: care.ConfinedRules(rule.String())})
		})
	}
	answers, serves := r.Ask.(control.Answerer) // whoever takes answers of other processes serves them
	server.Answers = answers
	server.Serve(k, &k.Events)
	if serves {
		if err := server.Announce(); err != nil {
			k.Stop()
			server.Close()
			return nil, err
		}
	}
	stopPostman := startPostman(ctx, r.Workspace)
	return &session.Running{Kernel: k, Close: func() {
		stopPostman()
		server.Finish(ctx) // others may have asked for turns that came behind ours
		k.Stop()
		jobs.Close()
		if k.Owes() {
			server.Owe()
		}
		server.Close()
	}}, nil
}

// models opens each model once.
type models struct {
	request request

	mu    sync.Mutex
	open  map[llm.Ref]proc.Model
	local learner
}

// model is the one that was asked for, else the agent's own, else the configured
// one, else the first that is usable, else the one that is built in.
func (m *models) model(a agent.Agent, asked llm.Ref) (proc.Model, error) {
	name := m.request.Config.Model
	if a.Provider != "" && a.Model != "" {
		name = a.Provider + "/" + a.Model
	}
	if asked != (llm.Ref{}) {
		name = asked.String()
	}
	testing := switches()
	m.local.learn(m.request.Keys, name)
	usable := func(v catalog.Vendor) bool { ok, _ := m.request.Keys.Usable(v); return ok }
	ref, err := dial.Choose(name, usable, testing.Scripts)
	if err != nil {
		return proc.Model{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.open[ref]; ok {
		return known, nil
	}
	opened := proc.Model{Ref: ref}
	options := dial.Options{Scripts: testing.Scripts, Retry: retry.Options{First: testing.Retry}}
	if options.First, options.Stall = m.request.Config.Patience(); testing.Stall > 0 {
		options.First, options.Stall = testing.Stall, testing.Stall
	}
	if v, err := catalog.Find(ref.Vendor); err == nil {
		access := m.request.Keys.Access(v)
		options.Tokens = tokens(v, access)
		options.Access = dial.Access{Project: access.Google.Project, Location: access.Google.Location, Key: access.Key.Reveal(), Base: access.Base, Region: access.AWS.Region,
			AWS: signed.Credentials{ID: access.AWS.ID, Secret: access.AWS.Secret.Reveal(), Session: access.AWS.Session.Reveal()}}
		opened.Info, _ = v.Model(ref.Name)
		if n, ok := askedWindow(v, options.Access.Key, options.Access.Base, ref.Name); ok {
			opened.Info.Context = n
		}
	}
	if n := m.request.Config.Number("context"); n > 0 {
		opened.Info.Context = int64(n)
	}
	if opened.Provider, err = dial.Model(ref, options); err != nil {
		return proc.Model{}, err
	}
	m.open[ref] = opened
	return opened, nil
}

// tokens are where those come from that take the place of a key; nil: from nowhere.
func tokens(v catalog.Vendor, a credential.Access) *google.Source {
	if !a.Key.IsZero() || a.TokenCommand == "" && !v.Google {
		return nil
	}
	return &google.Source{Command: a.TokenCommand, File: a.Google.File, Metadata: a.Google.Metadata, Env: os.Environ()}
}

// taped records the calls of agents that work on items of runs.
func (m *models) taped(work *crew.Crew) func(agent.Agent, llm.Ref) (proc.Model, error) {
	return func(a agent.Agent, asked llm.Ref) (proc.Model, error) {
		opened, err := m.model(a, asked)
		if err != nil {
			return opened, err
		}
		return work.Model(a, opened)
	}
}

// tools makes the tools of an agent, once: they remember what was read.
type tools struct {
	request     request
	environment []string
	hidden      []string // from confined commands
	jobs        *local.Jobs
	person      talk.Person

	mu    sync.Mutex
	boxes map[id.Agent]tool.Box
}

func (t *tools) box(a agent.Agent) (tool.Box, error) {
	if t.request.NoTools {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if box, ok := t.boxes[a.ID]; ok {
		return box, nil
	}
	box, err := t.make(a)
	if err != nil {
		return nil, err
	}
	if t.boxes == nil {
		t.boxes = map[id.Agent]tool.Box{}
	}
	t.boxes[a.ID] = box
	return box, nil
}

func (t *tools) make(a agent.Agent) (tool.Box, error) {
	root, err := t.root(a)
	if err != nil {
		return nil, err
	}
	box, err := t.at(root, a.ID, t.jobs)
	return append(box, talk.New(t.person)...), err
}

// at are the tools for a folder; without jobs commands end with their calls.
func (t *tools) at(root string, a id.Agent, jobs *local.Jobs) (tool.Box, error) {
	ws := t.request.Workspace
	made, err := local.New(local.Options{Root: root, For: a, Env: t.environment, Hide: t.hidden, Cache: confinedCache(ws),
		Quarantine: quarantine(ws), Forbid: databaseFiles(ws.Place.DB), Outputs: outputs(ws), Clean: t.request.Secrets.Own, Jobs: jobs})
	if err != nil {
		return nil, err
	}
	return made.Tools(), nil
}

// chosen gives agents that work on items of runs tools for the folders of their items.
// These are not kept: each agent has one turn.
func (t *tools) chosen(work *crew.Crew) func(agent.Agent) (tool.Box, error) {
	return func(a agent.Agent) (tool.Box, error) {
		belongs, err := work.Belongs(a)
		if err != nil {
			return nil, err
		}
		if !belongs {
			return t.box(a)
		}
		return t.at(a.Cwd, a.ID, nil)
	}
}

// root is the folder of an agent on this machine.
func (t *tools) root(a agent.Agent) (string, error) {
	dir, err := t.request.Folder(a, t.request.Cwd)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// overlay is what stands before every conversation: the instructions of the project, in
// the text that a person accepted. It is asked for every turn, so that what is accepted
// counts at once, and what is only written never does.
func overlay(r request, box tool.Box) ([]llm.Message, error) {
	said, err := gate(r).Instructions()
	if err != nil {
		return nil, err
	}
	tools := make([]string, len(box))
	for i, t := range box {
		tools[i] = t.Spec().Name
	}
	first, err := r.Prompts().System(tools)
	if err != nil {
		return nil, err
	}
	out := []llm.Message{llm.Say(llm.System, first)}
	if len(said.Data) > 0 {
		out = append(out, llm.Say(llm.System, "Instructions of this project, from "+said.Path+":\n\n"+string(said.Data)))
	}
	return out, nil
}

// told is what people should know of the instructions when a turn begins.
func told(r request) string {
	said, err := gate(r).Instructions()
	if err != nil {
		return "" // overlay says it
	}
	return said.Note
}

// gate stands before the project.
func gate(r request) trust.Gate {
	return trust.Gate{Home: r.Home, Project: r.Place.Project}
}

// noTrees refuses worktrees to agents that work on items of runs: what they make must be
// in the folder of the item.
func noTrees(work *crew.Crew, next treeMaker) treeMaker {
	return func(ctx context.Context, parent agent.Agent, child id.Agent, name string) (string, func(), error) {
		belongs, err := work.Belongs(parent)
		if err == nil && belongs {
			err = fault.New(fault.Denied, "agents of a run share the folder of their item: fork without a worktree")
		}
		if err != nil {
			return "", nil, err
		}
		return next(ctx, parent, child, name)
	}
}

type treeMaker = func(context.Context, agent.Agent, id.Agent, string) (string, func(), error)

// worktrees gives children files of their own.
type worktrees struct{ request request }

func (w worktrees) make(ctx context.Context, parent agent.Agent, child id.Agent, name string) (string, func(), error) {
	folder := parent.Cwd
	if w.request.Cwd != "" {
		folder = w.request.Cwd
	}
	return w.request.Trees.Child(ctx, folder, child, name)
}
