package tui

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/history"
	"ramet/internal/operation"
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
