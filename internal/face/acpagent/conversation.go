package acpagent

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
)

// conversation is a session that is open: an agent, and what the editor chose for it.
type conversation struct {
	*desk
	agent id.Agent
	cwd   string

	mu      sync.Mutex
	model   llm.Ref  // for the next prompt; zero: the agent's own
	tickets []string // of prompts that are not answered yet
	telling telling
}

func (c *conversation) id() sdk.SessionId { return sdk.SessionId(c.agent) }

func (c *conversation) tell(u sdk.SessionUpdate) {
	c.server.conn.Notify(sdk.ClientMethodSessionUpdate, sdk.SessionNotification{SessionId: c.id(), Update: u})
}

// folder refuses what is no folder.
func folder(dir string) error {
	if !filepath.IsAbs(dir) {
		return fault.New(fault.InvalidField, "cwd is a path that begins at the root, and not %.200q", dir)
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return fault.New(fault.InvalidField, "%.200q is not a folder", dir)
	}
	return nil
}

// begin makes an agent with a context of its own.
func (s *Server) begin(ctx context.Context, r sdk.NewSessionRequest) (out sdk.NewSessionResponse, err error) {
	lent, err := servers(r.McpServers)
	if err == nil {
		err = folder(r.Cwd)
	}
	if err != nil {
		return out, err
	}
	d, err := s.at(ctx, r.Cwd)
	if err != nil {
		return out, err
	}
	zero, err := d.Find(ctx, "0")
	if err != nil {
		return out, err
	}
	made, err := d.Agents().Fork(ctx, session.Fork{Parent: zero, Fresh: true, Cwd: filepath.Clean(r.Cwd)})
	if err != nil {
		return out, err
	}
	c := s.opened(d, made.Child, lent)
	ch, err := c.choices(ctx)
	return sdk.NewSessionResponse{SessionId: c.id(), Modes: ch.modes, Models: ch.models, ConfigOptions: ch.options}, err
}

// opened keeps a session, with the servers that the editor lends it now.
func (s *Server) opened(d *desk, a agent.Agent, lent []config.Server) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open[sdk.SessionId(a.ID)]
	if c == nil {
		c = &conversation{desk: d, agent: a.ID, cwd: a.Cwd}
		s.open[c.id()] = c
	}
	d.Servers().Lend(a.ID, lent)
	go c.tellCommands(context.Background())
	return c
}

// taken is a living agent that the editor names, in the workspace that is open or that of the
// folder which it names.
func (s *Server) taken(ctx context.Context, is sdk.SessionId, cwd string) (*desk, agent.Agent, error) {
	if known := s.of(id.Agent(is)); known != nil { // its folder may lie elsewhere: a worktree
		a, err := known.Store.Agent(ctx, known.agent)
		return known.desk, a, err
	}
	if err := folder(cwd); err != nil {
		return nil, agent.Agent{}, err
	}
	d, err := s.at(ctx, cwd)
	if err != nil {
		return nil, agent.Agent{}, err
	}
	a, err := d.Store.Agent(ctx, id.Agent(is))
	if fault.Is(err, fault.NotFound) {
		return nil, a, unknown(is)
	}
	if err == nil {
		err = agent.NeedLiving(a)
	}
	return d, a, err
}

// load takes up an agent and tells the editor what was said so far.
func (s *Server) load(ctx context.Context, r sdk.LoadSessionRequest) (out sdk.LoadSessionResponse, err error) {
	c, ch, err := s.take(ctx, r.SessionId, r.Cwd, r.McpServers, true)
	if err != nil {
		return out, err
	}
	return sdk.LoadSessionResponse{Modes: ch.modes, Models: ch.models, ConfigOptions: ch.options}, c.alive()
}

// resume takes up an agent without a replay.
func (s *Server) resume(ctx context.Context, r sdk.ResumeSessionRequest) (out sdk.ResumeSessionResponse, err error) {
	c, ch, err := s.take(ctx, r.SessionId, r.Cwd, r.McpServers, false)
	if err != nil {
		return out, err
	}
	return sdk.ResumeSessionResponse{Modes: ch.modes, Models: ch.models, ConfigOptions: ch.options}, c.alive()
}

func (s *Server) take(ctx context.Context, is sdk.SessionId, cwd string, given []sdk.McpServer, replay bool) (*conversation, choices, error) {
	lent, err := servers(given)
	if err != nil {
		return nil, choices{}, err
	}
	d, a, err := s.taken(ctx, is, cwd)
	if err != nil {
		return nil, choices{}, err
	}
	c := s.opened(d, a, lent)
	if replay {
		if err := c.replay(ctx); err != nil {
			return nil, choices{}, err
		}
	}
	ch, err := c.choices(ctx)
	return c, ch, err
}

