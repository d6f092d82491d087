package acp

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/driver"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/llm"
)

// farewell is how long a program may take to end by itself.
const farewell = 2 * time.Second

// session is a program that runs, and its one session.
type session struct {
	program  *Program
	setup    Setup
	greeting Greeting
	conn     *Conn
	in, out  *os.File // the program reads in and writes out
	process  *sandbox.Process
	errors   *complaints
	kill     context.CancelFunc
	ended    chan struct{}
	result   sandbox.Result // when ended is closed
	broken   error
	ending   sync.Once

	mu    sync.Mutex
	about driver.About
	made  begun // the session, as it began
	offer driver.Offer
	on    func(driver.Update) // while a prompt is answered
	calls map[string]*driver.Call
	cost  llm.Money // of the session so far
}

// start starts the program.
func start(p *Program, setup Setup, w driver.Wish, why launch.Purpose) (*session, error) {
	life, kill := context.WithCancel(context.Background())
	s := &session{program: p, setup: setup, kill: kill, ended: make(chan struct{}), errors: newComplaints(setup.Errors)}
	s.about = driver.About{Driver: p.Driver, Wish: w, Asks: p.Asks(w.Mode), Boxed: setup.Box != nil, Wire: setup.Wire}
	var err error
	s.process, s.in, s.out, err = launch.Speak(life, launch.Program{Purpose: why, Check: setup.Check, Command: sandbox.Command{
		Args: setup.Args, Path: setup.Path, Dir: setup.Dir, Env: setup.Env, Umask: setup.Umask, Confine: setup.Box, Replace: setup.Replace, For: setup.For, Socket: setup.Socket, Output: s.errors}})
	if err != nil {
		kill()
		s.errors.close()
		if setup.Ended != nil {
			setup.Ended()
		}
		return nil, err
	}
	s.conn = &Conn{Write: s.write, MaxLine: maxLine, Take: s.take, Bad: s.reportBad, Clean: p.Clean}
	go s.follow()
	return s, nil
}

// follow hears the program until it and everything that it started are dead.
func (s *session) follow() {
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.conn.Read(s.out)
	}()
	s.result, s.broken = s.process.Wait()
	s.out.SetReadDeadline(time.Now().Add(farewell)) // it ends with the last who could write it, where that is certain
	<-read
	s.kill()
	s.in.Close()
	s.out.Close()
	s.errors.close()
	if s.setup.Ended != nil {
		s.setup.Ended()
	}
	close(s.ended)
}

const (
	maxLine   = 24 << 20         // bytes of one message
	writeTime = 30 * time.Second // for the program to read a message
	codeAuth  = -32000           // the program wants its user to log in
)

// write writes a message to the program.
func (s *session) write(line []byte) error {
	s.in.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := s.in.Write(line)
	return err
}

// take handles a request or a notification of the program.
func (s *session) take(m Message) {
	var once sync.Once
	s.handle(m.Method, m.Params, func(result any, failed *sdk.RequestError) {
		once.Do(func() {
			if m.WantsAnswer() {
				s.conn.Answer(m.ID, result, failed)
			}
		})
	})
}

// reportBad reports a line of the program that is no message. A last line that was cut off is dropped.
func (s *session) reportBad(b BadLine) {
	start := clip(b.Text)
	switch {
	case errors.Is(b.Err, bufio.ErrTooLong):
		s.odd(fmt.Sprintf("a line of %d bytes was left out", b.Size))
	case b.Cut && !json.Valid(b.Text):
	case b.Err == nil:
		s.odd("it answers a request that was not sent: " + start)
	default:
		s.odd("it says something that is not a message: " + start)
	}
}

// About implements driver.Session.
func (s *session) About() driver.About {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.about
}

// Ended implements driver.Session.
func (s *session) Ended() <-chan struct{} { return s.ended }

// End implements driver.Session: it asks for the end, then sees to it.
func (s *session) End() {
	s.ending.Do(func() {
		s.process.Terminate()
		select {
		case <-s.ended:
		case <-time.After(farewell):
			s.process.Kill()
		}
	})
	<-s.ended
}

