package tui

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// Hosted is a workspace that is held for terminals in other processes.
type Hosted interface {
	Histories
	Kernel
	Models
	// Folder returns the folder in which an agent works.
	Folder(ctx context.Context, a id.Agent) (string, error)
	// OpenQuestions returns the questions that wait for an answer, oldest first.
	OpenQuestions() []OpenQuestion
	// AnswerQuestion answers one. NOT_FOUND: there is none of that name; CONFLICT: it is over.
	AnswerQuestion(name string, v permit.Verdict) error
}

// OpenQuestion is a question and its name.
type OpenQuestion struct {
	Name     string
	Question permit.Question
}

type operationRequest struct {
	Name  string
	Input json.RawMessage
}

func carryOut(ctx context.Context, w Hosted, in operationRequest) (json.RawMessage, error) {
	o, input, err := in.decode()
	if err != nil {
		return nil, err
	}
	out, err := w.Call(ctx, o, input)
	if err != nil {
		return nil, operation.Explain(o, operation.Slash, err)
	}
	return public.Marshal(out)
}

func printOperation(ctx context.Context, w Hosted, in operationRequest) (string, error) {
	o, input, err := in.decode()
	if err != nil {
		return "", err
	}
	return Print(ctx, w, o, input)
}

func (r operationRequest) decode() (operation.Operation, any, error) {
	o := operation.Named(r.Name)
	if o == nil {
		return nil, nil, fault.New(fault.NotFound, "there is no operation %.40q", r.Name)
	}
	in := o.New()
	if err := json.Unmarshal(r.Input, in); err != nil {
		return nil, nil, fault.New(fault.InvalidEvent, "read input: %w", err)
	}
	return o, in, nil
}

// Print carries out an operation and returns what the terminal shows of its output.
func Print(ctx context.Context, c operation.Client, o operation.Operation, in any) (string, error) {
	out, err := c.Call(ctx, o, in)
	if err != nil {
		return "", operation.Explain(o, operation.Slash, err)
	}
	if o.Describe().Quiet {
		return "", nil
	}
	var text strings.Builder
	for _, note := range o.ListNotes(in, out) {
		text.WriteString(operation.Expand(o, operation.Slash, note) + "\n")
	}
	err = (&printer.Printer{Out: &text, Now: time.Now}).Print(o.Result(operation.Slash, in, out))
	return text.String(), err
}

// Handler answers the calls of terminals. What they ask for continues when they close; only a stream of events ends.
func Handler(open OpenFor) http.Handler {
	mux := http.NewServeMux()
	for path, function := range calls {
		mux.HandleFunc("POST /"+path, serveCall(open, function))
	}
	mux.HandleFunc("POST /turn", func(w http.ResponseWriter, r *http.Request) { serveTurn(open, w, r) })
	mux.HandleFunc("POST /events", func(w http.ResponseWriter, r *http.Request) { serveEvents(open, w, r) })
	return mux
}

// serveTurn runs a turn, which continues when the client is gone. The answer is a line when the prompt is in the history,
// and one when the turn is over.
func serveTurn(open OpenFor, w http.ResponseWriter, r *http.Request) {
	in, err := readRequest[turnRequest](w, r)
	if err != nil {
		_ = public.Encoder(w).Encode(turnLine{Over: true, Error: public.FormatError(err)})
		return
	}
	hosted, t := open(in.Environment), in.Input
	ctx := context.WithoutCancel(r.Context())
	watching, enough := context.WithCancel(r.Context())
	defer enough()
	events := hosted.Events(watching)
	over := make(chan turnLine, 1)
	go func() {
		said, err := hosted.Turn(ctx, t.Agent, t.Text, t.Model, t.Ticket)
		over <- turnLine{Said: said, Over: true, Error: public.FormatError(err)}
		enough()
	}()
	out, flush := public.Encoder(w), http.NewResponseController(w)
	tell := func(l turnLine) error { return errors.Join(out.Encode(l), flush.Flush()) }
	for e := range events {
		if saysPrompt(e, t) {
			if tell(turnLine{Said: true}) != nil {
				return
			}
			break
		}
	}
	select {
	case l := <-over:
		_ = tell(l) // a client that is gone needs no answer
	case <-r.Context().Done():
	}
}

// saysPrompt reports whether an event tells that the prompt of a turn is in the history.
func saysPrompt(e loop.Event, t turnRequest) bool {
	if e.Type != loop.Recorded || e.Agent != t.Agent || e.Entry.Kind != history.User {
		return false
	}
	parts, err := e.Entry.Parts()
	return err == nil && len(parts) > 0 && (parts[0].Text == t.Text || len(t.Text) > history.BlobCutoff)
}

func serveEvents(open OpenFor, w http.ResponseWriter, r *http.Request) {
	in, err := readRequest[struct{}](w, r)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	out, flush := public.Encoder(w), http.NewResponseController(w)
	events := open(in.Environment).Events(r.Context())
	if flush.Flush() != nil {
		return
	}
	for e := range events {
		if errors.Join(out.Encode(public.Format(e)), flush.Flush()) != nil {
			return
		}
	}
}

