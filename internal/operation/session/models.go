package session

import (
	"context"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/registry"
	"ramet/internal/driver"
	"ramet/internal/kernel"
	"ramet/internal/launch"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/model/llm"
)

// Model is a model as it is shown.
type Model struct {
	Ref     llm.Ref
	Title   string
	Context int64  // tokens; 0: nobody knows
	Why     string // why it is the one in use
	BuiltIn bool
}

// Model is the model that a turn of the agent would use, and why that one. A kernel must run.
func (w Models) Model(a agent.Agent, asked llm.Ref) (Model, error) {
	m, err := w.open(a, asked)
	if err != nil {
		return Model{}, err
	}
	out := Model{Ref: m.Ref, Title: m.Info.Title, Context: m.Info.Context, BuiltIn: m.Ref.Vendor == catalog.Offline}
	switch {
	case asked != (llm.Ref{}):
		out.Why = "chosen with /model"
	case a.Model != "":
		out.Why = "the agent's own"
	case w.ws.Config.Model != "":
		out.Why = "set in your configuration"
	default:
		out.Why = "the first that has a key"
		if v, err := catalog.Find(m.Ref.Vendor); err == nil {
			if from := w.keys().Access(v).KeyFrom; from != "" {
				out.Why = "because of " + from
			}
		}
	}
	return out, nil
}

// Usable lists what can be asked, programs that drive agents among it. Local servers that are
// named are asked for their models first.
func (w Models) Usable() []Model {
	if w.ws.system.Learn != nil {
		w.ws.system.Learn(w.keys())
	}
	var out []Model
	for _, v := range catalog.Vendors() {
		if ok, _ := w.keys().Usable(v); !ok {
			continue
		}
		for _, m := range v.Table().Models {
			out = append(out, Model{Ref: llm.Ref{Vendor: v.Name, Name: m.Name}, Title: m.Title, Context: m.Context, BuiltIn: v.BuiltIn})
		}
	}
	return append(out, w.ws.Programs().programModels(context.Background())...)
}

// Found lists the models of servers that answer on this machine although no setting and no
// variable names them. They can be chosen, and are not used before.
func (w Models) Found(ctx context.Context) []Model {
	if w.ws.system.Find == nil {
		return nil
	}
	var unnamed []catalog.Vendor
	for _, v := range catalog.Vendors() {
		if v.Local && !v.Added && w.keys().Access(v).Base == "" {
			unnamed = append(unnamed, v)
		}
	}
	found := w.ws.system.Find(ctx, unnamed)
	var out []Model
	for _, v := range unnamed {
		for _, name := range found[v.Name] {
			out = append(out, Model{Ref: llm.Ref{Vendor: v.Name, Name: name}, Title: v.Title})
		}
	}
	return out
}

// open opens the model of an agent's next turn.
func (w Models) open(a agent.Agent, asked llm.Ref) (kernel.Model, error) {
	if w.env != nil {
		return w.ws.Kernel.ModelIn(a, asked, w.env)
	}
	return w.ws.Kernel.Model(a, asked)
}

// HideKeys hides the keys in the client's environment as those of this process are hidden, from now on.
func (w Models) HideKeys() {
	if w.env == nil {
		return
	}
	w.ws.hiding.Lock()
	defer w.ws.hiding.Unlock()
	if w.ws.hidden == nil {
		w.ws.hidden = map[string]bool{}
	}
	for name, value := range w.keys().Values() {
		if !w.ws.hidden[value] {
			w.ws.hidden[value] = true
			w.ws.Secrets.Also(name, value)
		}
	}
}

// KeysChanged lets the workspace use a key that was stored or removed since it was opened, and
// hide it as it hides the others.
func (w Models) KeysChanged() error {
	if err := w.ws.Keys.Reload(); err != nil {
		return err
	}
	w.ws.Secrets.Renew(w.ws.credentials())
	return nil
}

// Effort holds the effort of an agent's model, and where it was chosen.
type Effort struct {
	Word llm.Effort // empty: it is not asked to think
	Of   id.Agent   // the agent that was told; empty: none was
	Set  bool       // no agent was told, and the configuration says so
}

