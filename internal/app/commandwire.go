package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/face/cli"
)

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
