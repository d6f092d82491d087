package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/face/cli"
	"ramet/internal/face/tui"
	"ramet/internal/kernel"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/credential"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// background is the background kernel as its clients use it.
type background struct {
	place control.Place
	start control.Start
	http  *http.Client // starts nothing
}

// backgroundOf finds the background kernel of a session's home, whether it runs or not.
func backgroundOf(s *session.Session) (*background, error) {
	home, err := s.HomeDir()
	if err != nil {
		return nil, err
	}
	place, err := control.FindPlace(s.Getenv, home)
	if err != nil {
		return nil, err
	}
	b := &background{place: place, start: control.Start{Args: []string{"server", "run", "--home", home}, Env: withoutKeys(os.Environ())}}
	b.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return place.Dial(ctx) }}}
	return b, nil
}

// withoutKeys takes the keys of vendors and the choice of a model out of an environment: the background kernel uses
// those of its clients, and stored ones.
func withoutKeys(environ []string) []string {
	keys := append(credential.Variables(), kernel.ModelVariable)
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(keys, name)
	})
}

func (b *background) ask(ctx context.Context, method, path string, in, out any) error {
	answer, err := b.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return decodeAnswer(json.NewDecoder(answer.Body), out)
}

func (b *background) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	r, err := control.NewRequest(ctx, method, "http://kernel"+path, in)
	if err != nil {
		return nil, err
	}
	answer, err := b.http.Do(r)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, llm.Ended(ctx)
	case err != nil && control.IsAbsent(err):
		return nil, fault.New(fault.NotFound, "no background kernel runs").WithHint("`ramet` starts it")
	case err != nil:
		return nil, fault.New(fault.Failed, "ask the background kernel: %w", err)
	}
	return answer, nil
}

// errUndecoded reports an answer of the kernel that cannot be read, or has ended.
var errUndecoded = errors.New("read the answer of the background kernel")

func decodeAnswer(from *json.Decoder, out any) error {
	broken, err := control.ReadAnswer(from, out)
	if broken != nil {
		return fault.New(fault.Failed, "%w: %s", errUndecoded, broken.Error())
	}
	return err
}

// ensure starts the kernel if none runs, or if the one that ran ends while it is asked. CONFLICT: one of another version
// runs.
func (b *background) ensure(ctx context.Context) error {
	var err error
	for range 3 {
		conn, failed := b.place.Ensure(ctx, b.start)
		if failed != nil {
			return failed
		}
		conn.Close()
		if err = b.checkVersion(ctx); !fault.Is(err, fault.NotFound) {
			break
		}
	}
	return err
}

// checkVersion returns CONFLICT if the kernel that runs is of another version, NOT_FOUND if none runs.
func (b *background) checkVersion(ctx context.Context) error {
	now, err := b.Status(ctx)
	if err != nil {
		return err
	}
	if now.Version != version {
		return otherVersion(now.Version, version)
	}
	return nil
}

// otherVersion refuses a client of another version: a newer one must not change a database that an older kernel holds.
func otherVersion(kernel, client string) error {
	return fault.New(fault.Conflict, "the background kernel is version %s, and this is version %s", kernel, client).
		WithHint("`ramet server restart` starts it again once no agent works")
}

// carryElsewhere carries out a command line in the background kernel. It offers to restart one of another version.
func carryElsewhere(ctx context.Context, l *cli.Line, args []string, start bool) (exit int, ran bool, err error) {
	if _, agents := l.Own(); agents {
		return carryForAgent(ctx, l, args)
	}
	b, err := backgroundOf(l.Session)
	if err != nil && !start {
		return 0, false, nil // no kernel can run; what else is wrong is reported in this process
	}
	if err != nil {
		return 0, true, err
	}
	exit, ran, err = b.carry(ctx, l, args, start)
	if fault.Is(err, fault.Conflict) && b.mayRestart(ctx, l, err) {
		if err := b.Stop(ctx, false); err != nil {
			return 0, true, err
		}
		return b.carry(ctx, l, args, true)
	}
	return exit, ran, err
}

