// Package acpagent is ramet as the agent of an editor that speaks the Agent Client Protocol:
// JSON-RPC, a message a line, on standard input and output.
//
// A session of the editor is an agent. A new one is a child of agent 0 with a context of its
// own; load and resume take up any agent that lives, fork forks it, list lists them, and
// close stops its turn and lets go of it: the agent stays until it is killed.
//
// # Promises
//
//   - Nothing but whole messages is written to the output.
//   - Bad input never ends the line and changes nothing: what is no message, is too long,
//     asks for what there is not, or has an unknown name, is answered with an error.
//   - What is asked on a session is heard in the order in which it was said: a cancel behind
//     a prompt stops that prompt, however early it comes.
//   - A prompt is answered when its turn is over, behind everything that the turn told. When
//     it was cancelled, nothing of it runs then.
//   - A call that no rule permits is asked of the editor's user with every choice that other
//     faces have. The call waits for the answer; where no person can answer, it is refused.
//   - A replay tells the past, and adds nothing to it.
//   - When the input ends, turns of this process end, and so does everything that they
//     started. Turns in a server ("ramet serve") go on.
//   - Servers that the editor lends are started confined, as those of the user's own
//     configuration, for the agent of their session and those below it, and end with this
//     process. Nothing of them is kept.
package acpagent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/driver/acp"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

// Options holds the dependencies of an editor's agent.
type Options struct {
	Version string
	User    string // who sits at the editor
	Dir     string // where the command was given
	// Place names the workspace of a folder, without opening it.
	Place func(dir string) (string, error)
	// Open opens the workspace of a folder, and starts its kernel unless one runs that is not the editor's (stays):
	// then turns continue when the editor is gone. closed ends what was opened.
	Open func(ctx context.Context, dir string, k session.Kernel) (w *session.Workspace, stays bool, closed func(), err error)
	// Log takes what has no place in the protocol; nil: nobody does.
	Log func(string)
}

// Server speaks with one editor.
type Server struct {
	o    Options
	conn *acp.Conn
	ctx  context.Context // the person's, for as long as the server serves
	talk context.Context // ends when nobody hears what turns tell any more
	// silence ends talk.
	silence context.CancelFunc

	asked sync.WaitGroup // requests that are being answered

	opening sync.Mutex // guards what follows, while it is opened or closed
	place   string
	desk    *desk // nil: nothing is open

	mu       sync.Mutex
	open     map[sdk.SessionId]*conversation
	answered map[string]context.CancelFunc // requests that are being answered, by their ids
}

// New makes a server.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return &Server{o: o, open: map[sdk.SessionId]*conversation{}, answered: map[string]context.CancelFunc{}}
}

// lastWords limits the time in which open requests are answered after the input has ended.
const lastWords = 30 * time.Second

// Serve speaks with the editor until in or ctx ends. What was asked before is answered still;
// prompts are cancelled.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.ctx = history.By(ctx, history.Actor{Who: s.o.User, Face: history.ACP})
	s.talk, s.silence = context.WithCancel(s.ctx)
	defer s.silence()
	s.conn = s.newConn(out, end)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.conn.Read(in)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	s.hangUp()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.asked.Wait()
	}()
	select {
	case <-answered:
	case <-ctx.Done():
	case <-time.After(lastWords):
	}
	end(acp.ErrGone)
	s.opening.Lock()
	defer s.opening.Unlock()
	s.shut()
	return nil
}

// takeMessage handles one message. Requests that take long are answered by goroutines of their own.
func (s *Server) takeMessage(m acp.Message) {
	if hasBadID(m) {
		s.refuseLine(acp.BadLine{Message: m})
		return
	}
	if m.Method == sdk.AgentMethodSessionCancel {
		s.cancel(m)
		return
	}
	if m.Method == cancelRequest {
		s.takeBack(m)
		return
	}
	if !m.WantsAnswer() {
		return // no other notification matters here
	}
	h, known := handlers()[m.Method]
	if !known {
		s.conn.Answer(m.ID, nil, sdk.NewMethodNotFound(m.Method))
		return
	}
	work, err := h(s, m.Params)
	if err != nil {
		s.conn.Answer(m.ID, nil, failure(err))
		return
	}
	ctx, done := s.begun(m)
	s.asked.Go(func() {
		defer done()
		result, err := work(ctx)
		if err != nil {
			s.conn.Answer(m.ID, nil, failure(err))
			return
		}
		s.conn.Answer(m.ID, result, nil)
	})
}

