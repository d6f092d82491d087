// Package acp talks to programs over the Agent Client Protocol: JSON-RPC, one message a line, on
// the program's streams. The types are those of github.com/coder/acp-go-sdk; lines are read here,
// because a program may write anything. Presets describe known programs: how to start them, which
// variables and state folders they need, and the mode in which they ask before they change
// something. The user's configuration overrides them.
//
//   - A program runs in a PID namespace of its own and, if asked, confined (package sandbox): it
//     ends with ramet, together with everything it started.
//   - A line that is not a message, an unknown message and an update of an unknown kind are reported
//     as odd and end nothing. A line that is too long is skipped, and reported.
//   - What a program replays while a session is loaded or forked is not reported. Neither are
//     updates about other sessions, nor those after the answer to a prompt.
//   - Updates are read only as fast as they are consumed: a flood fills the pipe, not the memory.
//   - A program is offered no files and no terminals of ours: it uses its own, in its namespace.
//   - Nothing here knows about logins: programs log in by themselves.
package acp

import (
	"cmp"
	"context"
	"errors"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/driver"
	"ramet/internal/driver/gateway"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// Server is an MCP server that a program is told of.
type Server struct {
	Name    string
	URL     string            // where it is reached over HTTP, by programs that can
	Command []string          // else a program, spoken with over its streams; empty: then it is not offered
	Env     map[string]string // of that program
	Headers map[string]string
}

// Setup is how the program of one agent is started.
type Setup struct {
	Args    []string          // the program, looked up in the PATH of Env, and its arguments
	Path    string            // the program's file; empty: what Args[0] finds
	Env     []string          // complete
	Umask   string            // see sandbox.Command
	Dir     string            // where the agent works
	Check   func() error      // refuses the start
	Replace map[string]string // see sandbox.Command
	Meta    map[string]any    // is sent with every session that begins; nil: nothing
	Box     *sandbox.Box
	For     *sandbox.Mark
	Socket  string // see sandbox.Command
	Errors  string // a file for what it complains; empty: none
	Servers []Server
	Wire    func(context.Context) gateway.Total // see driver.About
	Ended   func()                              // is called when the program has ended; nil: nobody is told
}

// Program is a driver that speaks the protocol.
type Program struct {
	Driver  string // its name
	Version string // of ramet
	Mode    string // that it is put into, where nobody wishes another; empty: its own
	Login   string // the command with which its user logs in; empty: not known
	// Clean takes secrets out of what it says when something fails.
	Clean func(string) string
	// Asks says whether it asks before it changes anything in a mode of its own; empty: in Mode.
	Asks func(mode string) bool
	// Setup is asked before the program is started, to work in a mode of its own; empty: in Mode.
	Setup func(ctx context.Context, a agent.Agent, mode string) (Setup, error)
}

// Name implements driver.Program.
func (p *Program) Name() string { return p.Driver }

// startTime is how long a program may take until its session is there.
const startTime = 2 * time.Minute

// Open implements driver.Program.
func (p *Program) Open(ctx context.Context, a agent.Agent, w driver.Wish, at driver.Place) (driver.Session, error) {
	setup, err := p.Setup(ctx, a, w.Mode)
	if err != nil {
		return nil, err
	}
	s, err := start(p, setup, w, launch.Driver)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fault.New(fault.TimedOut, "%s did not begin a session within %s", p.Driver, startTime))
	defer cancel()
	if err = s.greet(ctx); err == nil {
		err = s.settle(ctx, at)
	}
	if err != nil {
		err = s.failed(ctx, err)
		s.End()
		return nil, err
	}
	return s, nil
}

// Look starts the program in an empty folder, asks it who it is, and ends it.
func (p *Program) Look(ctx context.Context) (Greeting, error) {
	setup, err := p.Setup(ctx, agent.Agent{}, "")
	if err != nil {
		return Greeting{}, err
	}
	s, err := start(p, setup, driver.Wish{}, launch.Probe)
	if err != nil {
		return Greeting{}, err
	}
	defer s.End()
	if err := s.greet(ctx); err != nil {
		return Greeting{}, s.failed(ctx, err)
	}
	return s.greeting, nil
}

// Greeting is what a program says of itself.
type Greeting struct {
	Name    string
	Version string
	Resume  bool // it takes sessions up again
	Load    bool // and replays them
	Fork    bool
	Images  bool
	HTTP    bool // it reaches MCP servers over HTTP
	Logins  []string
}