func (b *background) Agree(ctx context.Context, l *cli.Line) error {
	err := b.checkVersion(ctx)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case fault.Is(err, fault.Conflict) && b.mayRestart(ctx, l, err):
		return b.Stop(ctx, false)
	}
	return err
}

// carryForAgent carries out the command line of an agent in the kernel that started the command. A confined one sees that
// kernel's socket only. A command that finds none in its folder, or chooses another workspace, runs in this process.
func carryForAgent(ctx context.Context, l *cli.Line, args []string) (exit int, ran bool, err error) {
	if l.Choice != (session.Choice{}) {
		return 0, false, nil
	}
	var client *http.Client
	if socket := l.Getenv(sandbox.SocketVariable); socket != "" {
		client = control.ClientAt(socket)
	} else if peers, err := l.Peers(); err == nil { // else it is reported in this process
		client = peers.ClientOfCommand(ctx)
	}
	if client == nil {
		return 0, false, nil
	}
	return sendCommand(ctx, client, l.Streams, cli.CommandRequest{Version: version, Args: args})
}

// mayRestart asks the user whether a kernel of another version is to be restarted. One with agents at work is not.
func (b *background) mayRestart(ctx context.Context, l *cli.Line, why error) bool {
	if l.Password == nil || !l.ErrTerminal || l.JSON {
		return false
	}
	now, err := b.Status(ctx)
	for _, one := range now.Workspaces {
		if one.Working+one.Commands > 0 {
			return false
		}
	}
	e, _ := fault.Of(why)
	return err == nil && l.Yes(e.Message+". No agent works: restart it? [y/N] ")
}

// carry carries out a command line in the kernel; with start, in one that it starts if none runs. CONFLICT: the kernel
// is of another version.
func (b *background) carry(ctx context.Context, l *cli.Line, args []string, start bool) (exit int, ran bool, err error) {
	if start {
		if err := b.ensure(ctx); err != nil {
			return 0, true, err
		}
	}
	in := cli.CommandRequest{Version: version, Args: args, Dir: l.Dir, Environ: session.ClientVariables(l.Session), Umask: l.Umask(), Terminal: l.Terminal,
		ErrTerminal: l.ErrTerminal, Input: l.Password != nil}
	exit, ran, err = sendCommand(ctx, b.http, l.Streams, in)
	if start && err == nil && !ran {
		return 0, true, fault.New(fault.Failed, "the background kernel ended before it began").WithHint("give the command again")
	}
	if errors.Is(err, errUndecoded) {
		err = cmp.Or(b.checkVersion(ctx), err) // a kernel of another version may know no commands
	}
	return exit, ran, err
}

// sendCommand sends a command line to a kernel, and relays its streams. ran is false if no kernel answers.
func sendCommand(ctx context.Context, client *http.Client, streams cli.Streams, in cli.CommandRequest) (exit int, ran bool, err error) {
	r, err := control.NewRequest(context.WithoutCancel(ctx), http.MethodPost, "http://kernel/command", in)
	if err != nil {
		return 0, true, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "ramet")
	control.SetVersion(r)
	answer, err := client.Do(r)
	if err != nil {
		if control.IsAbsent(err) {
			return 0, false, nil
		}
		return 0, true, fault.New(fault.Failed, "ask the background kernel: %w", err)
	}
	defer answer.Body.Close()
	conn, ok := answer.Body.(io.ReadWriter)
	if !ok {
		var refused struct {
			public.Error               // from a kernel's own socket
			Host         *public.Error `json:"error"`
		}
		err := json.NewDecoder(answer.Body).Decode(&refused)
		switch {
		case err != nil:
			return 0, true, fault.New(fault.Failed, "%w: %s", errUndecoded, err.Error())
		case refused.Host != nil:
			return 0, true, refused.Host.Fault()
		case refused.Code != "":
			return 0, true, refused.Error.Fault()
		}
		return 0, true, fault.New(fault.Failed, "%w: it says nothing", errUndecoded)
	}
	exit, err = relay(ctx, conn, streams)
	return exit, true, err
}

