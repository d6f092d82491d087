package acpagent

import (
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/core/config"
)

// mostLent limits the servers that an editor may lend a session.
const mostLent = 32

// servers are those that the editor lends, checked.
func servers(given []sdk.McpServer) ([]config.Server, error) {
	if len(given) > mostLent {
		return nil, fault.New(fault.InvalidField, "%d servers are too many: %d at most", len(given), mostLent)
	}
	var out []config.Server
	taken := map[string]bool{}
	for _, g := range given {
		s := config.Server{}
		switch {
		case g.Stdio != nil:
			s = config.Server{Name: g.Stdio.Name, Command: g.Stdio.Command, Args: g.Stdio.Args, Env: map[string]string{}}
			for _, e := range g.Stdio.Env {
				s.Env[e.Name] = e.Value
			}
		case g.Http != nil:
			s = config.Server{Name: g.Http.Name, URL: g.Http.Url, Headers: map[string]string{}}
			for _, h := range g.Http.Headers {
				s.Headers[h.Name] = h.Value
			}
		default:
			return nil, fault.New(fault.InvalidField, "MCP servers are reached over their streams or over HTTP, and in no other way").
				WithHint("sse and acp are not spoken here")
		}
		s.Name = serverName(s.Name)
		if err := s.Check(); err != nil {
			return nil, fault.New(fault.InvalidField, "%w", err)
		}
		if taken[s.Name] {
			return nil, fault.New(fault.InvalidField, "two MCP servers are called %s", s.Name)
		}
		taken[s.Name] = true
		out = append(out, s)
	}
	return out, nil
}

// serverName makes a name of ours of what a person called a server.
func serverName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimSpace(name)))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	name = strings.Trim(name, "-")
	return name[:min(len(name), 32)]
}
