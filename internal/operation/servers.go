package operation

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// ListServers lists the MCP servers that agents can use.
var ListServers = Op[NoInput, public.Servers]{
	Doc: Doc{Name: "mcp list", Group: "mcp", Faces: CLI, Effect: Reads, Here: true, Summary: "List the MCP servers without starting them"},
	Run: func(_ context.Context, e *Env, _ NoInput) (public.Servers, error) { return e.Servers().List() },
	Text: func(w *printer.Writer, _ NoInput, out public.Servers) {
		writeTable(w, "no MCP servers; ramet mcp add NAME -- COMMAND… adds one", []string{"NAME", "WHOSE", "STATE", "TOOLS", "WHAT"}, out.Servers, func(s public.Server) []string {
			what, tools := strings.Join(s.Command, " "), "-"
			if s.URL != nil {
				what = *s.URL
			}
			if s.Tools != nil {
				tools = text.Count(*s.Tools, "tool")
			}
			if s.Why != nil {
				what = *s.Why
			}
			return []string{s.Name, s.Scope, s.State, tools, text.Line(what, 100)}
		})
		for _, s := range out.Servers {
			for _, n := range s.Notes {
				w.Line("note: %s: %s", s.Name, n)
			}
		}
		if out.Note != nil {
			w.Line("note: %s", *out.Note)
		}
	},
}

// AddServerInput describes an MCP server.
type AddServerInput struct {
	Name         string   `json:"name" arg:"NAME" help:"its name"`
	Command      []string `json:"command,omitempty" arg:"-- COMMAND [ARG]…" help:"a program with its arguments"`
	URL          string   `json:"url,omitempty" help:"the address of a service"`
	Env          Pairs    `json:"env,omitempty" help:"NAME=VALUE for a program; repeats"`
	Header       Pairs    `json:"header,omitempty" help:"NAME=VALUE for a service; repeats"`
	Root         []string `json:"root,omitempty" help:"a folder that the program may write to; repeats"`
	ClientID     string   `json:"client_id,omitempty" help:"client ID, for a service without dynamic registration"`
	ClientSecret string   `json:"client_secret,omitempty" help:"that client's secret, as the name of a variable: '$NAME'"`
	CallbackPort int      `json:"callback_port,omitempty" help:"loopback port for that client's redirect (default any)"`
	Timeout      string   `json:"timeout,omitempty" help:"timeout of a call, such as 90s (default 5m)"`
}

// ServerWritten names an MCP server that was written to the configuration, or removed from it.
type ServerWritten struct {
	Name string `json:"name"`
	Path string `json:"path"`
	how  string
}

// Text implements printer.Datum.
func (s ServerWritten) Text(w *printer.Writer) { w.Line("MCP server %s %s %s", s.Name, s.how, s.Path) }

// AddServer adds an MCP server to the configuration.
var AddServer = Op[AddServerInput, ServerWritten]{
	Doc: Doc{Name: "mcp add", Group: "mcp", Faces: CLI, OnHome: true, Persons: true, Summary: "Add an MCP server to your configuration",
		Help: `Add an MCP server to your configuration: a program with its arguments, or with {url} a service. A
program can use the network, and can write to a cache of its own and to the folders given with
{root}. Its environment has the usual variables and those given with {env}. A value can refer to
another variable ({env} 'TOKEN=$MY_TOKEN'), so that no secret is stored in the file. To see its
tools, use "ramet mcp tools NAME".`},
	Run: func(ctx context.Context, e *Env, in AddServerInput) (out ServerWritten, err error) {
		s := config.Server{Name: in.Name, URL: in.URL, Env: in.Env, Headers: in.Header, Roots: in.Root,
			ClientID: in.ClientID, ClientSecret: in.ClientSecret, CallbackPort: in.CallbackPort, Timeout: in.Timeout}
		if len(in.Command) > 0 {
			s.Command, s.Args = in.Command[0], in.Command[1:]
		}
		path, err := config.Path(e.Session.Getenv)
		if err != nil {
			return out, err
		}
		return ServerWritten{s.Name, path, "is in"}, config.AddServer(ctx, path, s)
	},
}

// ServerName names an MCP server.
type ServerName string

// ServerInput names an MCP server.
type ServerInput struct {
	Server ServerName `json:"server" arg:"SERVER" help:"the MCP server"`
}