// Prompt implements driver.Session.
func (s *session) Prompt(ctx context.Context, what []llm.Part, on func(driver.Update)) (driver.Stop, error) {
	if err := s.check(); err != nil {
		return driver.Stop{}, err
	}
	id := sdk.SessionId(s.About().Session)
	req := sdk.PromptRequest{SessionId: id, Prompt: blocks(what)}
	s.mu.Lock()
	s.on, s.calls = on, map[string]*driver.Call{}
	before := s.cost
	s.mu.Unlock()
	over := func() { // what follows the answer is not of this turn
		s.mu.Lock()
		s.on = nil
		s.mu.Unlock()
	}
	defer over()
	answer, err := s.conn.Ask(sdk.AgentMethodSessionPrompt, req, over)
	if err != nil {
		return driver.Stop{}, s.failed(ctx, err)
	}
	var m Message
	var open bool
	select {
	case m, open = <-answer:
	case <-ctx.Done():
		s.conn.Notify(sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: id}) // a program that ignores it is ended
		m, open = <-answer
	}
	var out sdk.PromptResponse
	if err := m.decode(open, &out); err != nil {
		return driver.Stop{}, s.failed(ctx, err)
	}
	stop := driver.Stop{Reason: string(out.StopReason)}
	if u := out.Usage; u != nil {
		stop.Usage = llm.Usage{Input: count(&u.InputTokens), Output: count(&u.OutputTokens), CacheRead: count(u.CachedReadTokens),
			CacheWrite: count(u.CachedWriteTokens), Reasoning: count(u.ThoughtTokens)}
	}
	s.mu.Lock()
	stop.Cost = s.cost - before
	s.mu.Unlock()
	return stop, nil
}

// count is a number of tokens that a program tells; nobody owes us tokens.
func count(n *int) int64 {
	if n == nil || *n < 0 {
		return 0
	}
	return min(int64(*n), 1<<50)
}

// blocks is what is said, as the protocol has it.
func blocks(what []llm.Part) []sdk.ContentBlock {
	out := []sdk.ContentBlock{}
	for _, p := range what {
		if p.Type == llm.Image {
			out = append(out, sdk.ImageBlock(base64.StdEncoding.EncodeToString(p.Data), p.MediaType))
			continue
		}
		out = append(out, sdk.TextBlock(p.Text))
	}
	return out
}

// failed is why a program did not do what it was asked.
func (s *session) failed(ctx context.Context, err error) error {
	name := s.program.Driver
	var said *sdk.RequestError
	switch {
	case errors.As(err, &said) && said.Code == codeAuth:
		f := fault.New(fault.ProviderAuth, "%s wants you to log in", name)
		if s.program.Login != "" {
			err = f.WithHint("run `%s`; ramet has nothing to do with that login", s.program.Login)
		} else {
			err = f.WithHint("log in with the program itself; ramet has nothing to do with that login")
		}
	case errors.As(err, &said):
		if _, ours := fault.Of(err); !ours {
			err = fault.New(fault.Failed, "%s: %s", name, spoken(said))
		}
	case errors.Is(err, ErrGone):
		err = s.gone(ctx)
	default:
		if _, ours := fault.Of(err); !ours {
			err = fault.New(fault.ProviderProtocol, "%s: %w", name, err)
		}
	}
	return err
}

// spoken is an error of a program in one line.
func spoken(e *sdk.RequestError) string {
	line := e.Message
	if e.Data != nil {
		if raw, err := json.Marshal(e.Data); err == nil {
			line += " " + string(raw)
		}
	}
	return text.Line(line, 400)
}

// gone says how the program ended.
func (s *session) gone(ctx context.Context) error {
	select {
	case <-s.ended:
	case <-time.After(farewell):
		s.End()
	}
	how := fmt.Sprintf("exit code %d", s.result.ExitCode)
	if s.result.Signal != 0 {
		how = "signal " + s.result.Signal.String()
	}
	if s.broken != nil {
		how = s.broken.Error()
	}
	f := fault.New(fault.Failed, "%s ended in the middle of its work (%s)", s.program.Driver, how)
	if last := s.errors.last(); last != "" {
		f = fault.New(fault.Failed, "%s ended in the middle of its work (%s); its last words: %s", s.program.Driver, how, text.Line(s.program.Clean(last), 400))
	}
	return f.WithHint("the next prompt takes its session up again")
}

// complaints keeps what a program writes to its standard error: a bounded file, and the end of it.
type complaints struct {
	end  text.EndsBuffer
	mu   sync.Mutex
	file *os.File
	size int
}

// mostComplaints is how much is kept in the file.
const mostComplaints = 1 << 20

func newComplaints(path string) *complaints {
	c := &complaints{end: text.EndsBuffer{Tail: 400}}
	if path != "" {
		// Without it the end is still kept.
		c.file, _ = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	}
	return c
}

func (c *complaints) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end.Write(p)
	if c.file != nil && c.size < mostComplaints {
		n, _ := c.file.Write(p[:min(len(p), mostComplaints-c.size)])
		c.size += n
	}
	return len(p), nil
}

func (c *complaints) last() string {
	_, end, _ := c.end.Kept()
	return strings.TrimSpace(strings.ToValidUTF8(string(end), ""))
}

func (c *complaints) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}