// A terminal uses a workspace that another process holds by calls: each is a POST with a request and an answer in JSON,
// between processes of the same version. Its input are the arguments after the context.

// calls has what each path calls. Methods of a workspace that are missing act in the terminal's process, or have a route of
// their own.
var calls = map[string]any{
	"Agents": Hosted.Agents, "AnswerQuestion": Hosted.AnswerQuestion, "Changed": Hosted.Changed, "Command": Hosted.Command,
	"CompletePaths": Hosted.CompletePaths, "Defined": Hosted.Defined, "Folder": Hosted.Folder, "Found": Hosted.Found, "Key": Hosted.Key,
	"Mode": Hosted.Mode, "Model": Hosted.Model, "OpenQuestions": Hosted.OpenQuestions, "Overview": Hosted.Overview, "Page": Hosted.Page,
	"Program": Hosted.Program, "ProgramCommands": Hosted.ProgramCommands, "Stop": Hosted.Stop, "Timeline": Hosted.Timeline,
	"Usable": Hosted.Usable, "operation": carryOut, "print": printOperation,
}

type (
	turnRequest struct {
		Agent        id.Agent
		Text, Ticket string
		Model        llm.Ref
	}
	// turnLine is a line of the answer to a turn: that the prompt is in the history, or how the turn ended.
	turnLine struct {
		Said, Over bool
		Error      *public.Error
	}
)

type request[In any] struct {
	Environment *kernel.Environment
	Input       In
}

// OpenFor returns the workspace for a client of an environment.
type OpenFor func(*kernel.Environment) Hosted

func serveCall(open OpenFor, function any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in, err := readRequest[[]json.RawMessage](w, r)
		var out any
		if err == nil {
			out, err = invoke(in.Environment.WithUmask(r.Context()), open(in.Environment), reflect.ValueOf(function), in.Input)
		}
		control.WriteAnswer(w, out, err)
	}
}

// invoke calls a function with a context, a workspace and arguments in JSON.
func invoke(ctx context.Context, w Hosted, f reflect.Value, args []json.RawMessage) (out any, err error) {
	var in []reflect.Value
	for i := range f.Type().NumIn() {
		switch f.Type().In(i) {
		case reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(ctx))
			continue
		case reflect.TypeFor[Hosted]():
			in = append(in, reflect.ValueOf(w))
			continue
		}
		v := reflect.New(f.Type().In(i))
		if len(args) == 0 {
			return nil, fault.New(fault.InvalidEvent, "read request: an argument is missing")
		}
		if err := json.Unmarshal(args[0], v.Interface()); err != nil {
			return nil, fault.New(fault.InvalidEvent, "read request: %w", err)
		}
		in, args = append(in, v.Elem()), args[1:]
	}
	call := f.Call
	if f.Type().IsVariadic() {
		call = f.CallSlice
	}
	for _, v := range call(in) {
		if v.Type() == reflect.TypeFor[error]() {
			err, _ = v.Interface().(error)
		} else {
			out = v.Interface()
		}
	}
	return out, err
}

// maxRequest bounds the body of a call.
const maxRequest = 64 << 20

func readRequest[In any](w http.ResponseWriter, r *http.Request) (in request[In], err error) {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&in); err != nil {
		return in, fault.New(fault.InvalidEvent, "read request: %w", err)
	}
	return in, nil
}

// askRemote calls what a path names, in the process that holds the workspace.
func askRemote[Out any](ctx context.Context, r *Remote, path string, args ...any) (out Out, err error) {
	body, err := r.post(ctx, path, request[[]any]{r.o.Environment, args})
	if err != nil {
		return out, err
	}
	defer body.Close()
	broken, err := control.ReadAnswer(json.NewDecoder(body), &out)
	if broken != nil {
		err = r.broken(ctx, broken)
	}
	return out, err
}

func (r *Remote) post(ctx context.Context, path string, in any) (io.ReadCloser, error) {
	req, err := control.NewRequest(ctx, http.MethodPost, r.base()+path, in)
	if err != nil {
		return nil, err
	}
	answer, err := r.o.Client.Do(req)
	if err != nil {
		return nil, r.broken(ctx, err)
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, r.broken(ctx, errors.New(answer.Status))
	}
	return answer.Body, nil
}

// broken explains a call that got no answer.
func (r *Remote) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return llm.Ended(ctx)
	}
	return fault.New(fault.Interrupted, "the background kernel does not answer: %w", err).WithHint("it is started again by itself; `ramet server status` tells more")
}

func eventsOf(body io.Reader, take func(loop.Event) bool) {
	lines := json.NewDecoder(body)
	for {
		var l public.Line
		if lines.Decode(&l) != nil || !take(l.Event()) {
			return
		}
	}
}
