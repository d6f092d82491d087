package app

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/face/mcpserver"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/operation/session"
	"ramet/internal/tools/mcp"
	"ramet/internal/turn/tool"
)

// mcpServers are the MCP servers of a workspace: the user's, and those that the project names
// and a person accepted. Both write a cache of their own and the folders that were declared,
// and have the network; a project's runs only so. The note tells people what is not used.
func mcpServers(ws *session.Workspace) (out []mcp.Server, note string, err error) {
	s, err := trust.Gate{Home: ws.Home, Project: ws.Place.Project}.Shelf()
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	accepted, _, err := s.Text(trust.Servers, mcp.ProjectFile)
	if err != nil {
		return nil, "", err
	}
	if len(ws.Config.Servers) == 0 && accepted.Data == nil {
		return nil, accepted.Note, nil
	}
	hide, err := hidden(ws)
	if err != nil {
		return nil, "", err
	}
	keep, err := readOnly(ws, ws.Place.Project)
	if err != nil {
		return nil, "", err
	}
	m := serverMaker{ws: ws, hide: hide, keep: keep, boxed: sandbox.Available()}
	taken := map[string]bool{}
	for _, c := range ws.Config.Servers {
		if !c.Off {
			out = append(out, m.users(c))
			taken[c.Name] = true
		}
	}
	named, err := mcp.ParseProject(accepted.Data)
	if err != nil {
		return out, err.Error(), nil // the user's work all the same
	}
	for _, n := range named {
		if !taken[n.Name] && !ourselves(n) { // the user's own is what counts
			out = append(out, m.projects(n))
		}
	}
	return out, accepted.Note, nil
}

// ourselves reports whether a server of a project is this program: our own agents have its verbs as tools already.
func ourselves(n mcp.Named) bool {
	return filepath.Base(n.Command) == "ramet" && slices.Equal(n.Args, []string{"mcp", "serve"})
}

// serverMaker decides what servers may do.
type serverMaker struct {
	ws    *session.Workspace
	hide  []string
	keep  []string // what no server may write
	boxed error    // why nothing can be confined; nil: it can
}

// users makes a server of the user's configuration.
func (m serverMaker) users(c config.Server) mcp.Server {
	c.Command = home(c.Command)
	s, missing := m.fill(mcp.Server{}, c, os.LookupEnv)
	s.Timeout, _ = time.ParseDuration(c.Timeout) // it was checked
	if len(missing) > 0 {
		s.Why = "these variables are not set: " + strings.Join(missing, ", ")
	}
	return s
}

// projects makes a server that the project names.
func (m serverMaker) projects(n mcp.Named) mcp.Server {
	// Of the environment only what any process of a project gets: no key goes to a server.
	known := map[string]string{}
	for _, pair := range launch.EnvironmentFor(os.Environ()) {
		name, value, _ := strings.Cut(pair, "=")
		known[name] = value
	}
	s, missing := m.fill(mcp.Server{Project: true, Why: n.Why}, config.Server{Name: n.Name, URL: n.URL, Headers: n.Headers, Command: n.Command, Args: n.Args,
		Env: n.Env, Roots: n.Roots, ClientID: n.OAuth.ClientID, CallbackPort: n.OAuth.CallbackPort}, func(name string) (string, bool) { v, ok := known[name]; return v, ok })
	if n.Command != "" {
		s.Check = func(file string, args []string) error {
			return acceptedFiles(m.ws, "MCP server "+n.Name, file, args, n.Line(), s.Command)
		}
		if m.boxed != nil && s.Why == "" {
			s.Why = "a project's server runs confined only: " + m.boxed.Error()
		}
	}
	if len(missing) > 0 && s.Why == "" {
		s.Why = "it wants variables that a project's server does not get: " + strings.Join(missing, ", ") + " (name it in your own configuration: ramet mcp add)"
	}
	return s
}

