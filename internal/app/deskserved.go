package app

import (
	"context"
	"os"
	"os/exec"
	"sync"

	"ramet/internal/cli"
	"ramet/internal/control"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/loop"
	"ramet/internal/permit"
	"ramet/internal/proc"
	"ramet/internal/tui"
)

// background starts a server that stays when the terminal closes, unless one is there. The
// usual address first; where somebody else has it, any.
func background(ctx context.Context, r cli.ScreenRequest) error {
	if server, err := control.At(r.Home, r.Place.DB).Serving(ctx); server != nil || err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fault.New(fault.Failed, "start a server in the background: %w", err)
	}
	for _, addr := range []string{"127.0.0.1:8765", "127.0.0.1:0"} {
		c := exec.CommandContext(ctx, self, "serve", "--background", "--addr", addr, "--db", r.Place.DB, "--home", r.Home)
		c.Dir = r.Place.Project
		if err = c.Run(); err == nil {
			return nil
		}
	}
	return fault.New(fault.Failed, "start a server in the background: %w", err).
		WithHint("`ramet serve --background` says why; agents end with this terminal")
}

// serving is the kernel that serves the workspace; nil: turns run here.
func (d *desk) serving(ctx context.Context, a id.Agent) *control.Client {
	server, err := control.At(d.request.Home, d.request.Place.DB).Serving(ctx)
	if err != nil && ctx.Err() == nil {
		d.elsewhere.Publish(loop.Event{Type: loop.Note, Agent: a, Text: err.Error() + "; the turn runs here instead"})
		return nil
	}
	return server
}

// hand gives a turn to the server: it goes on when this terminal is closed. Its questions
// are asked here too.
func (d *desk) hand(ctx context.Context, server *control.Client, a id.Agent, prompt proc.Prompt) error {
	d.handed.put(a, server)
	defer d.handed.put(a, nil)
	asks := &asked{desk: d, server: server, open: map[string]chan struct{}{}}
	defer asks.close()
	_, err := server.Hand(ctx, a, prompt, func(e loop.Event) {
		asks.see(ctx, e)
		d.elsewhere.Publish(e)
	})
	return err
}

// Stop ends the turn of an agent, here or at the server that runs it for us.
func (d *desk) Stop(ctx context.Context, a id.Agent) error {
	if server := d.handed.get(a); server != nil {
		return server.Interrupt(ctx, a)
	}
	return d.kernel.Interrupt(ctx, a)
}

// handed are the agents whose turns a server runs for us.
type handed struct {
	mu  sync.Mutex
	all map[id.Agent]*control.Client
}

func (h *handed) put(a id.Agent, server *control.Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[id.Agent]*control.Client{}
	}
	if server == nil {
		delete(h.all, a)
	} else {
		h.all[a] = server
	}
}

func (h *handed) get(a id.Agent) *control.Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[a]
}

// asked are the questions of a turn that runs elsewhere. It is used by one goroutine.
type asked struct {
	desk   *desk
	server *control.Client
	open   map[string]chan struct{} // closed when a question is over
}

// see shows a question, and takes it away when somebody has answered it.
func (q *asked) see(ctx context.Context, e loop.Event) {
	switch {
	case e.Type == loop.Asking && e.Ask != "":
		over := make(chan struct{})
		q.open[e.Ask] = over
		var once sync.Once
		question := tui.Question{
			Question: permit.Question{Agent: e.Agent, Tool: e.Tool, Summary: e.Text, Subject: e.Text},
			Over:     over,
			Answer: func(v permit.Verdict) {
				once.Do(func() { go q.answer(ctx, e.Agent, e.Ask, v) })
			},
		}
		go func() {
			select {
			case q.desk.asker.questions <- question:
			case <-over:
			case <-ctx.Done():
			}
		}()
	case e.Type == loop.Answered:
		if over, ok := q.open[e.Ask]; ok {
			close(over)
			delete(q.open, e.Ask)
		}
	}
}

// answer tells the server; somebody else may have been faster.
func (q *asked) answer(ctx context.Context, a id.Agent, ask string, v permit.Verdict) {
	err := q.server.Answer(ctx, ask, v)
	if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
		q.desk.elsewhere.Publish(loop.Event{Type: loop.Note, Agent: a, Text: "the answer did not arrive: " + err.Error()})
	}
}

func (q *asked) close() {
	for _, over := range q.open {
		close(over)
	}
}