// handler reads what is asked, in the order in which it came, and says what is to be done.
type handler func(*Server, json.RawMessage) (func(context.Context) (any, error), error)

var handlers = sync.OnceValue(func() map[string]handler {
	return map[string]handler{
		sdk.AgentMethodInitialize:             plain((*Server).initialize),
		sdk.AgentMethodAuthenticate:           plain((*Server).authenticate),
		sdk.AgentMethodSessionNew:             plain((*Server).begin),
		sdk.AgentMethodSessionLoad:            plain((*Server).load),
		sdk.AgentMethodSessionResume:          plain((*Server).resume),
		sdk.AgentMethodSessionFork:            plain((*Server).fork),
		sdk.AgentMethodSessionList:            plain((*Server).list),
		sdk.AgentMethodSessionClose:           plain((*Server).close),
		sdk.AgentMethodSessionSetMode:         first((*Server).setMode),
		sdk.AgentMethodSessionSetModel:        first((*Server).setModel),
		sdk.AgentMethodSessionSetConfigOption: first((*Server).setOption),
		sdk.AgentMethodSessionPrompt:          prompting,
	}
})

// plain is a handler of what may take its time.
func plain[P, R any](do func(*Server, context.Context, P) (R, error)) handler {
	return func(s *Server, raw json.RawMessage) (func(context.Context) (any, error), error) {
		p, err := params[P](raw)
		return func(ctx context.Context) (any, error) { return do(s, ctx, p) }, err
	}
}

// first is a handler of what is done before anything that was said later.
func first[P, R any](do func(*Server, context.Context, P) (R, error)) handler {
	return func(s *Server, raw json.RawMessage) (func(context.Context) (any, error), error) {
		p, err := params[P](raw)
		if err != nil {
			return nil, err
		}
		r, err := do(s, s.ctx, p)
		return func(context.Context) (any, error) { return r, nil }, err
	}
}

// params reads what goes with a request.
func params[P any](raw json.RawMessage) (p P, err error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if err = json.Unmarshal(raw, &p); err == nil {
		if checked, ok := any(&p).(interface{ Validate() error }); ok {
			err = checked.Validate()
		}
	}
	if err != nil {
		err = sdk.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	return p, err
}

func (s *Server) initialize(_ context.Context, r sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	title := "ramet"
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "ramet", Title: &title, Version: s.o.Version},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    sdk.McpCapabilities{Http: true},
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{Close: &sdk.SessionCloseCapabilities{}, Fork: &sdk.SessionForkCapabilities{},
				List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{}},
		},
		AuthMethods: []sdk.AuthMethod{{Agent: &sdk.AuthMethodAgent{Id: loginMethod, Name: "ramet auth set",
			Description: sdk.Ptr("Run `ramet auth set VENDOR` in a terminal: it keeps the key of a vendor of models.")}}},
	}, nil
}

const loginMethod = "ramet-auth"

// authenticate looks whether somebody logged in meanwhile; ramet itself has no login.
func (s *Server) authenticate(ctx context.Context, r sdk.AuthenticateRequest) (out sdk.AuthenticateResponse, err error) {
	if string(r.MethodId) != loginMethod {
		return out, fault.New(fault.NotFound, "there is no way to log in that is called %.40q", r.MethodId)
	}
	d, err := s.at(ctx, s.o.Dir)
	if err != nil {
		return out, err
	}
	zero, err := d.Find(ctx, "0")
	if err == nil {
		_, err = d.Models().Model(zero, noModel)
	}
	return out, err
}

// desk is the workspace that is open, and its kernel.
type desk struct {
	*session.Workspace
	server *Server
	stays  bool // its kernel runs on when the editor is gone
	closed func()
	happen *happenings
}

// at is the workspace of a folder. One is open at a time: what a project says about variables
// and vendors holds for the process. Another one is opened when no session is.
func (s *Server) at(ctx context.Context, dir string) (*desk, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	place, err := s.o.Place(dir)
	if err != nil {
		return nil, err
	}
	if s.desk != nil && s.place == place {
		return s.desk, nil
	}
	if s.desk != nil && len(s.conversations()) > 0 {
		return nil, fault.New(fault.Conflict, "%s belongs to another project than the sessions that are open here", dir).
			WithHint("close them, or start another `ramet acp` for it")
	}
	s.shut()
	// For as long as the server serves, and not only for the request.
	d := &desk{server: s, happen: &happenings{ended: map[int64]bool{}, called: map[string]bool{}, changed: make(chan struct{})}}
	d.Workspace, d.stays, d.closed, err = s.o.Open(s.ctx, dir, session.Kernel{Ask: asker{s}, Warn: s.o.Log})
	if err != nil {
		return nil, err
	}
	s.desk, s.place = d, place
	go d.follow(s.ctx)
	if d.stays {
		go d.Turns().ForwardQuestions(s.ctx, asker{s})
	}
	return d, nil
}

