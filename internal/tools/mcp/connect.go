package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// connectTime limits how long a server may take to say who it is and what it can do.
const connectTime = 60 * time.Second

// connection is a server that is spoken with.
type connection struct {
	session *sdk.ClientSession
	process *sandbox.Process // nil: it is far away
	words   *text.EndsBuffer // the end of what it complains
	begun   time.Time
	oauth   auth.OAuthHandler // nil: no person logged in
}

// revealWords returns the end of what a server complains.
func revealWords(kept *text.EndsBuffer) string {
	_, end, _ := kept.Kept()
	return trust.Reveal(strings.TrimSpace(strings.ToValidUTF8(string(end), "")))
}

// connect starts a server, or reaches it. It lives until life ends; ctx bounds the start.
func (p *Pool) connect(ctx, life context.Context, s Server) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	c := &connection{words: &text.EndsBuffer{Tail: 2 << 10}, begun: time.Now()}
	if s.URL != "" {
		if one := p.pass(s); one != nil {
			c.oauth = p.bearer(s, *one)
		}
	}
	return c, p.speak(ctx, life, s, c)
}

// speak begins to speak with a server.
func (p *Pool) speak(ctx, life context.Context, s Server, c *connection) error {
	transport, err := c.reach(life, s)
	if err != nil {
		return err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "ramet", Version: p.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{
			RootsV2:     rootsOf(s),
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}},
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return p.elicit(ctx, s.Name, r.Params)
		},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { p.changed(s.Name) },
	})
	for _, dir := range s.Roots {
		//lint:ignore SA1019 servers of today ask for roots
		client.AddRoots(&sdk.Root{Name: filepath.Base(dir), URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()})
	}
	if c.session, err = client.Connect(ctx, transport, nil); err != nil {
		c.close()
		return c.failure(ctx, s, err)
	}
	return nil
}

// rootsOf returns the capability to be asked for roots, or nil if there are none.
//
//lint:ignore SA1019 servers of today ask for roots
func rootsOf(s Server) *sdk.RootCapabilities {
	if len(s.Roots) == 0 {
		return nil
	}
	//lint:ignore SA1019 servers of today ask for roots
	return &sdk.RootCapabilities{}
}

// reach returns the way to a server.
func (c *connection) reach(life context.Context, s Server) (sdk.Transport, error) {
	if len(s.Command) == 0 {
		client := s.Client
		if client == nil {
			client = &http.Client{}
		}
		return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: addHeaders(client, s), OAuthHandler: c.oauth, MaxRetries: -1, MaxEventSize: mostMessage}, nil
	}
	if s.Box != nil {
		for _, dir := range s.Box.Write {
			if sandbox.RealPath(dir) == dir { // else it would be made where a link leads, and the box refuses it
				_ = os.MkdirAll(dir, 0o700) // what is not there cannot be written, which the server says
			}
		}
	}
	program := launch.Program{Purpose: launch.UserServer, Command: sandbox.Command{Args: s.Command, Dir: s.Dir, Env: s.Env, Confine: s.Box,
		Output: c.words}}
	if s.Project {
		program.Purpose = launch.ProjectServer
		program.Path, program.Args = launch.ResolveProgram(s.Dir, s.Env, s.Command)
		if s.Check != nil {
			program.Check = func() error { return s.Check(program.Path, program.Args) }
		}
	}
	process, inW, outR, err := launch.Speak(life, program)
	if err != nil {
		return nil, err
	}
	c.process = process
	return &sdk.IOTransport{Reader: newLines(outR, mostMessage), Writer: inW, MaxLineLength: -1}, nil
}

// close ends the conversation, and the process with everything that it started.
func (c *connection) close() {
	if c.process != nil {
		c.process.Kill()
	}
	if c.session != nil {
		c.session.Close()
	}
	if c.process != nil {
		c.process.Wait()
	}
}

// alive reports whether a server still answers.
func (c *connection) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	var said *jsonrpc.Error // it has no ping, but words
	err := c.session.Ping(ctx, nil)
	return err == nil || errors.As(err, &said) && !errors.Is(err, sdk.ErrConnectionClosed)
}

// pingTime limits how long a server may take to answer a ping, and a process whose connection
// broke to exit.
const pingTime = 10 * time.Second

// ending describes how the process ended, if it has; empty: it runs, or is none.
func (c *connection) ending() string {
	if c.process == nil {
		return ""
	}
	over := make(chan string, 1)
	go func() {
		r, err := c.process.Wait()
		switch {
		case err != nil:
			over <- err.Error()
		case r.Signal != 0:
			over <- fmt.Sprintf("it was ended by signal %d, %s", int(r.Signal), r.Signal)
		default:
			over <- fmt.Sprintf("it ended with exit code %d", r.ExitCode)
		}
	}()
	select {
	case how := <-over:
		if words := revealWords(c.words); words != "" {
			how += "; its last words: " + text.Line(words[max(0, len(words)-400):], 400)
		}
		return how
	case <-time.After(pingTime):
		return ""
	}
}

