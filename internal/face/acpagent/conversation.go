package acpagent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
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
