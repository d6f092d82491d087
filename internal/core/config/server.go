package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/BurntSushi/toml"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Server is an MCP server of the user's: the table [mcp.NAME] of the configuration.
type Server struct {
	Name    string            `toml:"-"`
	Command string            `toml:"command,omitempty"` // a program, for one that is spoken with over its streams
	Args    []string          `toml:"args,omitempty"`
	Env     map[string]string `toml:"env,omitempty"`     // variables that it gets besides the usual ones; $NAME in a value stands for the user's
	URL     string            `toml:"url,omitempty"`     // one that is spoken with over HTTP
	Headers map[string]string `toml:"headers,omitempty"` // of each request to it; $NAME as in Env
	Roots   []string          `toml:"roots,omitempty"`   // folders that it may write, besides a cache of its own
	Timeout string            `toml:"timeout,omitempty"` // how long a call may take; empty: the usual
	Off     bool              `toml:"off,omitempty"`     // it is not used
	// How ramet is known where one logs in at a service that takes no new clients by itself.
	ClientID     string `toml:"client_id,omitempty"`
	ClientSecret string `toml:"client_secret,omitempty"` // $NAME as in Env
	CallbackPort int    `toml:"callback_port,omitempty"` // of the loopback, where such a client has a fixed one
}

// tables are the keys of the user's file that are no settings.
var tables = []string{serversKey, driversKey}

const serversKey = "mcp"

var serverName = text.Regexp(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// CheckServerName refuses what is no name of a server: it begins the names of its tools.
func CheckServerName(name string) error {
	if serverName().MatchString(name) && !strings.Contains(name, "__") && !strings.HasSuffix(name, "_") {
		return nil
	}
	return fault.New(fault.InvalidConfig, "%.80q is no name of an MCP server", name).
		WithHint("use a-z 0-9 - and single _, at most 32")
}

// Check refuses a server that could not be reached.
func (s Server) Check() error {
	if err := CheckServerName(s.Name); err != nil {
		return err
	}
	wrong := func(format string, args ...any) *fault.Error {
		return fault.New(fault.InvalidConfig, "MCP server %s: "+format, append([]any{s.Name}, args...)...)
	}
	switch u, err := url.Parse(s.URL); {
	case (s.Command == "") == (s.URL == ""):
		return wrong("it needs a command or a url, and not both")
	case s.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"):
		return wrong("%.80q is no address", s.URL).WithHint("write https://…")
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0 || len(s.Roots) > 0):
		return wrong("args, env and roots are for one with a command")
	case s.Command != "" && len(s.Headers) > 0:
		return wrong("headers are for one with a url")
	case s.Command != "" && (s.ClientID != "" || s.ClientSecret != "" || s.CallbackPort != 0):
		return wrong("client_id, client_secret and callback_port are for one with a url")
	case s.ClientSecret != "" && s.ClientID == "":
		return wrong("a client_secret needs a client_id")
	case s.CallbackPort < 0 || s.CallbackPort > 65535:
		return wrong("callback_port cannot be %d", s.CallbackPort)
	}
	if d, err := time.ParseDuration(s.Timeout); s.Timeout != "" && (err != nil || d <= 0) {
		return wrong("timeout cannot be %.40q", s.Timeout).WithHint("a time such as 90s or 10m")
	}
	for _, r := range s.Roots {
		if !strings.HasPrefix(r, "~/") && !filepath.IsAbs(r) && !strings.HasPrefix(r, ".") {
			return wrong("roots cannot hold %.80q", r).WithHint("name it from the root, from your home (~/…) or from the project (./…)")
		}
	}
	for _, word := range slices.Concat([]string{s.Command, s.URL, s.ClientID, s.ClientSecret}, s.Args, slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers))) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			return wrong("%.80q has control characters", word)
		}
	}
	for name := range s.Env {
		if !envName().MatchString(name) {
			return wrong("%.80q is no name of a variable", name)
		}
	}
	return nil
}

var envName = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// addServers reads the servers of the user's file.
func (c *Config) addServers(path, content string) error {
	found, err := parseServers(path, content)
	c.Servers = found
	return err
}