// failure returns why a server could not be spoken with.
func (c *connection) failure(ctx context.Context, s Server, err error) error {
	why := s.says(err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = fmt.Sprintf("it did not answer within %s", time.Since(c.begun).Round(time.Second)) // the caller may have less patience
	}
	if how := c.ending(); how != "" && !strings.HasPrefix(how, "it was ended by signal 9") {
		why += "; " + how
	} else if words := revealWords(c.words); words != "" {
		why += "; it says: " + text.Line(words[max(0, len(words)-400):], 400)
	}
	f := fault.New(fault.Failed, "MCP server %s cannot be used: %s", s.Name, why)
	if strings.Contains(why, "Unauthorized") || strings.Contains(why, "401") {
		return f.WithHint("log in: ramet mcp login %s; or give it a token: headers = { Authorization = \"Bearer $TOKEN\" } in [mcp.%s]", s.Name, s.Name)
	}
	return f.WithHint("`ramet mcp tools %s` tries again", s.Name)
}

// addHeaders adds the headers of a server to each request that goes to it.
func addHeaders(c *http.Client, s Server) *http.Client {
	at, err := url.Parse(s.URL)
	if len(s.Headers) == 0 || err != nil {
		return c
	}
	out := *c
	out.Transport = withHeaders{c.Transport, at, s.Headers}
	return &out
}

type withHeaders struct {
	next    http.RoundTripper
	at      *url.URL
	headers map[string]string
}

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.URL.Scheme == w.at.Scheme && r.URL.Host == w.at.Host { // to wherever it redirects no key goes
		for name, value := range w.headers {
			r.Header.Set(name, value)
		}
	}
	if w.next == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return w.next.RoundTrip(r)
}

// lines hands on what a server says, one message a line, and drops what is none: banners,
// blank lines, what it logs ("[info] ready", {"level":"info"}). A message that is too long becomes an answer that says so, so that the
// conversation continues.
type lines struct {
	from io.ReadCloser
	in   *bufio.Reader
	most int
	rest []byte
	news string // the last message, if it only said that a list has changed
}

func newLines(from io.ReadCloser, most int) *lines {
	return &lines{from: from, in: bufio.NewReaderSize(from, 64<<10), most: most}
}

func (l *lines) Close() error { return l.from.Close() }

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if len(line) == 0 && err != nil {
			return 0, err
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next returns the next message with its end of line, or nothing.
func (l *lines) next() ([]byte, error) {
	var line []byte
	long, tail := 0, []byte(nil)
	for {
		piece, err := l.in.ReadSlice('\n')
		if long == 0 && len(line)+len(piece) <= l.most {
			line = append(line, piece...)
		} else {
			if long == 0 {
				tail = append(tail, line[max(0, len(line)-ends):]...)
				long, line = len(line), line[:min(len(line), ends)]
			}
			long += len(piece)
			tail = append(tail, piece...)
			tail = tail[max(0, len(tail)-ends):]
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long > 0 {
			return tooLong(line, tail, long), err
		}
		if err != nil || !isMessage(bytes.TrimSpace(line)) {
			return nil, err // a message that was cut off is none
		}
		if !bytes.Contains(line[:min(len(line), ends)], []byte(`/list_changed"`)) {
			l.news = ""
		} else if l.news == string(line) {
			return nil, nil // said once is enough
		} else {
			l.news = string(line)
		}
		return line, nil
	}
}

// isMessage reports whether a line is a message of the protocol, or several: whatever else would end the
// conversation.
func isMessage(line []byte) bool {
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return false
	}
	if line[0] == '{' {
		_, err := jsonrpc.DecodeMessage(line)
		return err == nil
	}
	var batch []json.RawMessage
	return json.Unmarshal(line, &batch) == nil && len(batch) > 0 && !slices.ContainsFunc(batch, func(one json.RawMessage) bool {
		_, err := jsonrpc.DecodeMessage(one)
		return err != nil
	})
}

// ends limits how much of both ends of a message is read.
const ends = 4 << 10

var (
	idFirst = text.Regexp(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]+|"[^"\\]{1,100}")`)
	idLast  = text.Regexp(`"id"\s*:\s*([0-9]+|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// tooLong returns the answer that stands for one that is too long; nothing if it cannot be known what
// it answers.
func tooLong(head, tail []byte, size int) []byte {
	m := idFirst().FindSubmatch(head)
	if m == nil {
		m = idLast().FindSubmatch(tail)
	}
	if m == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the answer has %d bytes, more than are read; it was carried out"}}`+"\n", m[1], codeTooLong, size)
}

const codeTooLong = -32099
