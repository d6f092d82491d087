package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func loaded(t *testing.T, path string) (*Config, error) {
	t.Helper()
	return Load(Options{Env: func(name string) string {
		return map[string]string{"RAMET_CONFIG": path}[name]
	}})
}

func TestServersAreWrittenReadAndRemovedAndTheRestStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	const mine = "# mine\nmodel = \"a/b\" # this\n"
	testkit.OK(t, os.WriteFile(path, []byte(mine), 0o600))
	ctx := t.Context()
	stdio := Server{Name: "files", Command: "npx", Args: []string{"-y", "x \"y\" \\z"}, Env: map[string]string{"TOKEN": "$MY_TOKEN"}, Roots: []string{"~/notes"}}
	http := Server{Name: "far", URL: "https://mcp.example/x", Headers: map[string]string{"Authorization": "Bearer $T"}, Timeout: "2m", ClientID: "app", ClientSecret: "$S", CallbackPort: 8123}
	for _, s := range []Server{stdio, http} {
		testkit.OK(t, AddServer(ctx, path, s))
	}
	if err := AddServer(ctx, path, stdio); !fault.Is(err, fault.Conflict) {
		t.Errorf("twice: %v", err)
	}
	testkit.OK(t, Set(ctx, path, "orphans", "cascade"))
	c, err := loaded(t, path)
	if err != nil || len(c.Servers) != 2 || c.Orphans != "cascade" || c.Model != "a/b" {
		t.Fatalf("%+v, %v", c, err)
	}
	if got := c.Servers[0]; got.ClientID != "app" || got.ClientSecret != "$S" || got.CallbackPort != 8123 {
		t.Errorf("%+v", got)
	}
	if got := c.Servers[1]; got.Name != "files" || got.Args[1] != stdio.Args[1] || got.Env["TOKEN"] != "$MY_TOKEN" || got.Roots[0] != "~/notes" {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"files", "far"} {
		testkit.OK(t, RemoveServer(ctx, path, name))
	}
	if err := RemoveServer(ctx, path, "far"); !fault.Is(err, fault.NotFound) {
		t.Errorf("again: %v", err)
	}
	text, _ := os.ReadFile(path)
	if !strings.HasPrefix(string(text), mine) || strings.Contains(string(text), "mcp") {
		t.Errorf("left is %q", text)
	}
}

func TestWrongServersAreRefusedWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"[mcp.x]\n": "config.toml:1: MCP server x: it needs a command or a url",
		"\n[mcp.x]\ncommand = \"a\"\nurl = \"https://b\"\n":      "and not both",
		"[mcp.x]\ncomand = \"a\"\ncommand=\"b\"\n":               `did you mean "command"`,
		"[mcp.a__b]\ncommand = \"a\"\n":                          "is not a name of an MCP server",
		"[mcp.x]\ncommand = 3\n":                                 "MCP server x",
		"[mcp.x]\nurl = \"file:///x\"\n":                         "is not an address",
		"[mcp.x]\ncommand = \"a\"\nroots = [\"notes\"]\n":        "roots can't contain",
		"[mcp.x]\ncommand = \"a\"\ntimeout = \"soon\"\n":         "timeout cannot be",
		"[mcp.x]\ncommand = \"a\"\nclient_id = \"b\"\n":          "are for one with a url",
		"[mcp.x]\nurl = \"https://b\"\nclient_secret = \"$S\"\n": "needs a client_id",
		"[mcp.x]\nurl = \"https://b\"\ncallback_port = 70000\n":  "callback_port cannot be",
		"mcp = 3\n": "tables",
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := loaded(t, path)
		f, _ := fault.Of(err)
		if !fault.Is(err, fault.InvalidConfig) || !strings.Contains(f.Error()+" "+f.Hint, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := Load(Options{Env: func(string) string { return "/nowhere" }, Project: ProjectFile{Path: "p", Text: "[mcp.x]\ncommand=\"a\"\n"}})
	if f, _ := fault.Of(err); f == nil || !strings.Contains(f.Error()+f.Hint, ".mcp.json") {
		t.Errorf("of a project: %v", err)
	}
}
