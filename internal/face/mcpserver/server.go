// Package mcpserver is ramet as a server of the Model Context Protocol: other people's
// agents fork, prompt, mail and kill agents here, and read what happened.
//
// It has twelve tools, named as the commands are: ps, fork, prompt, send, mail, read, wait,
// log, kill, track, run, verify (an agent has exit instead of track); and resources: agents, histories and the events of runs,
// with cursors.
//
// # Promises
//
//   - A tool is a command or a verb of package session, and decides nothing itself: it
//     answers as that command prints with --json, which its output schema describes.
//   - Who asks is known by the line, not by what is said on it: a person, or one agent, which
//     may do what it may do by its own tools (session.As). An agent that is dead may nothing.
//   - A call returns within 50 s. What takes longer continues, and the answer is a handle, for
//     which the tool wait returns the result. A handle is valid for its caller, in the
//     same process, for an hour.
//   - A turn that was begun continues when the caller is gone. Where a server serves the
//     workspace it runs there, and continues when this process ends.
//   - An argument is never read as a flag.
package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/run/rundir"
)

// Options configures a server.
type Options struct {
	Version   string
	Workspace *session.Workspace // with a kernel
	// Begin carries out a command line in a process of its own, which may go on in the
	// background, and returns what it prints. nil: this system cannot.
	Begin func(ctx context.Context, args ...string) (string, error)
	// Runs reads orchestrated runs.
	Runs *rundir.Store
	// User names the person who sends requests.
	User string
	// Patience limits a call's duration before it becomes a handle; 0: 45 s.
	Patience time.Duration
}

// Caller identifies the agent that calls; empty for a person.
type Caller = id.Agent

// Server answers. It is safe for concurrent use.
type Server struct {
	o       Options
	life    context.Context
	handles handles

	mu    sync.Mutex
	lines map[Caller]*sdk.Server // guarded by mu
}

// New makes a server; what it began ends with ctx, unless it runs elsewhere.
func New(ctx context.Context, o Options) *Server {
	o.Patience = cmp.Or(o.Patience, 45*time.Second)
	return &Server{o: o, life: ctx, lines: map[Caller]*sdk.Server{}, handles: handles{now: time.Now}}
}

// about is the server's introduction for clients.
const about = `ramet runs agents as durable processes. fork makes a child and, with a prompt, lets it work; ` +
	`wait waits for it; its report comes by mail (mail lists, read reads). Answers that take longer than 45 s are handles: give them to wait.`

// line is the server as one caller sees it.
func (s *Server) line(c Caller) *sdk.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.lines[c]; known != nil {
		return known
	}
	l := sdk.NewServer(&sdk.Implementation{Name: "ramet", Title: "ramet", Version: s.o.Version},
		&sdk.ServerOptions{Instructions: about, Capabilities: &sdk.ServerCapabilities{},
			SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }}) // what there is depends on who asks
	for _, t := range tools(c) {
		l.AddTool(t.described(), s.handler(c, t))
	}
	s.addResources(l, c)
	if len(s.lines) >= maxLines {
		clear(s.lines) // who asks again gets another
	}
	s.lines[c] = l
	return l
}

// maxLines limits the callers that are remembered.
const maxLines = 1024

// Serve speaks with one caller over a pair of streams until in or ctx ends.
func (s *Server) Serve(ctx context.Context, c Caller, in io.Reader, out io.Writer) error {
	answers := &lockedWriter{to: out}
	lines := newLines(in, answers)
	err := s.line(c).Run(ctx, patient{&sdk.IOTransport{Reader: lines, Writer: answers, MaxLineLength: -1}, lines})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fault.New(fault.Failed, "mcp: %w", err)
	}
	return nil
}

const maxLine = 4 << 20

// ServeMCP answers one request over HTTP (streamable, without sessions). Whoever calls it has
// admitted the request, and knows who sent it.
func (s *Server) ServeMCP(w http.ResponseWriter, r *http.Request, by Caller) {
	sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.line(by) },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxLine,
			// The gate before it has looked at Host and Origin, and knows the server's names.
			DisableLocalhostProtection: true}).ServeHTTP(w, r)
}

// admit makes ctx one of the caller's, who has to be alive.
func (s *Server) admit(ctx context.Context, c Caller) (context.Context, error) {
	if c == "" {
		return operation.Caller{Who: s.o.User, Face: history.MCP}.Context(ctx), nil
	}
	a, err := s.o.Workspace.Store.Agent(ctx, c)
	if err != nil {
		return ctx, err
	}
	return operation.Caller{Agent: c, Face: history.MCP}.Context(ctx), agent.NeedLiving(a)
}

// patient is a line whose end is not told before everything that was asked on it is
// answered: a program may write its requests, close the pipe, and then read.
type patient struct {
	sdk.Transport
	lines *lines
}

func (p patient) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &patientLine{Connection: c, lines: p.lines, closed: make(chan struct{})}, nil
}

type patientLine struct {
	sdk.Connection
	lines  *lines
	closed chan struct{}
	shut   sync.Once

	mu    sync.Mutex
	open  int           // requests that are not answered
	quiet chan struct{} // closed when open becomes 0, if Read waits for that
}

func (l *patientLine) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := l.Connection.Read(ctx)
	for err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil && l.lines.failed.Load() == nil {
		l.lines.refuse(jsonrpc.CodeInvalidRequest, err.Error()) // JSON that is no message, or a batch: the next line may be one
		m, err = l.Connection.Read(ctx)
	}
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.ID.IsValid() {
		l.count(1)
	}
	if errors.Is(err, io.EOF) {
		l.mu.Lock()
		wait := make(chan struct{})
		if l.quiet = wait; l.open == 0 {
			close(wait)
			l.quiet = nil
		}
		l.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
		case <-l.closed:
		}
	}
	return m, err
}

func (l *patientLine) Write(ctx context.Context, m jsonrpc.Message) error {
	err := l.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		l.count(-1)
	}
	return err
}

func (l *patientLine) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open += n; l.open <= 0 && l.quiet != nil {
		close(l.quiet)
		l.quiet = nil
	}
}

func (l *patientLine) Close() error {
	l.shut.Do(func() { close(l.closed) })
	return l.Connection.Close()
}
