package app

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/trust"
	"ramet/internal/files"
	"ramet/internal/kernel"
	"ramet/internal/kernel/process"
	"ramet/internal/launch"
	"ramet/internal/ledger"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/model/decorate"
	"ramet/internal/model/dial"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/control"
	"ramet/internal/operation/session"
	"ramet/internal/runner"
	"ramet/internal/tools/local"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// startKernel puts a kernel together: store, models, tools, permissions, socket.
func startKernel(ctx context.Context, ws *session.Workspace, o session.Kernel) (*session.Running, error) {
	return kernelFor(ctx, request{Workspace: ws, Kernel: o}, nil)
}

// request is the workspace that a kernel is for, and how it is to work.
type request struct {
	*session.Workspace
	session.Kernel
	termsOf func(context.Context, id.Agent) *kernel.Terms // nil: no agent has any
	socket  string                                        // of the kernel
}

// terms returns the terms under which an agent works, or those of its parent if it is not born yet.
func (r request) terms(a agent.Agent) *kernel.Terms {
	if r.termsOf == nil {
		return &kernel.Terms{}
	}
	if a.Genesis == 0 && a.Parent != "" {
		return r.termsOf(context.Background(), a.Parent)
	}
	return r.termsOf(context.Background(), a.ID)
}

// canAsk reports whether a person can be asked about an agent that works under these terms.
func (r request) canAsk(t *kernel.Terms) bool {
	return r.Ask != nil && (!t.Unattended || r.Watched == nil || r.Watched())
}

func (r request) root(a agent.Agent) (string, error) { return r.Folder(a, r.terms(a).Cwd) }

// kernelFor starts a kernel whose agents may work on items of runs.
func kernelFor(ctx context.Context, r request, work *runner.WorkerPool) (*session.Running, error) {
	if _, _, err := r.Turns().Unasked(); err != nil {
		return nil, err
	}
	hide, err := hidden(r.Workspace)
	if err != nil {
		return nil, err
	}
	server, err := control.Listen(r.Peers)
	if err != nil {
		return nil, err
	}
	r.socket = server.Socket()
	recoverFiles(ctx, r)
	removeTemporaries(ctx, r)
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var p *parts
	k, err := kernel.Start(ctx, kernel.Options{
		Store: r.Store, Owner: server.Owner,
		Assemble: func(k *kernel.Kernel) kernel.Parts {
			p = newParts(r, work, hide, k)
			return p.forKernel()
		},
		Peers: kernel.Peers{
			Gone:    r.Peers.Gone,
			Tell:    func(ctx context.Context, rings ...registry.Ring) { r.Peers.Tell(ctx, server.Owner, rings...) },
			Answers: r.Peers.Answers,
			There:   r.Peers.States,
		},
		Tasks: kernel.Tasks{Book: r.Book, BookOwner: ledger.SelfOwner(), TaskTime: r.Timeout},
		Mail: kernel.Mail{
			MostUnread: r.Config.Number("max_unread"), Wake: kernel.Wake(r.Config.Wake), MostWakes: r.Config.Number("max_wakes"),
			Sleeps: func(a agent.Agent) bool { return strings.HasPrefix(a.Name, session.RunName) },
		},
		Gateway:  kernel.Gateway{MCP: ownTools(life, r), Clamp: r.Config.BudgetClamp == "yes", Bodies: bodies(r)},
		Timing:   kernel.Timing{Lease: switches().Lease, Pulse: switches().Pulse, Now: switches().Now},
		Limits:   loop.Limits{Steps: r.Config.Number("steps"), Again: switches().Retry},
		Clean:    r.Secrets.Own,
		Lent:     func(e *kernel.Environment) { r.Models().For(e).HideKeys() },
		Attended: r.Attended,
		Resident: r.Ask != nil,
	})
	if err != nil {
		end()
		server.Close()
		return nil, err
	}
	server.Serve(k, commandsFor(life, r.Workspace))
	stopPostman := startPostman(ctx, r.Workspace)
	return &session.Running{Kernel: k, Close: func() {
		stopPostman()
		end()
		k.Stop()
		p.close()
		r.Files().EndFileStates()
		if k.Owes() {
			server.Owe()
		}
		server.Close()
	}}, nil
}