func (s *Server) shut() {
	if s.desk != nil {
		s.desk.closed()
	}
	s.desk, s.place = nil, ""
}

func (s *Server) conversations() []*conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.open))
}

func (s *Server) find(is sdk.SessionId) (*conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.open[is]; c != nil {
		return c, nil
	}
	return nil, unknown(is)
}

// of is the session of an agent; nil: it is not open.
func (s *Server) of(a id.Agent) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[sdk.SessionId(a)]
}

func unknown(is sdk.SessionId) error {
	return fault.New(fault.NotFound, "there is no session %.60q here", is).WithHint("session/list names those there are; session/load or session/resume opens one")
}

var _ permit.Asker = asker{}

// cancelRequest is the notification by which any request is taken back.
const cancelRequest = "$/cancel_request"

// begun returns a context for answering a request, which ends when the request is taken back.
func (s *Server) begun(m acp.Message) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered[string(m.ID)] = cancel
	return ctx, func() {
		s.mu.Lock()
		delete(s.answered, string(m.ID))
		s.mu.Unlock()
		cancel()
	}
}

// takeBack ends a request that is being answered: a prompt is cancelled.
func (s *Server) takeBack(m acp.Message) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	s.mu.Lock()
	cancel := s.answered[string(p.ID)]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Codes of JSON-RPC, and those that the protocol adds.
const (
	codeAuth     = -32000
	codeNotFound = -32002
	codeParams   = -32602
	codeInternal = -32603
)

// failure returns the answer of the protocol for an error: the message with its hint, and our own code as data.
func failure(err error) *sdk.RequestError {
	var r *sdk.RequestError
	if errors.As(err, &r) {
		return r
	}
	e := public.FormatError(err)
	code := codeInternal
	switch e.Code {
	case fault.ProviderAuth:
		code = codeAuth
	case fault.NotFound:
		code = codeNotFound
	case fault.Usage, fault.InvalidField, fault.InvalidText, fault.InvalidName:
		code = codeParams
	}
	said := e.Message
	if e.Hint != "" {
		said += ": " + e.Hint
	}
	return &sdk.RequestError{Code: code, Message: said, Data: e}
}

const (
	maxLine = 16 << 20 // bytes of one message
	maxID   = 4 << 10  // bytes of an id
)

// newConn returns the connection to the editor. broken is called when the editor reads no more.
func (s *Server) newConn(out io.Writer, broken func(error)) *acp.Conn {
	write := func(line []byte) error {
		_, err := out.Write(line)
		if err != nil {
			broken(fmt.Errorf("%w: %v", acp.ErrGone, err))
		}
		return err
	}
	return &acp.Conn{Write: write, MaxLine: maxLine, Take: s.takeMessage, Bad: s.refuseLine}
}

// refuseLine answers a line that is no message. An answer to no request is ignored.
func (s *Server) refuseLine(b acp.BadLine) {
	id, because := noID, "a message is an object with the members of JSON-RPC"
	switch {
	case errors.Is(b.Err, bufio.ErrTooLong):
		id, because = findID(b.Text), fmt.Sprintf("a message of %d bytes is too long: %d at most", b.Size, maxLine)
	case b.Err != nil && !json.Valid(b.Text):
		s.conn.Answer(id, nil, sdk.NewParseError(map[string]any{"error": b.Err.Error()}))
		return
	case b.Err != nil:
	case hasBadID(b.Message):
		because = badID
	case b.Message.WantsAnswer() && (b.Message.Result != nil || b.Message.Error != nil):
		return
	default:
		because = "it has no method"
		if len(b.Message.ID) > 0 {
			id = b.Message.ID
		}
	}
	s.conn.Answer(id, nil, sdk.NewInvalidRequest(map[string]any{"error": because}))
}

const badID = "an id is a text or a number"

var noID = json.RawMessage("null")

// findID returns the id of a message of which only the beginning is there, or null.
func findID(head []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return noID
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return noID
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return noID
		}
		if name == "id" && isID(value) {
			return value
		}
	}
	return noID
}

func hasBadID(m acp.Message) bool { return len(m.ID) > 0 && !isID(m.ID) }

func isID(raw json.RawMessage) bool {
	return len(raw) <= maxID && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
