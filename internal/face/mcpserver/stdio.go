package mcpserver

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// patient is a line whose end is not told before everything that was asked on it is
// answered: a program may write its requests, close the pipe, and then read.
type patient struct{ sdk.Transport }

func (p patient) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &patientLine{Connection: c, closed: make(chan struct{})}, nil
}

type patientLine struct {
	sdk.Connection
	closed chan struct{}
	shut   sync.Once

	mu    sync.Mutex
	open  int           // requests that are not answered
	quiet chan struct{} // closed when open becomes 0, if somebody waits for that
}

func (l *patientLine) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := l.Connection.Read(ctx)
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
