package local

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/launch/proxy"
	"ramet/internal/launch/sandbox"
	"ramet/internal/turn/tool"
)

// Network decides which hosts a confined command may connect to; *permit.Policy is one.
type Network interface {
	// Reach permits a host and port, or refuses it with a sentence. It may ask a person.
	Reach(ctx context.Context, c tool.Call, to, command string) (*history.Permission, error)
	// NamesAddress reports whether a rule for an agent names this address and port.
	NamesAddress(ctx context.Context, a id.Agent, to netip.AddrPort) bool
}

// maxRefusals limits how many hosts a person refuses one command before it is refused without a question.
const maxRefusals = 3

// connect lets a confined command reach the hosts that are permitted. Time for which a person is asked does not
// count for the command's limit. They are added to reached. nil: the command has no network, or all of it.
func (l *Local) connect(ctx context.Context, cmd *sandbox.Command, c tool.Call, line string, limit *limit, reached *[]string) *proxy.Proxy {
	if l.o.Network == nil || cmd.Confine == nil {
		return nil
	}
	o := l.o.Proxy
	var mu sync.Mutex
	refused := 0
	o.Permit = func(ctx context.Context, to string) error {
		mu.Lock()
		enough := refused >= maxRefusals
		mu.Unlock()
		if enough {
			return fmt.Errorf("network to %s was refused: the user refused %d other hosts to this command", to, maxRefusals)
		}
		defer limit.pause()()
		record, err := l.o.Network.Reach(ctx, c, to, line)
		switch {
		case err == nil:
			mu.Lock()
			host, _, _ := net.SplitHostPort(to)
			if !slices.Contains(*reached, host) {
				*reached = append(*reached, host)
			}
			mu.Unlock()
			if c.Record != nil {
				return c.Record(ctx, record) // before anything happens because of it
			}
		case err != nil && record != nil && record.By == history.ByPerson:
			mu.Lock()
			refused++
			mu.Unlock()
		}
		return err
	}
	o.Named = func(ctx context.Context, to netip.AddrPort) bool { return l.o.Network.NamesAddress(ctx, c.Agent, to) }
	p := proxy.New(ctx, o)
	cmd.Env = p.Environment(cmd.Env, sandbox.ListenAddress)
	cmd.Confine.Listen = p.Serve
	return p
}

// limit ends a command after a time, of which pauses do not count.
type limit struct {
	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	paused int
}

func newLimit(after time.Duration, end func()) *limit {
	return &limit{timer: time.AfterFunc(after, end), left: after, since: time.Now()}
}

// pause stops the clock until the function that it returns is called.
func (l *limit) pause() (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused++; l.paused == 1 {
		l.timer.Stop()
		l.left -= time.Since(l.since)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.paused--; l.paused == 0 {
			l.since = time.Now()
			l.timer.Reset(max(0, l.left))
		}
	}
}