// models opens each model once.
type models struct {
	request request
	drivers *drivers // programs that drive agents instead of a model

	environment func(agent.Agent) *kernel.Environment // nil: that of this process

	mu    sync.Mutex
	open  map[openModel]kernel.Model
	local learner
	queue *decorate.Queue
}

// openModel is a model that was opened for clients of one environment; nil: for this process.
type openModel struct {
	ref llm.Ref
	env *kernel.Environment
}

// keysFor returns the keys of vendors that the turns of an agent use.
func keysFor(own *credential.Store, env *kernel.Environment) *credential.Store {
	if env == nil {
		return own
	}
	return own.With(env.Get)
}

// model is the one that was asked for, else the agent's own, else the configured
// one, else the first that is usable, else the one that is built in.
func (m *models) model(a agent.Agent, asked llm.Ref) (kernel.Model, error) {
	return m.modelIn(a, asked, m.environment(a))
}

// modelIn returns the model of an agent, as model does, for a client of an environment.
func (m *models) modelIn(a agent.Agent, asked llm.Ref, env *kernel.Environment) (kernel.Model, error) {
	name := m.request.Config.Model
	if env != nil {
		name = cmp.Or(env.Get(kernel.ModelVariable), name)
	}
	if a.Provider != "" && a.Model != "" {
		name = a.Provider + "/" + a.Model
	}
	if asked != (llm.Ref{}) {
		name = asked.String()
	}
	if ref, err := llm.ParseRef(name); err == nil && m.drivers != nil {
		if foreign, ok, err := m.drivers.model(ref); ok {
			return foreign, err
		}
	}
	opened, err := m.named(name, env)
	if err != nil {
		return opened, err
	}
	opened.Others = m.behind(opened.Ref, env)
	return opened, nil
}

// entriesOfLast bounds how many entries are read to find the model that an agent used last.
const entriesOfLast = 200

// last returns the model that an agent used last, where neither it, its client nor a setting names one. Zero: there is
// none, or this process has the environment of its user.
func (m *models) last(a agent.Agent) llm.Ref {
	env := m.environment(a)
	if m.request.Ask == nil || m.request.Config.Model != "" || a.Model != "" || env != nil && env.Get(kernel.ModelVariable) != "" {
		return llm.Ref{}
	}
	for e, err := range m.request.Store.QueryRange(context.Background(), history.Range{Agent: a.ID}, history.Selection{Newest: entriesOfLast, Any: true}) {
		if err != nil {
			return llm.Ref{}
		}
		if e.Kind != history.Usage {
			continue
		}
		if meta, err := e.Decode(); err == nil && meta.Call != nil {
			ref, _ := llm.ParseRef(meta.Call.Model)
			return ref
		}
	}
	return llm.Ref{}
}

// behind are the models that stand behind another in the configured list. One that
// cannot be opened is passed over: it could not take over either.
func (m *models) behind(first llm.Ref, env *kernel.Environment) []kernel.Model {
	var out []kernel.Model
	list := append([]string{m.request.Config.Model}, m.request.Config.Fallback...)
	at := slices.Index(list, first.String())
	if at < 0 {
		return nil
	}
	for _, name := range list[at+1:] {
		if other, err := m.named(name, env); err == nil && other.Ref != first {
			out = append(out, other)
		}
	}
	return out
}

