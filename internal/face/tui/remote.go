package tui

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/kit"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// RemoteOptions say how a workspace in another process is used.
type RemoteOptions struct {
	Client *http.Client // connects to the process that holds it
	// Open opens the workspace there, after it starts that process if none runs, and returns the base of its URLs.
	Open        func(context.Context) (base string, err error)
	Environment *kernel.Environment // of this process
	// Answered completes an answer that a person gave here.
	Answered func(permit.Verdict) permit.Verdict
	// Shell and Clipboard act in this process.
	Shell     func(ctx context.Context, dir, line string, output func(string)) error
	Clipboard func(context.Context) (string, error)
}

// Remote is a workspace that another process holds. If that process ends, Remote starts it again.
type Remote struct {
	o         RemoteOptions
	at        atomic.Pointer[string] // base of the URLs
	events    chan io.ReadCloser     // the stream that connect opened
	questions chan Question

	mu   sync.Mutex
	open map[string]chan struct{} // questions that were shown; closed when over
}

// Connect opens a workspace in another process.
func Connect(ctx context.Context, o RemoteOptions) (*Remote, error) {
	r := &Remote{o: o, questions: make(chan Question), open: map[string]chan struct{}{}, events: make(chan io.ReadCloser, 1)}
	return r, r.connect(ctx)
}

// connect opens the workspace, and its stream of events before anything else is asked for: nothing is missed.
func (r *Remote) connect(ctx context.Context) error {
	base, err := r.o.Open(ctx)
	if err != nil {
		return err
	}
	r.at.Store(&base)
	body, err := r.post(ctx, "events", request[struct{}]{Environment: r.o.Environment})
	if err == nil {
		r.events <- body
	}
	return err
}

func (r *Remote) base() string { return *r.at.Load() }

// Close disconnects. Turns continue.
func (r *Remote) Close() { r.o.Client.CloseIdleConnections() }

func (r *Remote) Agents(ctx context.Context) (Agents, error) {
	return askRemote[Agents](ctx, r, "Agents")
}

func (r *Remote) Overview(ctx context.Context) (public.HomeFacts, error) {
	return askRemote[public.HomeFacts](ctx, r, "Overview")
}

func (r *Remote) Changed(ctx context.Context, a id.Agent) (string, error) {
	return askRemote[string](ctx, r, "Changed", a)
}

func (r *Remote) Page(ctx context.Context, a id.Agent, s Span) (Page, error) {
	return askRemote[Page](ctx, r, "Page", a, s)
}

func (r *Remote) Timeline(ctx context.Context, a id.Agent) ([]Point, error) {
	return askRemote[[]Point](ctx, r, "Timeline", a)
}

func (r *Remote) Mode(ctx context.Context, a id.Agent) (permit.Mode, error) {
	return askRemote[permit.Mode](ctx, r, "Mode", a)
}

func (r *Remote) Program(ctx context.Context, a agent.Agent) (*public.Program, error) {
	return askRemote[*public.Program](ctx, r, "Program", a)
}

func (r *Remote) Stop(ctx context.Context, a id.Agent, tickets ...string) (bool, error) {
	return askRemote[bool](ctx, r, "Stop", a, tickets)
}

func (r *Remote) Command(ctx context.Context, args ...string) (string, error) {
	return askRemote[string](ctx, r, "Command", args)
}

func (r *Remote) Key(ctx context.Context, vendor, key string) (string, error) {
	return askRemote[string](ctx, r, "Key", vendor, key)
}

func (r *Remote) Clipboard(ctx context.Context) (string, error) { return r.o.Clipboard(ctx) }

// Shell implements Workspace. The command is this process's.
func (r *Remote) Shell(ctx context.Context, a id.Agent, line string, output func(string)) error {
	dir, err := askRemote[string](ctx, r, "Folder", a)
	if err != nil {
		return err
	}
	return r.o.Shell(ctx, dir, line, output)
}

// atOnce bounds the calls that are made while the screen is drawn.
const atOnce = 2 * time.Second

func (r *Remote) Model(a agent.Agent, asked llm.Ref) (Model, error) {
	ctx, cancel := context.WithTimeout(context.Background(), atOnce)
	defer cancel()
	return askRemote[Model](ctx, r, "Model", a, asked)
}

func (r *Remote) Usable() []Model { return askList[Model](r, "Usable") }

func (r *Remote) Found(ctx context.Context) []Model {
	out, _ := askRemote[[]Model](ctx, r, "Found") // nothing is found there either
	return out
}

func (r *Remote) Defined() []kit.Command { return askList[kit.Command](r, "Defined") }

func (r *Remote) ProgramCommands(a agent.Agent) []kit.Command {
	return askList[kit.Command](r, "ProgramCommands", a)
}