// greet asks the program who it is.
func (s *session) greet(ctx context.Context) error {
	var out sdk.InitializeResponse
	err := s.conn.Call(ctx, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "ramet", Version: s.program.Version},
	}, &out)
	if err != nil {
		return err
	}
	if out.ProtocolVersion != sdk.ProtocolVersionNumber {
		return fault.New(fault.ProviderProtocol, "%s speaks version %d of the protocol, and ramet %d", s.program.Driver, out.ProtocolVersion, sdk.ProtocolVersionNumber)
	}
	can := out.AgentCapabilities
	g := Greeting{Load: can.LoadSession, Resume: can.SessionCapabilities.Resume != nil, Fork: can.SessionCapabilities.Fork != nil,
		Images: can.PromptCapabilities.Image, HTTP: can.McpCapabilities.Http}
	if out.AgentInfo != nil {
		g.Name, g.Version = out.AgentInfo.Name, out.AgentInfo.Version
	}
	for _, m := range out.AuthMethods {
		if m.Agent != nil {
			g.Logins = append(g.Logins, m.Agent.Name)
		}
	}
	s.greeting = g
	s.about.Version, s.about.Images = g.Version, g.Images
	return nil
}

// check refuses what has come into the program's folder since it started: some programs obey files
// there only when a session begins or at a prompt.
func (s *session) check() error {
	if s.setup.Check == nil {
		return nil
	}
	return s.setup.Check()
}

// settle begins the session at its place, and makes it work as is wished.
func (s *session) settle(ctx context.Context, at driver.Place) error {
	if err := s.check(); err != nil {
		return err
	}
	made, err := s.place(ctx, at)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.about.Session, s.made = made.SessionID, made
	s.offer = made.offer(s.greeting.Version).Or(s.offer)
	w := s.about.Wish
	s.mu.Unlock()
	return s.work(ctx, w)
}

// place asks for the session.
func (s *session) place(ctx context.Context, at driver.Place) (begun, error) {
	var out begun
	earlier := cmp.Or(at.Resume, at.Fork)
	method := ""
	switch {
	case earlier == "":
		err := s.conn.Call(ctx, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Meta: s.setup.Meta, Cwd: s.setup.Dir, McpServers: s.servers()}, &out)
		if err == nil && out.SessionID == "" {
			err = fault.New(fault.ProviderProtocol, "%s began a session without a name", s.program.Driver)
		}
		return out, err
	case at.Resume != "" && s.greeting.Resume:
		method = sdk.AgentMethodSessionResume
	case at.Resume != "" && s.greeting.Load:
		method = sdk.AgentMethodSessionLoad
	case at.Resume != "":
		return out, fault.New(fault.NotFound, "%s takes up no sessions", s.program.Driver)
	case s.greeting.Fork:
		method = sdk.AgentMethodSessionFork
	default:
		return out, fault.New(fault.NotFound, "%s forks no sessions", s.program.Driver)
	}
	// All three have the members of a load; the SDK's own type for forks names other servers.
	err := s.conn.Call(ctx, method, sdk.LoadSessionRequest{Meta: s.setup.Meta, Cwd: s.setup.Dir, McpServers: s.servers(), SessionId: sdk.SessionId(earlier)}, &out)
	out.SessionID = cmp.Or(out.SessionID, at.Resume)
	if said, ok := errors.AsType[*sdk.RequestError](err); ok && said.Code != codeAuth {
		err = fault.New(fault.NotFound, "%s does not know session %s: %w", s.program.Driver, earlier, err)
	}
	return out, err
}

// refused says which choice a program did not take.
func (s *session) refused(what, value string, err error) error {
	var said *sdk.RequestError
	if errors.As(err, &said) && what == aModel {
		return fault.New(fault.ProviderNotFound, "%s takes no %s %.80q: %w", s.program.Driver, what, value, err)
	}
	if errors.As(err, &said) {
		return fault.New(fault.InvalidConfig, "%s takes no %s %.80q: %w", s.program.Driver, what, value, err)
	}
	return err
}

// servers are the MCP servers that the program is told of.
func (s *session) servers() []sdk.McpServer {
	out := []sdk.McpServer{}
	for _, one := range s.setup.Servers {
		if one.URL != "" && s.greeting.HTTP {
			h := &sdk.McpServerHttpInline{Name: one.Name, Type: "http", Url: one.URL, Headers: []sdk.HttpHeader{}}
			for name, value := range one.Headers {
				h.Headers = append(h.Headers, sdk.HttpHeader{Name: name, Value: value})
			}
			out = append(out, sdk.McpServer{Http: h})
			continue
		}
		if len(one.Command) == 0 {
			continue
		}
		io := &sdk.McpServerStdio{Name: one.Name, Command: one.Command[0], Args: append([]string{}, one.Command[1:]...), Env: []sdk.EnvVariable{}}
		for name, value := range one.Env {
			io.Env = append(io.Env, sdk.EnvVariable{Name: name, Value: value})
		}
		out = append(out, sdk.McpServer{Stdio: io})
	}
	return out
}
