package operation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
)

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
