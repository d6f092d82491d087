package driver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
)

// Preset is one program.
type Preset struct {
	Name    string
	Title   string
	Command []string
	Install string   // how it comes onto a machine
	Login   string   // the command with which its user logs in
	Mode    string   // in which it asks; empty: its own
	Asks    bool     // it asks before it changes anything
	Asking  []string // other modes of its own in which it asks as well, or changes nothing
	Box     *bool    // it runs confined; nil: if it does not ask
	State   []string
	Pass    []string          // variables of the user's that it gets; NAME_* means all that begin so
	Set     map[string]string // variables that it gets, with their values
	Bases   []PresetBase      // how it is pointed at another address of a vendor; none: it cannot be
	Key     bool              // ramet's key of the vendor is put in, instead of a login of its own
	Direct  bool              // it goes to its vendors itself: what it spends is known from it alone
	Own     bool              // the user's own
	Project bool              // the project names it
	Off     bool
}

// opencodeBase is where opencode looks for the address of a provider; what its configuration files say of
// it counts less.
func opencodeBase(provider, vendor, path, key string) PresetBase {
	return PresetBase{Variable: "OPENCODE_CONFIG_CONTENT", In: "provider." + provider + ".options.baseURL", Vendor: vendor, Path: path, Key: key}
}

var table = sync.OnceValue(func() []Preset {
	return []Preset{
		{
			Name: "claude", Title: "Claude Code", Command: []string{"claude-agent-acp"},
			Install: "npm install -g @agentclientprotocol/claude-agent-acp", Login: "claude /login",
			Mode: "default", Asks: true, Asking: []string{"plan"}, State: []string{"~/.claude", "~/.claude.json", "~/.cache/claude", "~/.local/share/claude", "~/.local/state/claude"},
			Pass:  []string{"ANTHROPIC_*", "CLAUDE_*", "DISABLE_*"},
			Bases: []PresetBase{{Variable: "ANTHROPIC_BASE_URL", Vendor: "anthropic", Key: "ANTHROPIC_API_KEY"}},
		},
		{
			Name: "codex", Title: "Codex", Command: []string{"codex-acp"},
			Install: "npm install -g @agentclientprotocol/codex-acp", Login: "codex login",
			Mode: "read-only", Asks: true, State: []string{"~/.codex"},
			Pass:  []string{"OPENAI_*", "CODEX_*"},
			Bases: []PresetBase{{Variable: "CODEX_CONFIG", Codex: true, Vendor: "openai", Path: "/v1", Key: "OPENAI_API_KEY"}},
		},
		{
			Name: "opencode", Title: "opencode", Command: []string{"opencode", "acp"},
			Install: "npm install -g opencode-ai", Login: "opencode auth login", Asks: true, Asking: []string{"build", "plan"},
			State: []string{"~/.local/share/opencode", "~/.local/state/opencode", "~/.config/opencode", "~/.cache/opencode"},
			Pass:  []string{"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "OPENROUTER_*"},
			Set:   map[string]string{"OPENCODE_PERMISSION": `{"edit":"ask","bash":"ask","webfetch":"ask"}`},
			Bases: []PresetBase{
				opencodeBase("anthropic", "anthropic", "/v1", "ANTHROPIC_API_KEY"), opencodeBase("openai", "openai", "/v1", "OPENAI_API_KEY"),
				opencodeBase("google", "gemini", "/v1beta", "GEMINI_API_KEY"),
			},
		},
		{
			Name: "gemini", Title: "Gemini CLI", Command: []string{"gemini", "--experimental-acp"},
			Install: "npm install -g @google/gemini-cli", Login: "gemini", Mode: "default", Asks: true, Asking: []string{"plan"},
			State: []string{"~/.gemini", "~/.cache/gemini"},
			Pass:  []string{"GEMINI_*", "GOOGLE_*"},
			Bases: []PresetBase{{Variable: "GOOGLE_GEMINI_BASE_URL", Vendor: "gemini", Key: "GEMINI_API_KEY"}},
		},
		{
			Name: "goose", Title: "goose", Command: []string{"goose", "acp"},
			Install: "https://block.github.io/goose/docs/getting-started/installation", Login: "goose configure",
			Mode: "approve", Asks: true, Asking: []string{"chat"},
			State: []string{"~/.config/goose", "~/.local/share/goose", "~/.local/state/goose"},
			Pass:  []string{"GOOSE_*", "ANTHROPIC_*", "OPENAI_*", "GOOGLE_*"},
			Bases: []PresetBase{
				{Variable: "ANTHROPIC_HOST", Vendor: "anthropic", Key: "ANTHROPIC_API_KEY"}, {Variable: "OPENAI_HOST", Vendor: "openai", Key: "OPENAI_API_KEY"},
				{Variable: "GOOGLE_HOST", Vendor: "gemini", Key: "GOOGLE_API_KEY"},
			},
		},
	}
})

// AllPresets are the programs that ramet knows, and those of the configuration. What a project says of one
// that ramet knows does not count: its name would mean another program than people think.
func AllPresets(own []config.Driver) []Preset {
	own = slices.DeleteFunc(slices.Clone(own), func(d config.Driver) bool {
		return d.Project && slices.ContainsFunc(table(), func(p Preset) bool { return p.Name == d.Name })
	})
	var out []Preset
	for _, p := range table() {
		out = append(out, with(p, own))
	}
	for _, d := range own {
		if !slices.ContainsFunc(table(), func(p Preset) bool { return p.Name == d.Name }) {
			out = append(out, with(Preset{Name: d.Name, Title: d.Name, Own: true}, own)) // nobody knows whether it asks
		}
	}
	return out
}

// with is a preset with what the user says of it.
func with(p Preset, own []config.Driver) Preset {
	i := slices.IndexFunc(own, func(d config.Driver) bool { return d.Name == p.Name })
	if i < 0 {
		return p
	}
	d := own[i]
	if d.Command != "" {
		p.Command = append([]string{home(d.Command)}, d.Args...)
	}
	p.Mode, p.Login = cmp.Or(d.Mode, p.Mode), cmp.Or(d.Login, p.Login)
	if len(d.State) > 0 {
		p.State = d.State
	}
	if d.Asks != nil {
		p.Asks = *d.Asks
	}
	if d.Box != nil {
		p.Box = d.Box
	}
	if len(d.Bases) > 0 {
		p.Bases = bases(d.Bases)
	}
	p.Key, p.Direct = d.Key, d.Gateway != nil && !*d.Gateway
	set := map[string]string{}
	for name, value := range p.Set {
		set[name] = value
	}
	for name, value := range d.Env {
		set[name] = value
	}
	p.Set, p.Off, p.Own, p.Project = set, d.Off, true, d.Project
	return p
}

// FindPreset finds a program by name. NOT_FOUND: nobody knows it.
func FindPreset(name string, own []config.Driver) (Preset, error) {
	all := AllPresets(own)
	var names []string
	for _, p := range all {
		if names = append(names, p.Name); p.Name != name {
			continue
		}
		switch {
		case p.Off:
			return p, fault.New(fault.NotFound, "driver %s is off in your configuration", name)
		case len(p.Command) == 0:
			return p, fault.New(fault.InvalidConfig, "no command is configured for driver %s", name).
				WithHint("command = \"…\" in [driver.%s] of your configuration", name)
		}
		return p, nil
	}
	f := fault.New(fault.NotFound, "no driver %.60q is known", name)
	return Preset{}, f.WithHint("%s", text.NearestHint(name, names, fmt.Sprintf("`ramet drivers` lists them; [driver.%.40s] with command = \"…\" in your configuration adds one", name)))
}

// Installed says that the program is on this machine, or how it comes there.
func (p Preset) Installed(environ []string) error {
	if _, found := p.Path(environ); found {
		return nil
	}
	f := fault.New(fault.NotFound, "%s is not installed: there is no program %.80q", p.Title, p.Command[0])
	if p.Install != "" {
		return f.WithHint("%s", p.Install)
	}
	return f.WithHint("say where it is: command in [driver.%s] of your configuration", p.Name)
}

// AsksIn says whether the program asks before it changes anything, in a mode of its own; empty: in
// the one that it is put into. Of a mode that nobody here knows it is not believed.
func (p Preset) AsksIn(mode string) bool {
	return p.Asks && (mode == "" || mode == p.Mode || slices.Contains(p.Asking, mode))
}

// Boxed says whether the program runs confined in a mode of its own.
func (p Preset) Boxed(mode string) bool {
	if p.Box != nil {
		return *p.Box
	}
	return !p.AsksIn(mode)
}

// Environment is what the program gets of the user's variables, besides those that any
// process gets (usual), and what is set for it. $NAME in a value stands for the user's.
func (p Preset) Environment(usual, all []string) []string {
	set := map[string]bool{}
	var out []string
	for name, value := range p.Set {
		set[name] = true
		out = append(out, name+"="+os.Expand(value, func(name string) string { return lookup(all, name) }))
	}
	slices.Sort(out)
	for _, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		if set[name] {
			continue
		}
		if slices.Contains(usual, pair) || slices.ContainsFunc(p.Pass, func(want string) bool {
			start, many := strings.CutSuffix(want, "*")
			return name == want || many && strings.HasPrefix(name, start)
		}) {
			out = append(out, pair)
		}
	}
	return out
}