// Effort returns the effort that the model of an agent would have.
func (w Models) Effort(ctx context.Context, a agent.Agent) (Effort, error) {
	told, of, err := registry.Effort(ctx, w.ws.Store, a.ID)
	if err != nil {
		return Effort{}, err
	}
	if told.Or("") != "" {
		return Effort{Word: told, Of: of}, nil
	}
	if set := llm.Effort(w.ws.Config.Effort); set.Or("") != "" {
		return Effort{Word: set, Set: true}, nil
	}
	return Effort{Word: w.known(a).Effort}, nil
}

// known returns the model that an agent would use, as far as it is known without asking a server.
// What is unknown is empty; a turn reports why.
func (w Models) known(a agent.Agent) llm.Model {
	name := w.ws.Config.Model
	if a.Provider != "" && a.Model != "" {
		name = a.Provider + "/" + a.Model
	}
	ref, err := catalog.Choose(name, func(v catalog.Vendor) bool { ok, _ := w.ws.Keys.Usable(v); return ok })
	if err != nil {
		return llm.Model{}
	}
	v, err := catalog.Find(ref.Vendor)
	if err != nil {
		return llm.Model{}
	}
	m, _ := v.Model(ref.Name)
	return m
}

// SetEffort tells an agent how hard its model is to think: from its next turn on, and
// for the children that are born after it.
func (w Models) SetEffort(ctx context.Context, a agent.Agent, e llm.Effort) error {
	if err := agent.NeedLiving(a); err != nil {
		return err
	}
	if err := w.ws.may(ctx, "set the effort of", a); err != nil {
		return err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return err
	}
	return w.ws.Agents().order(ctx, a.ID, registry.EffortEntry(e))
}

// chooseEnvironment returns the part of an environment that goes with a prompt to a kernel in another
// process: what commands see, what says how vendors are reached, and what programs that drive agents ask for.
func chooseEnvironment(environ []string, conf *config.Config) *kernel.Environment {
	names := append(credential.Variables(), kernel.ModelVariable)
	for _, p := range driver.AllPresets(conf.Drivers) {
		names = append(names, p.Pass...)
	}
	commands := launch.EnvironmentFor(environ)
	out := &kernel.Environment{}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(commands, pair) || slices.ContainsFunc(names, func(want string) bool {
			start, many := strings.CutSuffix(want, "*")
			return name == want || many && strings.HasPrefix(name, start)
		}) {
			out.Variables = append(out.Variables, pair)
		}
	}
	return out
}

// ClientEnvironment returns what a prompt of this process takes along to another kernel; nil for a command of an
// agent, and if the configuration cannot be read.
func ClientEnvironment(s *Session) *kernel.Environment {
	conf, err := s.Config()
	if _, agents := s.Own(); agents || s.Environ == nil || err != nil {
		return nil
	}
	out := chooseEnvironment(s.Environ(), conf)
	out.Umask = s.Umask()
	return out
}

type clientKey struct{}

// WithClient returns a context for what a client of the background kernel asks for: its turns use the client's
// environment.
func WithClient(ctx context.Context, e *kernel.Environment) context.Context {
	return context.WithValue(e.WithUmask(ctx), clientKey{}, e)
}

// clientOf returns the environment of the client that asks; nil: there is none.
func clientOf(ctx context.Context) *kernel.Environment {
	e, _ := ctx.Value(clientKey{}).(*kernel.Environment)
	return e
}

// Lend lets the turns of an agent use the environment of the client that asks, before one begins.
func (w Turns) Lend(ctx context.Context, a id.Agent) {
	if w.ws.Kernel != nil {
		w.ws.Kernel.Lend(a, clientOf(ctx))
	}
}

// ClientVariables returns the part of the environment of this process that goes with a command line to the background
// kernel: what goes with prompts, and what command lines read. Other variables stay here.
func ClientVariables(s *Session) []string {
	var out []string
	if e := ClientEnvironment(s); e != nil {
		out = slices.Clone(e.Variables)
	}
	for _, pair := range s.Environ() {
		reads := slices.ContainsFunc([]string{"RAMET_", "XDG_", "NO_COLOR=", "HOME=", "TERM="}, func(start string) bool { return strings.HasPrefix(pair, start) })
		if reads && !slices.Contains(out, pair) {
			out = append(out, pair)
		}
	}
	return out
}