// RemoveServerInput names an MCP server of the configuration.
type RemoveServerInput struct {
	Name ServerName `json:"name" arg:"NAME" help:"the MCP server"`
}

// RemoveServer removes an MCP server from the configuration.
var RemoveServer = Op[RemoveServerInput, ServerWritten]{
	Doc: Doc{Name: "mcp rm", Group: "mcp", Faces: CLI, OnHome: true, Persons: true, Summary: "Remove an MCP server from your configuration"},
	Run: func(ctx context.Context, e *Env, in RemoveServerInput) (out ServerWritten, err error) {
		path, err := config.Path(e.Session.Getenv)
		if err != nil {
			return out, err
		}
		return ServerWritten{string(in.Name), path, "is no longer in"}, config.RemoveServer(ctx, path, string(in.Name))
	},
}

// ServerToolsInput names an MCP server, or none: all are asked.
type ServerToolsInput struct {
	Server ServerName `json:"server,omitempty" arg:"SERVER" help:"only this MCP server"`
}

// ListServerTools asks MCP servers for their tools.
var ListServerTools = Op[ServerToolsInput, public.ServerTools]{
	Doc: Doc{Name: "mcp tools", Group: "mcp", Faces: CLI, Here: true, Persons: true, Summary: "Ask MCP servers for their tools"},
	Run: func(ctx context.Context, e *Env, in ServerToolsInput) (public.ServerTools, error) {
		return e.Servers().ServerTools(ctx, string(in.Server))
	},
	Text: func(w *printer.Writer, _ ServerToolsInput, out public.ServerTools) { writeServerTools(w, out) },
}

// AcceptServer accepts the tools of an MCP server as they are now.
var AcceptServer = Op[ServerInput, public.ServerTools]{
	Doc: Doc{Name: "mcp accept", Group: "mcp", Faces: CLI, Here: true, Persons: true, Summary: "Accept the tools of an MCP server as they are now",
		Help: `Accept all tools of an MCP server as they are now, and list them. Rules for a server or a tool don't
allow a tool that the server has added, or whose description it has changed, since it was first
asked. Read the descriptions first: "ramet mcp tools SERVER --json".`},
	Run: func(ctx context.Context, e *Env, in ServerInput) (public.ServerTools, error) {
		return e.Servers().AcceptServer(ctx, string(in.Server))
	},
	Text: func(w *printer.Writer, _ ServerInput, out public.ServerTools) { writeServerTools(w, out) },
}

func writeServerTools(w *printer.Writer, out public.ServerTools) {
	writeTable(w, "no tools", []string{"TOOL", "WHAT IT DOES, AS ITS SERVER SAYS"}, out.Tools, func(t public.ServerTool) []string {
		what := text.Line(t.Description, 100)
		if t.Changed != nil {
			what = "[" + *t.Changed + "] " + what
		}
		return []string{t.Name, what}
	})
	for _, n := range out.Notes {
		w.Line("note: %s", n)
	}
}

// CallServerInput is a call of a tool of an MCP server.
type CallServerInput struct {
	Server ServerName `json:"server" arg:"SERVER" help:"the MCP server"`
	Tool   string     `json:"tool" arg:"TOOL" help:"the tool"`
	Args   *Text      `json:"args,omitempty" arg:"JSON" help:"its arguments"`
}

// CallServer calls a tool of an MCP server.
var CallServer = Op[CallServerInput, public.ServerCall]{
	Doc: Doc{Name: "mcp call", Group: "mcp", Faces: CLI, Here: true, Persons: true, Summary: "Call a tool of an MCP server",
		Help: "Call a tool of an MCP server with arguments in JSON ({} if none are given; - reads\nstandard input), and print what it answers. Exit 1 if it says that it failed."},
	Run: func(ctx context.Context, e *Env, in CallServerInput) (out public.ServerCall, err error) {
		given := "{}"
		if in.Args != nil {
			given = string(*in.Args)
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(given), &object); err != nil {
			return out, fault.New(fault.Usage, "the arguments are no JSON object: %v", err).WithHint(`write them like {"path": "a.txt"}`)
		}
		out, err = e.Servers().CallServer(ctx, string(in.Server), in.Tool, json.RawMessage(given))
		if err == nil && out.Outcome != "done" {
			err = Incomplete{ExitCode(1)}
		}
		return out, err
	},
	Text: func(w *printer.Writer, _ CallServerInput, out public.ServerCall) {
		for one := range strings.Lines(out.Text) {
			w.Line("%s", strings.TrimRight(one, "\r\n"))
		}
	},
}