// open opens the workspace of a session in the kernel and returns its key. start is ensure or checkVersion.
func (b *background) open(ctx context.Context, s *session.Session, start func(context.Context) error) (string, error) {
	if err := start(ctx); err != nil {
		return "", err
	}
	in, err := cli.NameWorkspace(s)
	if err != nil {
		return "", err
	}
	var key string
	return key, b.ask(ctx, http.MethodPost, "/open", in, &key)
}

func (b *background) Status(ctx context.Context) (public.BackgroundKernel, error) {
	var out public.BackgroundKernel
	return out, b.ask(ctx, http.MethodGet, "/status", nil, &out)
}

func (b *background) ListAgents(ctx context.Context, in operation.PsInput) ([]cli.ProjectAgents, error) {
	var out []cli.ProjectAgents
	return out, b.ask(ctx, http.MethodPost, "/agents", in, &out)
}

func (b *background) Start(ctx context.Context) error { return b.ensure(ctx) }

// Stop implements cli.BackgroundKernel. It returns when nothing of the kernel runs.
func (b *background) Stop(ctx context.Context, force bool) error {
	path := "/stop"
	if force {
		path += "?force=1"
	}
	if err := b.ask(ctx, http.MethodPost, path, nil, nil); err != nil {
		return err
	}
	return b.place.AwaitEnd(ctx)
}

func (b *background) ForgetDeaths() { b.place.ForgetDeaths() }

// connectTerminal opens the workspace of a session for a terminal in this process.
func connectTerminal(ctx context.Context, s *session.Session) (tui.Workspace, error) {
	b, err := backgroundOf(s)
	if err != nil {
		return nil, err
	}
	place, err := s.Place()
	if err != nil {
		return nil, err
	}
	home, err := s.HomeDir()
	if err != nil {
		return nil, err
	}
	start := b.ensure
	remote, err := tui.Connect(ctx, tui.RemoteOptions{
		Client: b.http,
		Open: func(ctx context.Context) (string, error) {
			key, err := b.open(ctx, s, start)
			if err == nil {
				start = b.ensure
			} else if control.IsCrashLoop(err) {
				start = b.checkVersion // a person starts it again
			}
			return "http://kernel/terminal/" + key + "/", err
		},
		Environment: session.ClientEnvironment(s),
		Answered:    answeredHere,
		Shell:       session.RunShell,
		Clipboard:   func(ctx context.Context) (string, error) { return session.PasteImage(ctx, place.Project, home) },
	})
	if err != nil || switches().Command == nil {
		return remote, err
	}
	return probedTerminal{remote}, nil
}

// probedTerminal is a terminal's workspace in tests, whose commands may fail.
type probedTerminal struct{ tui.Workspace }

func (p probedTerminal) Print(ctx context.Context, o operation.Operation, in any) (string, error) {
	switches().Command()
	return p.Workspace.Print(ctx, o, in)
}

// commandFrame is one message of a command line that the background kernel carries out for a client. Both directions
// of the connection are a series of these as JSON.
type commandFrame struct {
	// From the kernel: output, that the command reads standard input or a secret, and its exit code.
	Out, Err []byte  `json:",omitempty"`
	Read     bool    `json:",omitempty"`
	Ask      *string `json:",omitempty"` // the prompt
	Exit     *int    `json:",omitempty"`
	// From the client: standard input, an answer, and that a signal came.
	In     []byte  `json:",omitempty"`
	End    bool    `json:",omitempty"` // of standard input
	Answer *string `json:",omitempty"`
	Stop   string  `json:",omitempty"` // which
}

// frameWriter writes frames, from several goroutines.
type frameWriter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (w *frameWriter) send(f commandFrame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Encode(f)
}

