// Package mcp lets agents use the tools of MCP servers: programs that are spoken with over
// their standard streams, and services that are spoken with over HTTP.
//
// It promises:
//
//   - Nothing starts before it is needed. What tools a server has is kept, by a fingerprint of
//     how it is started; a server whose tools are known starts with the first call.
//   - One process for each server of a pool, for all callers, held as every command is (package
//     sandbox): it ends with ramet, whatever it does, and with everything that it started. One
//     that was not called for a while is stopped.
//   - A call is made once. When the server ends, or does not answer in time, the answer says
//     that the outcome is unknown, and nothing is repeated. A server that keeps ending is not
//     started forever.
//   - What a server says is data: names are made words, schemas objects, answers are bounded,
//     what it prints besides is dropped, and what is left out is said.
//   - Hints of a server (that a tool only reads) are shown, and permit nothing.
//   - A tool that was added or described otherwise since its server was first asked says so, and
//     rules that only name it do not permit it. Invisible characters are spelled out.
//
// The maker of a Server decides what it may do: the box, the variables, the folders.
package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// Bounds of what a server may say.
const (
	MostTools   = 5000     // of one server
	mostSchema  = 32 << 10 // of one tool
	mostAnswer  = 64 << 10 // text of an answer, as the model reads it
	mostMessage = 16 << 20 // one message of a server
	mostText    = 4 << 10  // description of one tool
)

// Server is one server and how it is reached.
type Server struct {
	Name    string
	Command []string // with its arguments; empty: it is reached over HTTP
	Dir     string   // the project; the user's own servers start in an empty folder
	Roots   []string // its roots: the folders that it may write, and the project
	// Check refuses to start a file, if one is named, with a command line; a project's server must have one.
	Check   func(file string, args []string) error
	Env     []string // complete
	Box     *sandbox.Box
	URL     string
	Shown   string // URL as it is configured, with $NAME for what is secret; empty: as it is
	Headers map[string]string
	Login   Client        // how ramet is known where one logs in; zero: it introduces itself
	Client  *http.Client  // nil: the usual
	Timeout time.Duration // of a call; 0: five minutes
	Project bool          // the project names it, and a person accepted that
	Why     string        // why it cannot be used; empty: it can
}

// Client is ramet as a service knows it that takes no new clients by itself.
type Client struct {
	ID, Secret string
	Port       int // of the loopback, where a browser comes back to; 0: any
}

// Fingerprint names how a server is started: one that is started otherwise may have other tools.
func (s Server) Fingerprint() string {
	raw, _ := json.Marshal([]any{2, s.Name, s.Command, s.Dir, s.URL, s.Headers, s.Project}) // of texts
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

func (s Server) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return 5 * time.Minute
}

// Definition is a tool of a server, as its model is told of it.
type Definition struct {
	Name        string          `json:"name"` // server__tool, a word
	Tool        string          `json:"tool"` // the server's own name for it
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	ReadOnly    bool            `json:"read_only,omitempty"` // says the server
	Digest      string          `json:"digest,omitempty"`    // identifies it as it is now
	First       string          `json:"first,omitempty"`     // the digest under which it was first seen
}

// List holds the tools of a server.
type List struct {
	Server      string       `json:"server"`
	Fingerprint string       `json:"fingerprint"`
	At          time.Time    `json:"at"`
	Tools       []Definition `json:"tools"`
	Resources   bool         `json:"resources,omitempty"` // it has some to read
	Prompts     []Prompt     `json:"prompts,omitempty"`
	Notes       []string     `json:"notes,omitempty"` // what was left out or changed, and why
}

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