// fill completes a server with its settings, in which variables have the values that lookup returns; nil: none is
// replaced. It returns the names of those without a value.
func (m serverMaker) fill(s mcp.Server, c config.Server, lookup func(string) (string, bool)) (out mcp.Server, missing []string) {
	expand := func(text string) string {
		if lookup == nil {
			return text
		}
		out, none := mcp.Expand(text, lookup)
		missing = append(missing, none...)
		return out
	}
	expandAll := func(values map[string]string) map[string]string {
		out := map[string]string{}
		for name, value := range values {
			out[name] = expand(value)
		}
		return out
	}
	s.Name, s.Dir, s.URL, s.Shown, s.Headers = c.Name, m.ws.Place.Project, expand(c.URL), c.URL, expandAll(c.Headers)
	s.Login = mcp.Client{ID: expand(c.ClientID), Secret: expand(c.ClientSecret), Port: c.CallbackPort}
	if c.Command == "" {
		return s, missing
	}
	s.Command = append([]string{c.Command}, c.Args...)
	if s.Project {
		for i, word := range s.Command {
			s.Command[i] = expand(word)
		}
	}
	m.hold(&s, expandAll(c.Env), c.Roots)
	s.Roots = slices.Concat(s.Box.Guarded, []string{m.ws.Place.Project})
	if m.boxed != nil && !s.Project {
		s.Box = nil // the user's own program, which nothing here can confine
	}
	return s, missing
}