// relay shows the client what a command in the kernel prints, and gives it the client's input, until the command ends.
func relay(ctx context.Context, conn io.ReadWriter, s cli.Streams) (exit int, err error) {
	w := &frameWriter{out: json.NewEncoder(conn)}
	defer context.AfterFunc(ctx, func() { _ = w.send(commandFrame{Stop: context.Cause(ctx).Error()}) })()
	for frames := json.NewDecoder(conn); ; {
		var f commandFrame
		if err := frames.Decode(&f); err != nil {
			return 0, fault.New(fault.Interrupted, "the background kernel ended: %w", err).WithHint("`ramet ps` shows what was interrupted")
		}
		switch {
		case f.Exit != nil:
			return *f.Exit, nil
		case f.Read:
			go func() {
				in := make([]byte, 32<<10)
				n, err := s.Stdin.Read(in)
				_ = w.send(commandFrame{In: in[:n], End: err != nil}) // a kernel that is gone needs none
			}()
		case f.Ask != nil:
			answer, err := s.Password(*f.Ask)
			_ = w.send(commandFrame{Answer: &answer, End: err != nil})
		default:
			to, text := s.Stdout, f.Out
			if f.Err != nil {
				to, text = s.Stderr, f.Err
			}
			if _, err := to.Write(text); err != nil {
				return 0, fault.New(fault.Failed, "print: %w", err)
			}
		}
	}
}

// errLost ends a command whose client is gone.
var errLost = errors.New("the client is gone")

// clientStreams are the streams of a client, in the kernel.
type clientStreams struct {
	frameWriter
	input, answers chan commandFrame
	gone           chan struct{} // closed when the client is

	reading sync.Mutex // held by the command while it waits for input
	rest    []byte     // of the input, guarded by reading
	ended   bool       // guarded by reading

	staying sync.Mutex
	stays   bool // guarded by staying
}

// serveClient carries out a command for a client and returns when it has ended. Input of the client is read until then.
func serveClient(ctx context.Context, conn io.ReadWriter, in cli.CommandRequest, run func(context.Context, cli.Streams) int) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &clientStreams{frameWriter: frameWriter{out: json.NewEncoder(conn)}, gone: make(chan struct{}),
		input: make(chan commandFrame, 1), answers: make(chan commandFrame, 1)}
	go c.listen(json.NewDecoder(conn), end)
	streams := cli.Streams{Stdin: c, Stdout: outWriter(func(p []byte) error { return c.send(commandFrame{Out: p}) }),
		Stderr: outWriter(func(p []byte) error { return c.send(commandFrame{Err: p}) }), Terminal: in.Terminal, ErrTerminal: in.ErrTerminal, Stay: c.stay}
	if in.Input {
		streams.Password = c.ask
	}
	exit := run(ctx, streams)
	_ = c.send(commandFrame{Exit: &exit}) // a client that is gone needs no answer
}

// listen hears the client until it is gone. Then the command ends, unless it stays.
func (c *clientStreams) listen(frames *json.Decoder, end context.CancelCauseFunc) {
	defer close(c.gone)
	for {
		var f commandFrame
		if frames.Decode(&f) != nil {
			c.staying.Lock()
			defer c.staying.Unlock()
			if !c.stays {
				end(errLost)
			}
			return
		}
		to := c.input
		switch {
		case f.Stop != "":
			end(errors.New(f.Stop))
			continue
		case f.Answer != nil:
			to = c.answers
		}
		select {
		case to <- f:
		default: // it was not asked for
		}
	}
}

// stay lets the command continue when the client is gone.
func (c *clientStreams) stay() {
	c.staying.Lock()
	defer c.staying.Unlock()
	c.stays = true
}

// Read reads the client's standard input, of which nothing is read before the command wants it.
func (c *clientStreams) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if len(c.rest) == 0 && !c.ended {
		if err := c.send(commandFrame{Read: true}); err != nil {
			return 0, io.EOF
		}
		select {
		case f := <-c.input:
			c.rest, c.ended = f.In, f.End
		case <-c.gone:
			c.ended = true
		}
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; n == 0 && c.ended {
		return 0, io.EOF
	}
	return n, nil
}

// ask reads a line from the client's terminal without showing it.
func (c *clientStreams) ask(prompt string) (string, error) {
	if err := c.send(commandFrame{Ask: &prompt}); err != nil {
		return "", errLost
	}
	select {
	case f := <-c.answers:
		if f.End {
			return *f.Answer, io.EOF
		}
		return *f.Answer, nil
	case <-c.gone:
		return "", errLost
	}
}

// outWriter writes by a function. What a client that is gone would have been shown is dropped.
type outWriter func(p []byte) error

func (w outWriter) Write(p []byte) (int, error) {
	_ = w(p)
	return len(p), nil
}