// fork makes a child with the whole context of an agent. Servers are not inherited: the editor
// says which it lends.
func (s *Server) fork(ctx context.Context, r sdk.UnstableForkSessionRequest) (out sdk.UnstableForkSessionResponse, err error) {
	raw, err := json.Marshal(r.McpServers)
	if err != nil {
		return out, err
	}
	var given []sdk.McpServer // the same shape, of another name in this version of the SDK
	if err := json.Unmarshal(raw, &given); err != nil {
		return out, sdk.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	lent, err := servers(given)
	if err != nil {
		return out, err
	}
	d, a, err := s.taken(ctx, r.SessionId, r.Cwd)
	if err != nil {
		return out, err
	}
	made, err := d.Agents().Fork(ctx, session.Fork{Parent: a})
	if err != nil {
		return out, err
	}
	c := s.opened(d, made.Child, lent)
	ch, err := c.choices(ctx)
	if err != nil {
		return out, err
	}
	out.SessionId, out.Modes = c.id(), ch.modes
	return out, ch.into(&out)
}

// close ends what the session does, and forgets it. The agent lives on.
func (s *Server) close(ctx context.Context, r sdk.CloseSessionRequest) (out sdk.CloseSessionResponse, err error) {
	c, err := s.find(r.SessionId)
	if err != nil {
		return out, err
	}
	if err := c.stop(ctx); err != nil {
		return out, err
	}
	s.mu.Lock()
	delete(s.open, r.SessionId)
	s.mu.Unlock()
	return out, nil
}

// alive refuses a session that was closed in the meantime.
func (c *conversation) alive() error {
	if c.server.of(c.agent) != c {
		return unknown(c.id())
	}
	return nil
}

// happenings remember what was told, for those who have to come after it.
type happenings struct {
	mu      sync.Mutex
	ended   map[int64]bool  // turns
	called  map[string]bool // calls that the editor knows
	changed chan struct{}   // closed at the next change
}

// mostRemembered bounds both: who waits does so at once.
const mostRemembered = 4096

func (h *happenings) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ended) > mostRemembered {
		clear(h.ended)
	}
	if len(h.called) > mostRemembered {
		clear(h.called)
	}
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

// patience limits the wait for events that were published already.
const patience = 10 * time.Second

func (h *happenings) wait(turn int64) { h.until(func() bool { return h.ended[turn] }) }

func (h *happenings) known(call string) { h.until(func() bool { return h.called[call] }) }

func (h *happenings) until(is func() bool) {
	late := time.After(patience)
	for {
		h.mu.Lock()
		yes, changed := is(), h.changed
		h.mu.Unlock()
		if yes {
			return
		}
		select {
		case <-changed:
		case <-late:
			return
		}
	}
}

// follow reports to the editor what agents of its sessions do, also when it did not prompt them:
// mail may have woken them.
func (d *desk) follow(ctx context.Context) {
	seen, _ := d.Kernel.Events.Subscribe(ctx)
	for e := range seen {
		d.happened(e)
	}
}

func (d *desk) happened(e loop.Event) {
	if e.Type == loop.TurnEnded && fault.Is(e.Err, fault.Leased) {
		d.happen.note(func() { d.happen.ended[e.Turn] = true })
		return // it did not begin; another kernel is asked for it
	}
	if c := d.server.of(e.Agent); c != nil {
		c.show(e)
	}
	if e.Type == loop.TurnEnded {
		d.happen.note(func() { d.happen.ended[e.Turn] = true })
	}
}

// tellCommands tells which commands the user and the project define, and the program that drives
// the agent.
func (c *conversation) tellCommands(ctx context.Context) {
	all := []sdk.AvailableCommand{}
	defined := c.Prompts().Defined()
	if a, err := c.Store.Agent(ctx, c.agent); err == nil {
		defined = append(defined[:len(defined):len(defined)], c.Programs().ProgramCommands(a)...)
	}
	for _, d := range defined {
		one := sdk.AvailableCommand{Name: d.Name, Description: d.Description}
		if d.Hint != "" {
			one.Input = &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: d.Hint}}
		}
		all = append(all, one)
	}
	if len(all) > 0 {
		c.tell(sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: all}})
	}
}

func (c *conversation) tellTitle(ctx context.Context) {
	a, err := c.Store.Agent(ctx, c.agent)
	if err != nil {
		return
	}
	if one, err := c.info(ctx, a); err == nil {
		c.tell(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{SessionUpdate: "session_info_update", Title: one.Title, UpdatedAt: one.UpdatedAt}})
	}
}

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

// info returns an agent as a session: its title is its name, else its first prompt.
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
