package config

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/BurntSushi/toml"

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
	// How ramet is known where one logs in at a service that registers no clients by itself.
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
	return fault.New(fault.InvalidConfig, "%.80q is not a name of an MCP server", name).
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
		return wrong("%.80q is not an address", s.URL).WithHint("write https://…")
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
			return wrong("roots can't contain %.80q", r).WithHint("name it from the root, from your home (~/…) or from the project (./…)")
		}
	}
	words := slices.Concat([]string{s.Command, s.URL, s.ClientID, s.ClientSecret}, s.Args, slices.Collect(maps.Values(s.Headers)))
	if err := checkWords(words, s.Env); err != nil {
		return wrong("%w", err)
	}
	return nil
}

// checkWords refuses control characters in texts, and names that no variable can have.
func checkWords(words []string, variables ...map[string]string) error {
	for _, set := range variables {
		words = slices.AppendSeq(words, maps.Values(set))
		for name := range set {
			if !envName().MatchString(name) {
				return fmt.Errorf("%.80q is not a name of a variable", name)
			}
		}
	}
	for _, word := range words {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			return fmt.Errorf("%.80q has control characters", word)
		}
	}
	return nil
}

var envName = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseServers reads the servers of the user's file.
func parseServers(path, content string) ([]Server, error) {
	var out []Server
	err := parseTables(path, content, serversKey, "MCP server", func(name, where string, decode func(any) error) error {
		s := Server{Name: name}
		if err := decode(&s); err != nil {
			return err
		}
		if out = append(out, s); s.Check() != nil {
			return atPlace(where, s.Check())
		}
		return nil
	})
	return out, err
}

// parseTables reads the tables [KEY.NAME] of a file, in the order of their names: take decodes each into a struct, whose tags
// are all the keys that it may have. what names one in errors.
func parseTables(path, content, key, what string, take func(name, where string, decode func(any) error) error) error {
	var file map[string]toml.Primitive
	meta, err := toml.Decode(content, &file)
	if err != nil {
		return syntaxFault(path, err)
	}
	var tables map[string]toml.Primitive
	kind := meta.Type(key) // an implied table has none
	if raw, ok := file[key]; ok && (kind != "Hash" && kind != "" || meta.PrimitiveDecode(raw, &tables) != nil) {
		return fault.New(fault.InvalidConfig, "%s: %s is not a setting but tables", path, key).WithHint("write [%s.NAME]", key)
	}
	var known []string
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		where := fmt.Sprintf("%s:%d", path, lineOf(&meta, tables[name]))
		err := take(name, where, func(into any) error {
			known = tagsOf(into)
			if err := meta.PrimitiveDecode(tables[name], into); err != nil {
				return fault.New(fault.InvalidConfig, "%s: %s %s: %v", where, what, name, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, at := range meta.Undecoded() {
		if len(at) != 3 || at[0] != key || slices.Contains(known, at[2]) {
			continue
		}
		f := fault.New(fault.InvalidConfig, "%s: [%s.%s]: unknown key %q", path, key, at[1], at[2])
		return f.WithHint("%s", text.NearestHint(at[2], known, "known keys: "+strings.Join(known, ", ")))
	}
	return nil
}

// tagsOf returns the names that the fields of a struct have in TOML.
func tagsOf(pointer any) []string {
	var out []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(pointer).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("toml"), ","); name != "-" {
			out = append(out, name)
		}
	}
	return out
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

// changeServers changes the servers of the user's file, and nothing else in it.
func changeServers(ctx context.Context, path string, do func(content string, now []Server) (string, error)) error {
	return changeFile(ctx, path, func(path, content string) (string, error) {
		now, err := parseServers(path, content)
		if err != nil {
			return "", err
		}
		edited, err := do(content, now)
		if err == nil && !sameRest(content, edited) {
			err = byHand(path, 1, serversKey)
		}
		return edited, err
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