func parseServers(path, content string) ([]Server, error) {
	var file struct {
		MCP map[string]toml.Primitive `toml:"mcp"`
	}
	meta, err := toml.Decode(content, &file)
	if err != nil {
		return nil, syntaxFault(path, err)
	}
	if kind := meta.Type(serversKey); meta.IsDefined(serversKey) && kind != "Hash" && kind != "" { // an implied table has no type
		return nil, fault.New(fault.InvalidConfig, "%s: mcp is no setting but tables", path).WithHint("write [mcp.NAME]")
	}
	var out []Server
	for _, name := range slices.Sorted(maps.Keys(file.MCP)) {
		where := fmt.Sprintf("%s:%d", path, lineOf(&meta, file.MCP[name]))
		s := Server{Name: name}
		if err := meta.PrimitiveDecode(file.MCP[name], &s); err != nil {
			return nil, fault.New(fault.InvalidConfig, "%s: MCP server %s: %v", where, name, err)
		}
		if err := s.Check(); err != nil {
			return nil, atPlace(where, err)
		}
		out = append(out, s)
	}
	known := []string{"command", "args", "env", "url", "headers", "roots", "timeout", "off", "client_id", "client_secret", "callback_port"}
	for _, key := range meta.Undecoded() {
		if len(key) != 3 || key[0] != serversKey || slices.Contains(known, key[2]) {
			continue
		}
		f := fault.New(fault.InvalidConfig, "%s: [mcp.%s]: unknown key %q", path, key[1], key[2])
		return nil, f.WithHint("%s", text.NearestHint(key[2], known, "known keys: "+strings.Join(known, ", ")))
	}
	return out, nil
}

// AddServer writes a server to the user's file at path, and leaves the rest of it as it is.
// One of that name is CONFLICT.
func AddServer(ctx context.Context, path string, s Server) error {
	if err := s.Check(); err != nil {
		return err
	}
	return changeServers(ctx, path, func(content string, now []Server) (string, error) {
		if slices.ContainsFunc(now, func(o Server) bool { return o.Name == s.Name }) {
			return "", fault.New(fault.Conflict, "there is an MCP server %s already", s.Name).WithHint("ramet mcp rm %s", s.Name)
		}
		var b strings.Builder
		b.WriteString(content)
		if content != "" && !strings.HasSuffix(content, "\n") {
			b.WriteString("\n")
		}
		if content != "" {
			b.WriteString("\n")
		}
		if err := toml.NewEncoder(&b).Encode(map[string]map[string]Server{serversKey: {s.Name: s}}); err != nil {
			return "", fault.New(fault.Failed, "write MCP server: %w", err)
		}
		// The encoder writes the table above it too, which may stand there already.
		return strings.Replace(b.String(), "\n["+serversKey+"]\n", "\n", 1), nil
	})
}

// RemoveServer takes a server out of the user's file. NOT_FOUND: there is none.
func RemoveServer(ctx context.Context, path, name string) error {
	return changeServers(ctx, path, func(content string, now []Server) (string, error) {
		if !slices.ContainsFunc(now, func(o Server) bool { return o.Name == name }) {
			return "", fault.New(fault.NotFound, "no MCP server %.80q is in %s", name, path).WithHint("`ramet mcp list` lists them")
		}
		var out strings.Builder
		inside := false
		for line := range strings.Lines(content) {
			if head := strings.TrimSpace(line); strings.HasPrefix(head, "[") {
				head = strings.Trim(strings.ReplaceAll(strings.ReplaceAll(head, `"`, ""), " ", ""), "[]")
				inside = head == serversKey+"."+name || strings.HasPrefix(head, serversKey+"."+name+".")
			}
			if !inside {
				out.WriteString(line)
			}
		}
		left, err := parseServers(path, out.String())
		if err != nil || len(left) != len(now)-1 {
			return "", byHand(path, 1, "mcp."+name)
		}
		return strings.TrimRight(out.String(), "\n") + "\n", nil
	})
}

// changeServers changes the user's file under its lock, and nothing in it but the servers.
func changeServers(ctx context.Context, path string, do func(content string, now []Server) (string, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.StorageIO, "find configuration: %w", err)
	}
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.While(ctx, path, func() error {
		content, err := readText(path)
		if err != nil {
			return err
		}
		now, err := parseServers(path, content)
		if err != nil {
			return err
		}
		edited, err := do(content, now)
		if err != nil {
			return err
		}
		if !sameRest(content, edited) {
			return byHand(path, 1, serversKey)
		}
		perm := fs.FileMode(0o600)
		if info, err := os.Stat(path); err == nil {
			perm = info.Mode().Perm()
		}
		return durable.WriteFile(path, []byte(edited), perm)
	})
}

// sameRest reports whether two files differ in their servers only.
func sameRest(a, b string) bool {
	rest := func(content string) string {
		var all map[string]any
		if _, err := toml.Decode(content, &all); err != nil {
			return "\x00" + content
		}
		delete(all, serversKey)
		return fmt.Sprintf("%#v", all)
	}
	return rest(a) == rest(b)
}