// hold puts a program into its box.
func (m serverMaker) hold(s *mcp.Server, env map[string]string, roots []string) {
	cache := filepath.Join(m.ws.Home, "cache", "mcp", s.Name)
	if s.Project { // what it leaves there must not be run by a server of the user's, or of another project
		cache = filepath.Join(m.ws.Home, "cache", "mcp-projects", config.WorkspaceName(m.ws.Place.Project), s.Name)
	}
	box := &sandbox.Box{Network: true, Hide: m.hide, Write: []string{sandbox.RealPath(cache)}, Keep: m.keep, Show: []string{m.ws.Place.Project},
		Guard: quarantine(m.ws), Forbid: reserved(m.ws)}
	for _, r := range roots {
		dir, err := m.root(r, s.Project)
		if err != nil {
			s.Why = cmp.Or(s.Why, err.Error())
			continue
		}
		box.Write, box.Guarded = append(box.Write, dir), append(box.Guarded, dir)
	}
	if len(box.Guarded) == 0 {
		box.Guard, box.Forbid = "", nil
	}
	s.Box = box
	own := map[string]string{"XDG_CACHE_HOME": cache, "npm_config_cache": filepath.Join(cache, "npm"), "UV_CACHE_DIR": filepath.Join(cache, "uv"), "PIP_CACHE_DIR": filepath.Join(cache, "pip")}
	maps.Copy(own, env)
	for _, pair := range launch.EnvironmentFor(os.Environ()) {
		if name, _, _ := strings.Cut(pair, "="); own[name] == "" {
			s.Env = append(s.Env, pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) { // the same each time
		s.Env = append(s.Env, name+"="+own[name])
	}
}

// root returns the real path of a folder that a server may write. One that is missing may be made
// before the server starts; then links are refused.
func (m serverMaker) root(name string, project bool) (string, error) {
	dir := home(name)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(m.ws.Place.Project, dir)
	}
	real, err := m.ws.Writable(dir)
	if fault.Is(err, fault.NotFound) {
		real, err = filepath.Clean(dir), nil
	}
	if err != nil {
		return "", err
	}
	if rel, outside := filepath.Rel(m.ws.Place.Project, real); project && (outside != nil || !filepath.IsLocal(rel)) {
		return "", fault.New(fault.Denied, "a project's server writes in the project only, and not in %s", name)
	}
	return real, nil
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

// pool is the servers of a workspace, ready to be asked.
func pool(ws *session.Workspace) (*mcp.Pool, string, error) {
	servers, note, err := mcpServers(ws)
	if err != nil || len(servers) == 0 {
		return nil, note, err
	}
	if runtime.GOOS == "windows" {
		return nil, note, fault.New(fault.Failed, "MCP servers are not held on this system yet")
	}
	return newPool(ws, servers), note, nil
}

func newPool(ws *session.Workspace, servers []mcp.Server) *mcp.Pool {
	return &mcp.Pool{Servers: servers, Cache: filepath.Join(ws.Home, "mcp"), Version: version}
}

// serverPatience limits the time a turn waits for servers whose tools aren't known yet.
const serverPatience = 30 * time.Second

// served are the tools of MCP servers for a turn of an agent. If their definitions would take
// more than a tenth of what the model reads, it gets a tool that finds them.
func (t *tools) served(a agent.Agent) tool.Box {
	pool, note, err := t.request.Servers().Pool()
	if err != nil {
		note = "MCP servers are not used: " + err.Error()
	}
	t.tell(a, note)
	if pool = t.borrowed(context.Background(), a, pool); pool == nil {
		return nil
	}
	pool.Attend(t.person.Inquire)
	lists, why := pool.Lists(context.Background(), serverPatience)
	for _, w := range why {
		t.tell(a, w)
	}
	const bytesOfToken = 4
	return pool.Box(lists, int(t.window(a)*bytesOfToken/10))
}

// tell tells people something about an agent's servers, once.
func (t *tools) tell(a agent.Agent, what string) {
	t.mu.Lock()
	known := what == "" || t.told[string(a.ID)+what]
	if t.told == nil {
		t.told = map[string]bool{}
	}
	t.told[string(a.ID)+what] = true
	t.mu.Unlock()
	if !known && t.note != nil {
		t.note(a.ID, what)
	}
}

// lent makes the servers that an editor lends an agent. They are its user's, and are held as
// those of the configuration are; what they are given is taken as it is.
func (m serverMaker) lent(given []config.Server) []mcp.Server {
	var out []mcp.Server
	for _, c := range given {
		s, _ := m.fill(mcp.Server{}, c, nil)
		s.Roots = nil // the editor names none
		out = append(out, s)
	}
	return out
}

// borrowed returns the pool of the workspace, which may be nil, with the servers that an editor lends an
// agent; one that the workspace has under the same name is used instead.
func (t *tools) borrowed(ctx context.Context, a agent.Agent, own *mcp.Pool) *mcp.Pool {
	given := t.request.Servers().Lent(ctx, a.ID)
	var all []mcp.Server
	if own != nil {
		all = slices.Clone(own.Servers)
	}
	given = slices.DeleteFunc(slices.Clone(given), func(c config.Server) bool {
		return slices.ContainsFunc(all, func(s mcp.Server) bool { return s.Name == c.Name })
	})
	if len(given) == 0 {
		return own
	}
	m := serverMaker{ws: t.request.Workspace, hide: t.hidden, boxed: sandbox.Available()}
	return t.request.Servers().Keep(newPool(t.request.Workspace, append(all, m.lent(given)...)))
}

// ownTools answers what the programs of a kernel's agents ask of ramet: each is its agent, as the
// door through which it came tells. nil: there is no command line to ask.
func ownTools(life context.Context, r request) func(http.ResponseWriter, *http.Request, id.Agent) {
	if r.Workspace.Command == nil {
		return nil
	}
	serve := sync.OnceValues(func() (*mcpserver.Server, error) {
		runs, err := r.Workspace.RunStore()
		if err != nil {
			return nil, err
		}
		return mcpserver.New(life, mcpserver.Options{Version: version, Workspace: r.Workspace, Runs: runs}), nil
	})
	return func(w http.ResponseWriter, q *http.Request, by id.Agent) {
		server, err := serve()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		server.ServeMCP(w, q, by)
	}
}