// askList asks for a list that is empty if it cannot be read.
func askList[Item any](r *Remote, path string, args ...any) []Item {
	ctx, cancel := context.WithTimeout(context.Background(), atOnce)
	defer cancel()
	out, _ := askRemote[[]Item](ctx, r, path, args...)
	return out
}

func (r *Remote) CompletePaths(ctx context.Context, a id.Agent, fragment string) []string {
	out, _ := askRemote[[]string](ctx, r, "CompletePaths", a, fragment) // nothing is offered
	return out
}

func (r *Remote) Call(ctx context.Context, o operation.Operation, in any) (any, error) {
	input, err := public.Marshal(in)
	if err != nil {
		return nil, fault.New(fault.Failed, "encode input: %w", err)
	}
	text, err := askRemote[json.RawMessage](ctx, r, "operation", operationRequest{o.Describe().Name, input})
	if err != nil {
		return nil, err
	}
	out := reflect.New(o.Output())
	if err := json.Unmarshal(text, out.Interface()); err != nil {
		return nil, fault.New(fault.Failed, "read output: %w", err)
	}
	return out.Elem().Interface(), nil
}

func (r *Remote) Print(ctx context.Context, o operation.Operation, in any) (string, error) {
	input, err := public.Marshal(in)
	if err != nil {
		return "", fault.New(fault.Failed, "encode input: %w", err)
	}
	return askRemote[string](ctx, r, "print", operationRequest{o.Describe().Name, input})
}

func (r *Remote) Turn(ctx context.Context, a id.Agent, text string, model llm.Ref, ticket string) (bool, error) {
	body, err := r.post(ctx, "turn", request[turnRequest]{r.o.Environment, turnRequest{a, text, ticket, model}})
	if err != nil {
		return false, err
	}
	defer body.Close()
	said := false
	for lines := json.NewDecoder(body); ; {
		var l turnLine
		if err := lines.Decode(&l); err != nil {
			return said, r.broken(ctx, err)
		}
		said = said || l.Said
		if l.Over {
			return said, l.Error.Fault()
		}
	}
}

// Events implements Workspace. When the connection breaks, it connects again and tells that everything may have changed.
func (r *Remote) Events(ctx context.Context) iter.Seq[loop.Event] {
	return func(yield func(loop.Event) bool) {
		for r.readEvents(ctx, yield) {
			if !r.reconnect(ctx, yield) {
				return
			}
		}
	}
}

// readEvents reads one stream to its end. false: the caller wants no more.
func (r *Remote) readEvents(ctx context.Context, yield func(loop.Event) bool) (more bool) {
	body := <-r.events
	defer body.Close()
	go r.refreshQuestions(ctx)
	more = true
	eventsOf(body, func(e loop.Event) bool {
		if e.Type == loop.Asking || e.Type == loop.Answered {
			go r.refreshQuestions(ctx)
		}
		more = yield(e)
		return more
	})
	return more && ctx.Err() == nil
}

// reconnect tries until it is connected. false: the caller wants no more.
func (r *Remote) reconnect(ctx context.Context, yield func(loop.Event) bool) bool {
	last := ""
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 2*time.Second) {
		err := r.connect(ctx)
		if err == nil {
			return yield(loop.Event{Type: loop.Note, Text: "Reconnected to the background kernel."}) && yield(loop.Event{Type: loop.Became})
		}
		if text := err.Error(); text != last && !yield(loop.Event{Type: loop.Note, Text: text}) {
			return false
		}
		last = err.Error()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return false
}

func (r *Remote) Questions(ctx context.Context) <-chan Question { return r.questions }

// refreshQuestions shows questions that are new, and takes those away that are over.
func (r *Remote) refreshQuestions(ctx context.Context) {
	all, err := askRemote[[]OpenQuestion](ctx, r, "OpenQuestions")
	if err != nil {
		return // the next connection asks again
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	open := map[string]chan struct{}{}
	for _, q := range all {
		if over, known := r.open[q.Name]; known {
			open[q.Name] = over
			delete(r.open, q.Name)
			continue
		}
		over := make(chan struct{})
		open[q.Name] = over
		go r.show(ctx, q, over)
	}
	for _, over := range r.open {
		close(over)
	}
	r.open = open
}

func (r *Remote) show(ctx context.Context, q OpenQuestion, over chan struct{}) {
	answer := func(v permit.Verdict) {
		go askRemote[any](ctx, r, "AnswerQuestion", q.Name, r.o.Answered(v)) // the first answer counts
	}
	select {
	case r.questions <- Question{Question: q.Question, Answer: answer, Over: over}:
	case <-over:
	case <-ctx.Done():
	}
}