// Folders are the program's own, which it may write.
func (p Preset) Folders() []string {
	var out []string
	for _, s := range p.State {
		out = append(out, home(s))
	}
	return out
}

// Path is where the program lies; false: it is not installed.
func (p Preset) Path(env []string) (string, bool) {
	if len(p.Command) == 0 {
		return "", false
	}
	name := p.Command[0]
	if filepath.IsAbs(name) {
		info, err := os.Stat(name)
		return name, err == nil && info.Mode().IsRegular()
	}
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue // it would be another program in every folder
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, true
		}
	}
	return "", false
}

func lookup(env []string, name string) string {
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// home puts the user's home in place of ~.
func home(p string) string {
	if rest, short := strings.CutPrefix(p, "~/"); short {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	return p
}

// PresetBase describes the variable that points a program at another address of a vendor's API, so that what it
// spends can be counted on the way.
type PresetBase struct {
	Variable string // that holds the address
	Codex    bool   // it holds Codex's configuration, in JSON, of which the address is a part
	In       string // it holds an object in JSON, in which the address is found by these names, with dots between; empty: it holds the address
	Vendor   string // as the table of models calls it
	Path     string // that the program expects behind the address
	Key      string // the variable that holds a key of the vendor; empty: not known
}

// bases returns those that a user's configuration names: a variable, and the vendor with what the
// program expects behind its address.
func bases(own map[string]string) []PresetBase {
	var out []PresetBase
	for _, name := range slices.Sorted(maps.Keys(own)) {
		vendor, path, _ := strings.Cut(own[name], "/")
		b := PresetBase{Variable: name, Vendor: vendor}
		if path != "" {
			b.Path = "/" + path
		}
		out = append(out, b)
	}
	return out
}

// Address returns the address at which the environment points the program; empty: the vendor's own.
func (b PresetBase) Address(env []string) (string, error) {
	if !b.Codex && b.In == "" {
		return lookup(env, b.Variable), nil
	}
	at, last, _, err := b.inside(env)
	address, _ := at[last].(string)
	return address, err
}

// Point returns the variable that points the program at an address.
func (b PresetBase) Point(env []string, address string) (string, error) {
	if !b.Codex && b.In == "" {
		return b.Variable + "=" + address, nil
	}
	at, last, whole, err := b.inside(env)
	if err != nil {
		return "", err
	}
	at[last] = address
	if last == "base_url" {
		at["supports_websockets"] = false
	}
	text, err := json.Marshal(whole)
	return b.Variable + "=" + string(text), err
}

// inside returns the configuration that the variable holds, the object of it that holds the address, and the
// address's name in that; objects that are lacking are made.
func (b PresetBase) inside(env []string) (at map[string]any, last string, whole map[string]any, err error) {
	whole = map[string]any{}
	if text := lookup(env, b.Variable); text != "" {
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			return nil, "", nil, fault.New(fault.InvalidConfig, "%s is not an object in JSON: %w", b.Variable, err)
		}
	}
	names := strings.Split(b.In, ".")
	if b.Codex {
		names = []string{"openai_base_url"}
		if provider, _ := whole["model_provider"].(string); provider != "" && provider != "openai" { // that the user chose
			names = []string{"model_providers", provider, "base_url"}
		}
	}
	at = whole
	for _, name := range names[:len(names)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	return at, names[len(names)-1], whole, nil
}

// PresetPrograms is the kind of files that the drivers of a project's configuration run.
const PresetPrograms trust.Kind = "driver programs"

// PresetSource finds, for trust, the files of a project that drivers run which it names itself.
func PresetSource() trust.Source {
	return trust.Source{Kind: PresetPrograms, Find: func(g *trust.Ground) ([]trust.Thing, error) {
		data, err := g.Read(trust.ConfigurationFile, launch.MostProgram)
		if err != nil {
			return nil, nil // the source of configurations reports it
		}
		drivers, err := config.ParseDrivers(trust.ConfigurationFile, string(data), config.Project)
		if err != nil {
			return nil, nil // so does loading it
		}
		var out []trust.Thing
		for _, d := range drivers {
			files := launch.ProjectFiles(g.Dir(), append([]string{d.Command}, d.Args...))
			found, err := trust.Programs(PresetPrograms, "is run by the driver "+d.Name, files...).Find(g)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		return out, nil
	}}
}
