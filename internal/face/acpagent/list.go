package acpagent

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/operation/session"
)

// pageLength limits the sessions of one page.
const pageLength = 50

// list lists the agents that live, those with the newest entries first. The cursor is the
// newest entry of the last one that was told.
func (s *Server) list(ctx context.Context, r sdk.ListSessionsRequest) (out sdk.ListSessionsResponse, err error) {
	out.Sessions = []sdk.SessionInfo{}
	dir := s.o.Dir
	if r.Cwd != nil {
		if err := folder(*r.Cwd); err != nil {
			return out, err
		}
		dir = *r.Cwd
	}
	d, err := s.at(ctx, dir)
	if err != nil {
		return out, err
	}
	before := id.Message(0)
	if r.Cursor != nil {
		if before, err = id.ParseMessage(*r.Cursor); err != nil {
			return out, fault.New(fault.InvalidField, "%.40q is not a cursor", *r.Cursor).WithHint("leave it out, or give nextCursor of the page before")
		}
	}
	all, err := d.Store.Agents(ctx, agent.Filter{})
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(a agent.Agent) bool {
		return strings.HasPrefix(a.Name, session.RunName) || before != 0 && a.Head >= before || r.Cwd != nil && a.Cwd != filepath.Clean(*r.Cwd)
	})
	slices.SortFunc(all, func(a, b agent.Agent) int { return cmp.Compare(b.Head, a.Head) })
	if len(all) > pageLength {
		all = all[:pageLength]
		next := all[pageLength-1].Head.String()
		out.NextCursor = &next
	}
	for _, a := range all {
		one, err := d.info(ctx, a)
		if err != nil {
			return out, err
		}
		out.Sessions = append(out.Sessions, one)
	}
	return out, nil
}

// info is an agent as a session: called by its name, else by what it was told first.
func (d *desk) info(ctx context.Context, a agent.Agent) (sdk.SessionInfo, error) {
	one := sdk.SessionInfo{SessionId: sdk.SessionId(a.ID), Cwd: a.Cwd}
	title := a.Name
	err := d.Store.View(ctx, func(log history.Log) error {
		for e, err := range log.QueryRange(ctx, history.Range{Agent: a.ID, End: history.NoLimit}, history.Selection{Newest: 1, Any: true}) {
			if err != nil {
				return err
			}
			at := e.CreatedAt.UTC().Format(time.RFC3339)
			one.UpdatedAt = &at
		}
		if title != "" {
			return nil
		}
		for e, err := range log.QueryRange(ctx, history.Range{Agent: a.ID, End: history.NoLimit}, history.Selection{}) {
			if err != nil {
				return err
			}
			if e.Kind != history.User {
				continue
			}
			parts, err := e.Parts()
			title = text.Line(history.Plain(parts), 80)
			return err
		}
		return nil
	})
	if title == "" {
		title = a.Label()
	}
	one.Title = &title
	return one, err
}

// mostLent limits the servers that an editor may lend a session.
const mostLent = 32

// servers checks and returns the servers that the editor lends.
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