// named opens a model by its name for clients of an environment; empty: the first that is usable.
func (m *models) named(name string, env *kernel.Environment) (kernel.Model, error) {
	testing := switches()
	keys := keysFor(m.request.Keys, env)
	m.local.learn(keys, name)
	usable := func(v catalog.Vendor) bool { ok, _ := keys.Usable(v); return ok }
	ref, err := dial.Choose(name, usable, testing.Script != nil)
	if err != nil {
		return kernel.Model{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := openModel{ref, env}
	if known, ok := m.open[at]; ok {
		return known, nil
	}
	opened := kernel.Model{Ref: ref}
	if v, err := catalog.Find(ref.Vendor); err == nil && env != nil {
		if ok, _ := keys.Usable(v); !ok {
			if err := m.request.Models().KeysChanged(); err != nil { // a key may have been stored since
				return opened, err
			}
			keys = keysFor(m.request.Keys, env)
		}
	}
	options := dial.Options{Script: testing.Script, Retry: decorate.RetryOptions{First: testing.Retry}, Queue: m.queue}
	if options.First, options.Stall = m.request.Config.Patience(); testing.Stall > 0 {
		options.First, options.Stall = testing.Stall, testing.Stall
	}
	if v, err := catalog.Find(ref.Vendor); err == nil {
		access := keys.Access(v)
		options.Tokens = tokens(v, access)
		options.Access = dial.Access{Project: access.Google.Project, Location: access.Google.Location, Key: access.Key.Reveal(), Base: access.Base, Region: access.AWS.Region,
			AWS: dial.AWSCredentials{ID: access.AWS.ID, Secret: access.AWS.Secret.Reveal(), Session: access.AWS.Session.Reveal()}}
		opened.Info, _ = v.Model(ref.Name)
	}
	if n := reads(m.request.Config, keys, ref); n > 0 {
		opened.Info.Context = n
	}
	if opened.Provider, err = dial.Model(ref, options); err != nil {
		return kernel.Model{}, err
	}
	m.open[at] = opened
	return opened, nil
}

// window returns the context window of an agent's model in tokens; 0 if unknown.
func (m *models) window(a agent.Agent) int64 {
	opened, err := m.model(a, llm.Ref{})
	if err != nil {
		return 0
	}
	return opened.Info.Context
}

// tokens returns the source of tokens that replace a key; nil if there is none.
func tokens(v catalog.Vendor, a credential.Access) *dial.GoogleSource {
	if !a.Key.IsZero() || a.TokenCommand == "" && !v.Google {
		return nil
	}
	if a.TokenCommand != "" {
		return commandTokens(v)
	}
	return &dial.GoogleSource{File: a.Google.File, Metadata: a.Google.Metadata, Env: os.Environ()}
}

// taped records the calls of agents that work on items of runs.
func (m *models) taped(work *runner.WorkerPool) func(agent.Agent, llm.Ref) (kernel.Model, error) {
	return func(a agent.Agent, asked llm.Ref) (kernel.Model, error) {
		opened, err := m.model(a, asked)
		if err != nil {
			return opened, err
		}
		return work.Model(a, opened)
	}
}

// tools makes the tools of agents.
type tools struct {
	request     request
	environment func(agent.Agent) *kernel.Environment
	hidden      []string // from confined commands
	// window returns the context window of an agent's model in tokens; 0 if unknown. note shows people a note.
	window func(agent.Agent) int64
	note   func(id.Agent, string)
	jobs   *local.Jobs
	person talk.Person
	// network decides which hosts confined commands reach.
	network local.Network

	mu   sync.Mutex
	told map[string]bool // notes about servers
}

// box is the tools of this machine and those of servers.
func (t *tools) box(a agent.Agent) (tool.Box, error) {
	if t.request.terms(a).NoTools {
		return nil, nil
	}
	own, err := t.local(a)
	if err != nil {
		return nil, err
	}
	k, err := t.request.Project().Kit()
	if err != nil {
		return nil, err
	}
	limits, err := limitsOf(t.request.Store, a)
	if err != nil {
		return nil, err
	}
	own = append(own[:len(own):len(own)], t.served(a)...)
	return append(own, talk.NewSkill(k.Skills, limits...)), nil
}

// local are the tools of this machine. They are made for each turn, and nobody keeps them: what they know
// of earlier calls stands in the history (tool.Memory).
func (t *tools) local(a agent.Agent) (tool.Box, error) {
	root, err := t.request.root(a)
	if err != nil {
		return nil, err
	}
	box, err := t.at(root, a, t.jobs, t.network)
	return append(box, talk.New(t.person)...), err
}

// at returns the tools for a folder; without jobs commands end with their calls, and without network they have none. They see what is shown too.
func (t *tools) at(root string, a agent.Agent, jobs *local.Jobs, network local.Network, shown ...string) (tool.Box, error) {
	ws := t.request.Workspace
	keep, err := readOnly(ws, root)
	if err != nil {
		return nil, err
	}
	env := t.environment(a)
	made, err := local.New(local.Options{Root: root, Keep: keep, For: a.ID, Socket: t.request.socket, Env: launch.EnvironmentFor(variables(env)), Umask: umask(env), Hide: append(slices.Clip(t.hidden), files.TrashInProject(root)), Cache: confinedCache(ws),
		Show: append(shown, ws.Place.Project), Temp: temporaryFolder(ws, a.ID),
		Quarantine: quarantine(ws), Forbid: reserved(ws), Outputs: ws.Care().Outputs(), Clean: t.request.Secrets.Own, Jobs: jobs, Network: network,
		Overlay: ws.Files().Overlay(a.ID, root), Replaces: ws.Files().Replaces(a.ID, root), Foreign: sync.OnceValue(func() string { return foreignFiles(ws) })})
	if err != nil {
		return nil, err
	}
	return made.Tools(), nil
}

// foreignFiles names the source of the project's files if some that act have not been accepted, as after a clone or a
// pull: then others may have written them all; empty: there are none.
func foreignFiles(ws *session.Workspace) string {
	review, err := (trust.Gate{Home: ws.Home, Project: ws.Place.Project}).Review()
	if err != nil {
		return "" // the turn says so
	}
	for _, item := range review.Items {
		if item.Change == trust.New || item.Change == trust.Changed {
			return "files of this project, where " + item.Path + " has not been accepted"
		}
	}
	return ""
}

// chosen gives agents that work on items of runs tools for the folders of their items.
func (t *tools) chosen(work *runner.WorkerPool) func(agent.Agent) (tool.Box, error) {
	return func(a agent.Agent) (tool.Box, error) {
		belongs, err := work.Belongs(a)
		if err != nil {
			return nil, err
		}
		if !belongs {
			return t.box(a)
		}
		box, err := t.at(a.Cwd, a, nil, nil, work.Shown()...)
		if err != nil {
			return nil, err
		}
		box = append(box, talk.New(t.person)...)
		limits, err := limitsOf(t.request.Store, a)
		if err != nil || len(limits) == 0 {
			return box, err
		}
		return append(box, talk.NewSkill(nil, limits...)), nil
	}
}

// noTrees refuses worktrees to agents that work on items of runs: what they make must be
// in the folder of the item.
func noTrees(work *runner.WorkerPool, next treeMaker) treeMaker {
	return func(ctx context.Context, parent agent.Agent, child id.Agent, name string) (process.Place, func(), error) {
		belongs, err := work.Belongs(parent)
		if err == nil && belongs {
			err = fault.New(fault.Denied, "agents of a run share the folder of their item: fork without a worktree")
		}
		if err != nil {
			return process.Place{}, nil, err
		}
		return next(ctx, parent, child, name)
	}
}

type treeMaker = func(context.Context, agent.Agent, id.Agent, string) (process.Place, func(), error)

// modelServers asks those who run models.
func modelServers() operation.Vendors {
	if switches().Alone {
		return operation.Vendors{}
	}
	return operation.Vendors{
		Try: func(ctx context.Context, v catalog.Vendor, key, base string) error {
			return dial.TryKey(ctx, v, dial.Access{Key: key, Base: base}, nil)
		},
		Learn: func(ctx context.Context, v catalog.Vendor, key, base string) error {
			return dial.LearnModels(ctx, v, dial.Access{Key: key, Base: base, Token: printed(v)}, nil)
		},
		Find: func(ctx context.Context, vendors []catalog.Vendor) map[string][]string {
			out := map[string][]string{}
			for _, f := range dial.FindModels(ctx, vendors, nil) {
				for _, m := range f.Models {
					out[f.Vendor.Name] = append(out[f.Vendor.Name], m.Name)
				}
			}
			return out
		},
	}
}

// printed gives the tokens of a vendor's token_command; nil where it has none.
func printed(v catalog.Vendor) func(context.Context) (string, error) {
	if v.TokenCommand == "" {
		return nil
	}
	return commandTokens(v).Token
}

// commandSources holds one token source for each vendor with a token_command in this process, so that the command
// doesn't run for every model and every list of models.
var commandSources sync.Map // "vendor\x00command" to *google.Source

func commandTokens(v catalog.Vendor) *dial.GoogleSource {
	s, _ := commandSources.LoadOrStore(v.Name+"\x00"+v.TokenCommand, &dial.GoogleSource{Command: v.TokenCommand, Env: os.Environ()})
	return s.(*dial.GoogleSource)
}

// askedWindow returns the context window that a model's local server reports.
func askedWindow(v catalog.Vendor, key, base, model string) (int64, bool) {
	if switches().Alone || !v.Local {
		return 0, false
	}
	return dial.ModelWindow(context.Background(), v, dial.Access{Key: key, Base: base}, model, nil)
}

// learner asks local servers for their models, each once.
type learner struct {
	mu    sync.Mutex
	asked map[string]bool
}

// learn asks the server whose model is asked for, or all that are named where there
// is none to ask for. What does not answer will say so when it is asked for more.
func (l *learner) learn(keys *credential.Store, name string) {
	vendor, _, _ := strings.Cut(name, "/")
	ask := modelServers().Learn
	for _, v := range catalog.Vendors() {
		chosen := name != "" && vendor == v.Name // then at its usual address, if no setting tells another
		if ask == nil || !v.Asks || name != "" && !chosen || !chosen && !named(keys, v) || !l.first(v.Name) {
			continue
		}
		access := keys.Access(v)
		ask(context.Background(), v, access.Key.Reveal(), access.Base)
	}
}

// named reports whether a person configured this server.
func named(keys *credential.Store, v catalog.Vendor) bool {
	ok, _ := keys.Usable(v)
	return ok && (v.Added || keys.Access(v).Base != "")
}

// first reports whether this is the first question with this name.
func (l *learner) first(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		l.asked = map[string]bool{}
	}
	known := l.asked[name]
	l.asked[name] = true
	return !known
}

// reads returns the context window of a model: the configured one, that of its local server, or that of the catalog; 0
// if unknown.
func reads(conf *config.Config, keys *credential.Store, ref llm.Ref) int64 {
	if n := conf.Number("context"); n > 0 {
		return int64(n)
	}
	v, err := catalog.Find(ref.Vendor)
	if err != nil {
		return 0
	}
	access := keys.Access(v)
	if n, ok := askedWindow(v, access.Key.Reveal(), access.Base, ref.Name); ok {
		return n
	}
	m, _ := v.Model(ref.Name)
	return m.Context
}

// windows returns a function that returns the context window of a model and asks only once for each. An empty name is
// the agent's own model, else the configured one.
func windows(conf *config.Config, keys *credential.Store, own string) func(model string) int64 {
	var mu sync.Mutex
	known := map[string]int64{}
	var local learner
	return func(model string) int64 {
		if model == "" {
			model = own
		}
		if model == "" {
			model = conf.Model
		}
		mu.Lock()
		defer mu.Unlock()
		n, ok := known[model]
		if ok {
			return n
		}
		local.learn(keys, model)
		usable := func(v catalog.Vendor) bool { ok, _ := keys.Usable(v); return ok }
		if ref, err := dial.Choose(model, usable, switches().Script != nil); err == nil {
			n = reads(conf, keys, ref)
		}
		known[model] = n
		return n
	}
}

// runWindows returns those of a run's workers: without a model of their own they have that of the
// agent that the run's is forked from.
func runWindows(ctx context.Context, s *session.Session) (func(model string) int64, error) {
	conf, err := s.Config()
	if err != nil {
		return nil, err
	}
	keys, err := s.Keys()
	if err != nil {
		return nil, err
	}
	own := ""
	if ws := s.Opened(); ws != nil {
		own = modelOf(ctx, ws, "0")
	}
	return windows(conf, keys, own), nil
}

func modelOf(ctx context.Context, ws *session.Workspace, which string) string {
	a, err := agent.Find(ctx, ws.Store, which)
	if err != nil || a.Provider == "" || a.Model == "" {
		return ""
	}
	return a.Provider + "/" + a.Model
}
