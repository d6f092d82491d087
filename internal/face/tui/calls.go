package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/kit"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
)

// The calls by which a terminal uses a workspace that another process holds. Each is a POST with a request and an
// answer in JSON, between processes of the same version.
var (
	callAgents    = get("agents", Hosted.Agents)
	callOverview  = get("overview", Hosted.Overview)
	callChanged   = with("changed", Hosted.Changed)
	callTimeline  = with("timeline", Hosted.Timeline)
	callMode      = with("mode", Hosted.Mode)
	callProgram   = with("program", Hosted.Program)
	callFolder    = with("folder", Hosted.Folder)
	callOperation = method[operationRequest, json.RawMessage]{"operation", carryOut}
	callPrint     = method[operationRequest, string]{"print", printOperation}
	callAsks      = method[none, []OpenQuestion]{"asks", listQuestions}
	callAnswer    = method[answerRequest, none]{"answer", answerQuestion}

	callPage = method[pageRequest, Page]{"page", func(ctx context.Context, w Hosted, in pageRequest) (Page, error) {
		return w.Page(ctx, in.Agent, in.Span)
	}}
	callStop = method[stopRequest, bool]{"stop", func(ctx context.Context, w Hosted, in stopRequest) (bool, error) {
		return w.Stop(ctx, in.Agent, in.Tickets...)
	}}
	callDefined = method[none, []kit.Command]{"defined", func(_ context.Context, w Hosted, _ none) ([]kit.Command, error) {
		return w.Defined(), nil
	}}
	callCommands = method[agent.Agent, []kit.Command]{"program-commands", func(_ context.Context, w Hosted, a agent.Agent) ([]kit.Command, error) {
		return w.ProgramCommands(a), nil
	}}
	callCommand = method[[]string, string]{"command", func(ctx context.Context, w Hosted, args []string) (string, error) {
		return w.Command(ctx, args...)
	}}
	callModel = method[modelRequest, Model]{"model", func(_ context.Context, w Hosted, in modelRequest) (Model, error) {
		return w.Model(in.Agent, in.Asked)
	}}
	callUsable = method[none, []Model]{"usable", func(_ context.Context, w Hosted, _ none) ([]Model, error) {
		return w.Usable(), nil
	}}
	callFound = method[none, []Model]{"found", func(ctx context.Context, w Hosted, _ none) ([]Model, error) {
		return w.Found(ctx), nil
	}}
	callKey = method[keyRequest, string]{"key", func(ctx context.Context, w Hosted, in keyRequest) (string, error) {
		return w.Key(ctx, in.Vendor, in.Key)
	}}
	callPaths = method[pathsRequest, []string]{"paths", func(ctx context.Context, w Hosted, in pathsRequest) ([]string, error) {
		return w.CompletePaths(ctx, in.Agent, in.Fragment), nil
	}}
)

// get makes a call without an input.
func get[Out any](path string, do func(Hosted, context.Context) (Out, error)) method[none, Out] {
	return method[none, Out]{path, func(ctx context.Context, w Hosted, _ none) (Out, error) { return do(w, ctx) }}
}

// with makes a call with one input.
func with[In, Out any](path string, do func(Hosted, context.Context, In) (Out, error)) method[In, Out] {
	return method[In, Out]{path, func(ctx context.Context, w Hosted, in In) (Out, error) { return do(w, ctx, in) }}
}

// allCalls lists the calls that one request and one answer make up.
func allCalls() []served {
	return []served{callAgents, callOverview, callChanged, callPage, callTimeline, callMode, callProgram, callStop, callDefined, callCommands, callCommand,
		callModel, callUsable, callFound, callKey, callPaths, callOperation, callPrint, callAsks, callAnswer, callFolder}
}

type (
	none        struct{}
	pageRequest struct {
		Agent id.Agent
		Span  Span
	}
	stopRequest struct {
		Agent   id.Agent
		Tickets []string
	}
	modelRequest struct {
		Agent agent.Agent
		Asked llm.Ref
	}
	keyRequest   struct{ Vendor, Key string }
	pathsRequest struct {
		Agent    id.Agent
		Fragment string
	}
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

// request carries the input of a call, and the client's environment.
type request[In any] struct {
	Environment *kernel.Environment
	Input       In
}

// response carries the answer of every call but a stream.
type response[Out any] struct {
	Output Out
	Error  *public.Error
}

// method is one call: its path, and what the process that holds the workspace does.
type method[In, Out any] struct {
	path string
	do   func(context.Context, Hosted, In) (Out, error)
}

// served is a call without its types.
type served interface {
	serve(open OpenFor) (path string, h http.HandlerFunc)
}

// OpenFor returns the workspace for a client of an environment.
type OpenFor func(*kernel.Environment) Hosted

func (c method[In, Out]) serve(open OpenFor) (string, http.HandlerFunc) {
	return c.path, func(w http.ResponseWriter, r *http.Request) {
		in, err := readRequest[In](w, r)
		var out response[Out]
		if err == nil {
			out.Output, err = c.do(r.Context(), open(in.Environment), in.Input)
		}
		out.Error = public.FormatError(err)
		_ = public.Encoder(w).Encode(out) // a client that is gone needs no answer
	}
}

// maxRequest bounds the body of a call.
const maxRequest = 64 << 20

func readRequest[In any](w http.ResponseWriter, r *http.Request) (in request[In], err error) {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&in); err != nil {
		return in, fault.New(fault.InvalidEvent, "read request: %w", err)
	}
	return in, nil
}

// ask makes the call.
func (c method[In, Out]) ask(ctx context.Context, r *Remote, in In) (Out, error) {
	var out response[Out]
	body, err := r.post(ctx, c.path, request[In]{r.o.Environment, in})
	if err != nil {
		return out.Output, err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&out); err != nil {
		return out.Output, r.broken(ctx, err)
	}
	return out.Output, out.Error.Fault()
}

// post sends a request and returns the body of the answer.
func (r *Remote) post(ctx context.Context, path string, in any) (io.ReadCloser, error) {
	var body bytes.Buffer
	if err := public.Encoder(&body).Encode(in); err != nil {
		return nil, fault.New(fault.Failed, "encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base()+path, &body)
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

// eventsOf turns lines of an event stream into events.
func eventsOf(body io.Reader, take func(loop.Event) bool) {
	lines := json.NewDecoder(body)
	for {
		var l public.Line
		if lines.Decode(&l) != nil || !take(l.Event()) {
			return
		}
	}
}
