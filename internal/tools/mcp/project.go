package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
)

// ProjectFile is the file in which a project names its servers.
const ProjectFile = ".mcp.json"

// Named is a server as a project names it.
type Named struct {
	Name    string `json:"-"` // a word, made of what is written
	Type    string
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string
	Roots   []string // folders of the project that it may write
	OAuth   struct {
		ClientID     string
		CallbackPort int
	}
	Why string `json:"-"` // why it cannot be used; empty: it can
}

// ParseProject reads a project's file. What is written there that cannot be used says why.
func ParseProject(data []byte) ([]Named, error) {
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fault.New(fault.InvalidConfig, "%s is not JSON with mcpServers: %v", ProjectFile, err)
	}
	taken := map[string]bool{}
	var out []Named
	for _, written := range slices.Sorted(maps.Keys(file.Servers)) {
		n := Named{}
		if err := json.Unmarshal(file.Servers[written], &n); err != nil {
			n = Named{Why: fmt.Sprintf("%s: %v", ProjectFile, err)}
		}
		n.Name = serverWord(written, taken)
		switch {
		case n.Why != "":
		case n.Type == "sse":
			n.Why = "servers over SSE alone are not spoken with"
		case (n.Command == "") == (n.URL == ""):
			n.Why = "it needs a command or a url"
		case n.URL != "" && !strings.HasPrefix(n.URL, "http://") && !strings.HasPrefix(n.URL, "https://") && !strings.HasPrefix(n.URL, "$"):
			n.Why = "its url is not an address"
		}
		out = append(out, n)
	}
	return out, nil
}

// serverWord makes a word that can begin names of tools.
func serverWord(s string, taken map[string]bool) string {
	word := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-':
			return r
		}
		return '_'
	}, s)
	for strings.Contains(word, "__") {
		word = strings.ReplaceAll(word, "__", "_")
	}
	word = strings.Trim(word, "_-")
	if word = strings.TrimRight(word[:min(len(word), 30)], "_-"); word == "" {
		word = "server"
	}
	out := word
	for n := 2; taken[out]; n++ {
		out = fmt.Sprintf("%s%d", word, n)
	}
	taken[out] = true
	return out
}

// Expand puts variables into a text: $NAME, ${NAME} and ${NAME:-otherwise}. missing are those
// that are not there.
func Expand(s string, lookup func(string) (string, bool)) (out string, missing []string) {
	out = variable().ReplaceAllStringFunc(s, func(said string) string {
		name, otherwise, has := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(said[1:], "{"), "}"), ":-")
		switch value, ok := lookup(name); {
		case ok && value != "":
			return value
		case !ok && !has:
			missing = append(missing, name)
		}
		return otherwise
	})
	return out, missing
}

var variable = text.Regexp(`\$(?:\{[^}]+\}|[A-Za-z_][A-Za-z0-9_]*)`)

// Source finds, for trust, the files of a project that its MCP servers run.
func Source() trust.Source {
	return trust.Source{Kind: trust.Servers, Find: func(g *trust.Ground) ([]trust.Thing, error) {
		data, err := g.Read(ProjectFile, mostMessage)
		if err != nil {
			return nil, nil // the source of the file itself reports it
		}
		named, err := ParseProject(data)
		if err != nil {
			return nil, nil // nothing of it is used
		}
		var out []trust.Thing
		seen := map[string]bool{ProjectFile: true}
		for _, n := range named {
			for _, p := range launch.ProjectFiles(g.Dir(), n.Line()) {
				if seen[p] {
					continue
				}
				seen[p] = true
				found, err := trust.Programs(trust.Servers, fmt.Sprintf("is run by the MCP server %s", n.Name), p).Find(g)
				if err != nil {
					return nil, err
				}
				out = append(out, found...)
			}
		}
		return out, nil
	}}
}

// Line returns the command line of a server as it is written, and its variables, which may name files
// to be loaded (NODE_OPTIONS=--require ./x.js); nil if it is reached over HTTP.
func (n Named) Line() []string {
	if n.Command == "" {
		return nil
	}
	out := append([]string{n.Command}, n.Args...)
	for _, name := range slices.Sorted(maps.Keys(n.Env)) {
		out = append(out, name+"="+n.Env[name])
	}
	return out
}
