package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/ledger"
)

// client is a program that can use our tools: where it is told of servers, and how.
type client struct {
	name, path string // path: below the project, or with ~ below the user's home
	key        string // the member of the file that holds servers; empty: it is TOML
	entry      string // what stands there under our name
}

var clients = []client{
	{name: "claude", path: ".mcp.json", key: "mcpServers", entry: `{"command": "ramet", "args": ["mcp", "serve"]}`},
	{name: "codex", path: "~/.codex/config.toml", entry: "[mcp_servers.ramet]\ncommand = \"ramet\"\nargs = [\"mcp\", \"serve\"]\n"},
	{name: "opencode", path: "opencode.json", key: "mcp", entry: `{"type": "local", "command": ["ramet", "mcp", "serve"]}`},
	{name: "cursor", path: ".cursor/mcp.json", key: "mcpServers", entry: `{"command": "ramet", "args": ["mcp", "serve"]}`},
}

func clientNames() []string {
	var out []string
	for _, c := range clients {
		out = append(out, c.name)
	}
	return out
}

func installMCPCommand(l *Line) *cobra.Command {
	var show bool
	c := l.command("install claude|codex|opencode|cursor", "Let another program's agents use ramet's tools", `Add "ramet mcp serve" to the MCP servers of a program: claude (.mcp.json of the project),
codex (~/.codex/config.toml), opencode (opencode.json), cursor (.cursor/mcp.json). What
is in the file stays; --print shows what belongs there, and writes nothing.`, 1, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		found, err := findClient(args[0])
		if err != nil {
			return nil, err
		}
		path, err := found.place(l)
		if err != nil {
			return nil, err
		}
		done := mcpInstalled{Tool: found.name, Path: path}
		before, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.StorageIO, "read %s: %w", path, err)
		}
		if show { // what already exists does not matter
			done.Settings, err = found.with(nil)
			return done, err
		}
		if err := l.Person("mcp install"); err != nil {
			return nil, err
		}
		if done.Settings, err = found.with(before); err != nil {
			return nil, err
		}
		if done.Changed = string(before) != done.Settings; done.Changed {
			if err := durable.MakeFolder(filepath.Dir(path), 0o755); err != nil {
				return nil, err
			}
			if err := durable.WriteFile(path, []byte(done.Settings), 0o644); err != nil {
				return nil, err
			}
		}
		done.Written = true
		return done, nil
	})
	c.ValidArgs = clientNames()
	c.Flags().BoolVar(&show, "print", false, "show what belongs into the file, and write nothing")
	return c
}

func findClient(name string) (client, error) {
	for _, c := range clients {
		if c.name == name {
			return c, nil
		}
	}
	e := fault.New(fault.Usage, "mcp install: %.40q is not a program that is known", name)
	if near := text.NearestWord(name, clientNames()); near != "" {
		return client{}, e.WithHint("did you mean %s?", near)
	}
	return client{}, e.WithHint("known are %s; others want the command `ramet mcp serve`", strings.Join(clientNames(), ", "))
}

// place is the file that names the program's servers.
func (c client) place(l *Line) (string, error) {
	if rest, ok := strings.CutPrefix(c.path, "~/"); ok {
		home := l.Getenv("HOME")
		if home == "" {
			return "", fault.New(fault.InvalidConfig, "HOME is not set").WithHint("add what --print shows yourself")
		}
		return filepath.Join(home, rest), nil
	}
	project, err := config.ProjectFolder(l.Dir)
	return filepath.Join(project, filepath.FromSlash(c.path)), err
}

// with is the file with our line in it.
func (c client) with(before []byte) (string, error) {
	if c.key == "" {
		return c.withTable(string(before)), nil
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
	servers.Set(serverName, []byte(c.entry))
	all.Set(c.key, servers.Append(nil, 1))
	return string(all.Append(nil, 0)) + "\n", nil
}

// serverName is ramet's name there.
const serverName = "ramet"

// withTable adds a table to a TOML file that has none of ours.
func (c client) withTable(before string) string {
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

// mcpInstalled is the datum of install.
type mcpInstalled struct {
	Tool     string `json:"tool"`
	Path     string `json:"path"`
	Changed  bool   `json:"changed"`
	Written  bool   `json:"written"`
	Settings string `json:"settings"`
}

func (d mcpInstalled) Text(w *printer.Writer) {
	switch {
	case !d.Written:
		for one := range strings.Lines(d.Settings) {
			w.Line("%s", strings.TrimRight(one, "\n"))
		}
	case !d.Changed:
		w.Line("%s has it already", d.Path)
	default:
		w.Line("ramet is in %s", d.Path)
	}
}