// LogInServer logs in at an MCP server that is a service.
var LogInServer = Op[ServerInput, public.ServerLogin]{
	Doc: Doc{Name: "mcp login", Group: "mcp", Faces: CLI, Here: true, Persons: true, Summary: "Log in to an MCP server that is a service",
		Help: `Log in to an MCP server that is a service (OAuth with PKCE). ramet prints an address: open it in a
browser on this machine and log in. The browser returns to ramet on the loopback interface. The tokens
are stored in ramet's home for this address of this server only, and are renewed while the service
permits it. "ramet mcp logout" deletes them.`},
	Run: func(ctx context.Context, e *Env, in ServerInput) (public.ServerLogin, error) {
		return e.Servers().LoginServer(ctx, string(in.Server), func(address string) { e.Tell("open this address in your browser:\n" + address) })
	},
}

// LogOutServer forgets a login at an MCP server.
var LogOutServer = Op[ServerInput, public.ServerLogin]{
	Doc: Doc{Name: "mcp logout", Group: "mcp", Faces: CLI, Here: true, Persons: true, Summary: "Delete the login for an MCP server"},
	Run: func(_ context.Context, e *Env, in ServerInput) (public.ServerLogin, error) {
		return e.Servers().LogoutServer(string(in.Server))
	},
}

// TokenInput names an agent.
type TokenInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" help:"the agent that a client with the token acts as"`
}

// AgentToken is a token by which a program is an agent.
type AgentToken struct {
	Agent id.Agent `json:"agent_uuid"`
	Token string   `json:"token"`
}

// PrintToken returns a token by which a program is an agent.
var PrintToken = Op[TokenInput, AgentToken]{
	Doc: Doc{Name: "mcp token", Group: "mcp", Faces: CLI, Here: true, Persons: true, Summary: "Print a token with which an MCP client acts as an agent",
		Help: `Print a token for "ramet mcp serve" (in RAMET_TOKEN) and for /mcp of "ramet serve" (as a bearer
token). A client with this token acts as the agent: it can act on the agent and its subtree, and
sends mail in its name. It gives no other access. It is valid while the agent is alive and the
token in ramet's home is unchanged.`},
	On: func(ctx context.Context, e *Env, a agent.Agent, _ TokenInput) (out AgentToken, err error) {
		token, err := trust.OpenToken(e.Home)
		if err != nil {
			return out, err
		}
		return AgentToken{a.ID, token.For(a.ID)}, nil
	},
	Text: func(w *printer.Writer, _ TokenInput, out AgentToken) { w.Line("%s", out.Token) },
}

// mcpClient is a program that can use ramet's tools: the file that names its servers, and ramet's entry there.
type mcpClient struct {
	name, path string // path: below the project, or with ~ below the user's home
	key        string // the member of the file that holds servers; empty: it is TOML
	entry      string // what stands there under our name
}

var mcpClients = []mcpClient{
	{name: "claude", path: ".mcp.json", key: "mcpServers", entry: `{"command": "ramet", "args": ["mcp", "serve"]}`},
	{name: "codex", path: "~/.codex/config.toml", entry: "[mcp_servers.ramet]\ncommand = \"ramet\"\nargs = [\"mcp\", \"serve\"]\n"},
	{name: "opencode", path: "opencode.json", key: "mcp", entry: `{"type": "local", "command": ["ramet", "mcp", "serve"]}`},
	{name: "cursor", path: ".cursor/mcp.json", key: "mcpServers", entry: `{"command": "ramet", "args": ["mcp", "serve"]}`},
}

// MCPClient names a program that can use ramet's tools.
type MCPClient string

// Words implements Words.
func (MCPClient) Words() (out []string) {
	for _, c := range mcpClients {
		out = append(out, c.name)
	}
	return out
}

// Refuse implements Refuser.
func (c MCPClient) Refuse(name string) error {
	e := fault.New(fault.Usage, "mcp install: %.40q is not a program that is known", name)
	if near := text.NearestWord(name, c.Words()); near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e.WithHint("known are %s; others want the command `ramet mcp serve`", strings.Join(c.Words(), ", "))
}

// InstallMCPInput names the program that gets ramet's tools.
type InstallMCPInput struct {
	Program MCPClient `json:"program" arg:"claude|codex|opencode|cursor" help:"the program"`
	Print   bool      `json:"print,omitempty" help:"show what to add to the file, and write nothing"`
}

// InstalledMCP describes the file that names the servers of a program.
type InstalledMCP struct {
	Tool     MCPClient `json:"tool"`
	Path     string    `json:"path"`
	Changed  bool      `json:"changed"`
	Written  bool      `json:"written"`
	Settings string    `json:"settings"`
}

// InstallMCP adds ramet to the MCP servers of a program.
var InstallMCP = Op[InstallMCPInput, InstalledMCP]{
	Doc: Doc{Name: "mcp install", Group: "mcp", Faces: CLI, OnHome: true, Summary: "Let another program's agents use ramet's tools",
		Help: `Add "ramet mcp serve" to the MCP servers of a program: claude (.mcp.json of the project),
codex (~/.codex/config.toml), opencode (opencode.json) or cursor (.cursor/mcp.json). The rest
of the file is preserved. {print} shows what to add, and writes nothing.`},
	Run: installMCP,
	Text: func(w *printer.Writer, _ InstallMCPInput, out InstalledMCP) {
		switch {
		case !out.Written:
			for one := range strings.Lines(out.Settings) {
				w.Line("%s", strings.TrimRight(one, "\n"))
			}
		case !out.Changed:
			w.Line("%s has it already", out.Path)
		default:
			w.Line("ramet is in %s", out.Path)
		}
	},
}

func installMCP(ctx context.Context, e *Env, in InstallMCPInput) (out InstalledMCP, err error) {
	found := mcpClients[slices.Index(in.Program.Words(), string(in.Program))]
	path, err := found.place(e.Session)
	if err != nil {
		return out, err
	}
	out = InstalledMCP{Tool: in.Program, Path: path}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, fault.New(fault.StorageIO, "read %s: %w", path, err)
	}
	if in.Print { // what already exists does not matter
		out.Settings, err = found.addEntry(nil)
		return out, err
	}
	if err := session.NeedPerson(ctx, "mcp install", e.Session.Own); err != nil {
		return out, err
	}
	if out.Settings, err = found.addEntry(before); err != nil {
		return out, err
	}
	if out.Changed = string(before) != out.Settings; out.Changed {
		if err := durable.MakeFolder(filepath.Dir(path), 0o755); err != nil {
			return out, err
		}
		if err := durable.WriteFile(path, []byte(out.Settings), 0o644); err != nil {
			return out, err
		}
	}
	out.Written = true
	return out, nil
}

// place returns the file that names the program's servers.
func (c mcpClient) place(s *session.Session) (string, error) {
	if rest, ok := strings.CutPrefix(c.path, "~/"); ok {
		home := s.Getenv("HOME")
		if home == "" {
			return "", fault.New(fault.InvalidConfig, "HOME is not set").WithHint("add what --print shows yourself")
		}
		return filepath.Join(home, rest), nil
	}
	project, err := config.ProjectFolder(s.Dir)
	return filepath.Join(project, filepath.FromSlash(c.path)), err
}

// addEntry returns the file with ramet's entry in it.
func (c mcpClient) addEntry(before []byte) (string, error) {
	if c.key == "" {
		return c.addTable(string(before)), nil
	}
	if len(strings.TrimSpace(string(before))) == 0 {
		before = []byte("{}")
	}
	bad := func(err error) error {
		return fault.New(fault.InvalidConfig, "%s cannot be changed: %w", c.path, err).WithHint("add what --print shows yourself")
	}
	all, err := ledger.ParseObject(before)
	if err != nil {
		return "", bad(err)
	}
	servers := ledger.Object{}
	if raw, ok := all.Get(c.key); ok {
		if servers, err = ledger.ObjectOf(raw); err != nil {
			return "", bad(err)
		}
	}
	servers.Set("ramet", []byte(c.entry))
	all.Set(c.key, servers.Append(nil, 1))
	return string(all.Append(nil, 0)) + "\n", nil
}

// addTable adds a table to a TOML file that has none of ours.
func (c mcpClient) addTable(before string) string {
	head, _, _ := strings.Cut(c.entry, "\n")
	for one := range strings.Lines(before) {
		if strings.TrimSpace(one) == head {
			return before
		}
	}
	if before != "" {
		before = strings.TrimRight(before, "\n") + "\n\n"
	}
	return before + c.entry
}
