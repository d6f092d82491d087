package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/shape"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
)

// tool is one row of the table of tools.
type tool struct {
	name, about string
	args        *shape.Shape
	answers     []any // zero values of what it answers; one of them
	long        bool  // may take longer than a call
	reads       bool  // changes nothing
	destroys    bool
	run         func(context.Context, *Server, Caller, json.RawMessage) (json.RawMessage, error)
}

// tools returns the tools of a caller: an agent can end itself, and has no use for a ledger of others' sub-agents.
func tools(c Caller) []tool {
	out := []tool{runTool()}
	for _, o := range operation.All() {
		switch d := o.Describe(); {
		case d.Faces&operation.MCP == 0, o == &operation.Exit && c == "", o == &operation.ListTracked && c != "":
		case o == &operation.Wait:
			out = append(out, waitTool())
		default:
			out = append(out, operationTool(o))
		}
	}
	return out
}

// described is the tool as clients are told of it.
func (t tool) described() *sdk.Tool {
	open := false
	return &sdk.Tool{Name: t.name, Description: t.about, InputSchema: json.RawMessage(t.args.Brief()), OutputSchema: t.output(),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.reads, DestructiveHint: &t.destroys, OpenWorldHint: &open}}
}

// output is the schema of its answers.
func (t tool) output() map[string]any {
	answers := t.answers
	if t.long {
		answers = append(answers[:len(answers):len(answers)], Pending{})
	}
	types := &shape.Types{Prefix: "#/$defs/"}
	each := []any{}
	for _, a := range answers {
		each = append(each, shape.Open(types.Fields(reflect.TypeOf(a))...).Schema())
	}
	out := each[0].(map[string]any)
	if len(each) > 1 {
		out = map[string]any{"type": "object", "anyOf": each}
	}
	if named := types.Schemas(); len(named) > 0 {
		out["$defs"] = named
	}
	return out
}

// handler answers calls of one caller.
func (s *Server) handler(c Caller, t tool) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, err := s.admit(ctx, c)
		var out json.RawMessage
		if err == nil {
			out, err = s.within(ctx, c, t, r.Params.Arguments)
		}
		if err != nil {
			return failed(err), nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(out)}}, StructuredContent: out}, nil
	}
}

// failed is an error for a model: the code, what is wrong, what to do.
func failed(err error) *sdk.CallToolResult {
	e := public.FormatError(err)
	said := "error[" + string(e.Code) + "]: " + e.Message
	if e.Hint != "" {
		said += ": " + e.Hint
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: said}}}
}

func operationTool(o operation.Operation) tool {
	d := o.Describe()
	name, _, _ := strings.Cut(d.Name, " ")
	return tool{name: name, about: operation.Expand(o, operation.MCP, cmp.Or(d.Model, d.Summary)), long: d.Long, reads: d.Effect == operation.Reads, destroys: d.Effect == operation.Destroys,
		args:    operation.Shape(o, operation.MCP),
		answers: []any{reflect.Zero(o.Answer(operation.MCP)).Interface()},
		run: func(ctx context.Context, s *Server, _ Caller, args json.RawMessage) (json.RawMessage, error) {
			in := o.New()
			if err := operation.Decode(o, operation.MCP, args, in); err != nil {
				return nil, explain(o, err)
			}
			return s.call(ctx, o, in)
		}}
}

func (s *Server) call(ctx context.Context, o operation.Operation, in any) (json.RawMessage, error) {
	out, err := operation.Within(s.o.Workspace).OnRuns(s.o.Runs, s.o.Begin).Call(ctx, o, in)
	if err != nil {
		return nil, explain(o, err)
	}
	return printer.Compact(o.Result(operation.MCP, in, out).JSON)
}

// explain tells a model which argument is wrong.
func explain(o operation.Operation, err error) error {
	e, ok := errors.AsType[*operation.FieldError](operation.Explain(o, operation.MCP, err))
	if !ok {
		return err
	}
	if e.Fault.Code != fault.InvalidField {
		return e.Fault
	}
	hint := "nothing was done; look at the tool's input schema"
	if e.Suggestion != "" {
		hint = "nothing was done; did you mean " + e.Suggestion + "?"
	}
	return fault.New(e.Fault.Code, "%s: %s", o.Describe().Name, e.Fault.Message).WithHint("%s", hint)
}

// runVerbs lists the verbs of the tool run.
func runVerbs() []operation.Operation {
	return []operation.Operation{&operation.ListRuns, &operation.ShowRun, &operation.ReadRunEvents, &operation.VerifyRun,
		&operation.StartRun, &operation.ResumeRun, &operation.ForkRun, &operation.CancelRun}
}

// verbOf returns the word by which the tool run calls an operation: list for "run list".
func verbOf(o operation.Operation) string { return strings.TrimPrefix(o.Describe().Name, "run ") }

func runAnswers() (out []any) {
	for _, o := range runVerbs() {
		if answer := reflect.Zero(o.Answer(operation.MCP)).Interface(); !slices.ContainsFunc(out, func(known any) bool { return reflect.TypeOf(known) == reflect.TypeOf(answer) }) {
			out = append(out, answer)
		}
	}
	return out
}

// runTool returns all operations on runs as one tool. An argument that several have is described once.
func runTool() tool {
	var names []string
	var fields []shape.Field
	verbs := map[string][]string{}
	for _, o := range runVerbs() {
		names = append(names, verbOf(o))
		for _, f := range operation.Fields(o, operation.MCP) {
			if f.Optional = true; verbs[f.Name] == nil {
				fields = append(fields, f)
			}
			verbs[f.Name] = append(verbs[f.Name], verbOf(o))
		}
	}
	for i, f := range fields {
		fields[i].Shape = f.Shape.With(strings.Join(verbs[f.Name], ", ") + ": " + f.Shape.Description())
	}
	return tool{name: "run", about: "Orchestrated runs: list them, show the state of one, read its events, verify its log; start one of a recipe or resume one, which continue in the background; fork one at an event; cancel one for good.",
		args:    shape.Object(append([]shape.Field{shape.Must("do", shape.Enum(names...))}, fields...)...),
		answers: runAnswers(), long: true, destroys: true,
		run: runs}
}

// runs carries out one of the operations. Arguments of others are left out.
func runs(ctx context.Context, s *Server, _ Caller, args json.RawMessage) (json.RawMessage, error) {
	form := runTool().args
	args, unknown := form.Take(args)
	var given map[string]json.RawMessage
	err := cmp.Or(form.Check(args), json.Unmarshal(args, &given))
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("no argument %s", unknown[0].Path())
	}
	if err != nil {
		return nil, fault.New(fault.InvalidField, "run: %w", err).WithHint("nothing was done; look at the tool's input schema")
	}
	all := runVerbs()
	o := all[slices.IndexFunc(all, func(o operation.Operation) bool { return strconv.Quote(verbOf(o)) == string(given["do"]) })]
	own := map[string]json.RawMessage{}
	for _, p := range operation.Offered(o, operation.MCP) {
		if value, ok := given[p.Name]; ok {
			own[p.Name] = value
		}
	}
	text, err := public.Marshal(own)
	if err != nil {
		return nil, err
	}
	return operationTool(o).run(ctx, s, "", text)
}

// waitTool derives the tool of the operation, which here also waits for calls that became handles.
func waitTool() tool {
	t := operationTool(&operation.Wait)
	t.answers = append(append(t.answers, Pending{}, public.Line{}, operation.Verified{}), runAnswers()...)
	t.run = func(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
		var in operation.WaitInput
		if err := operation.Decode(&operation.Wait, operation.MCP, args, &in); err != nil {
			return nil, explain(&operation.Wait, err)
		}
		*in.Timeout = max(1, min(*in.Timeout, operation.Duration(s.o.Patience/10*9)))
		if in.Handle == "" {
			return s.call(ctx, &operation.Wait, &in)
		}
		if len(in.Agents) > 0 || in.For != "" {
			return nil, fault.New(fault.InvalidField, "wait: a handle goes alone").WithHint("leave out agents and for")
		}
		p, err := s.handles.find(c, in.Handle)
		if err != nil {
			return nil, err
		}
		return s.await(ctx, p, time.Duration(*in.Timeout))
	}
	return t
}

// Pending is the answer of a call that continues.
type Pending struct {
	Pending bool   `json:"pending"` // true
	Handle  string `json:"handle"`  // for wait
	Tool    string `json:"tool"`    // whose answer it will be
}

// How many calls that went on are kept, and for how long after they ended.
const (
	maxHandles = 1024
	handleTime = time.Hour
)

// handles are the calls that took too long.
type handles struct {
	now func() time.Time

	mu   sync.Mutex
	open map[string]*pending // guarded by mu
}

// pending is one of them.
type pending struct {
	caller Caller
	tool   string
	handle string // empty: it did not take too long
	done   chan struct{}
	out    json.RawMessage // after done
	err    error
	ended  time.Time // guarded by handles.mu; zero: it has not
}

// add keeps a call, and drops those that ended long ago or, where there are too many, the
// one that ended first.
func (h *handles) add(p *pending) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[string]*pending{}
	}
	oldest, at := "", time.Time{}
	for key, o := range h.open {
		switch {
		case o.ended.IsZero():
		case h.now().Sub(o.ended) > handleTime:
			delete(h.open, key)
		case oldest == "" || o.ended.Before(at):
			oldest, at = key, o.ended
		}
	}
	if len(h.open) >= maxHandles {
		if oldest == "" {
			return fault.New(fault.Conflict, "%d calls are already running", len(h.open)).WithHint("wait for some of them")
		}
		delete(h.open, oldest)
	}
	p.handle = "call-" + rand.Text()[:16]
	h.open[p.handle] = p
	return nil
}

func (h *handles) find(c Caller, key string) (*pending, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.open[key]
	if p == nil || p.caller != c {
		return nil, fault.New(fault.NotFound, "there is no call %.40q", key).
			WithHint("handles end with their process; ps and log show the result")
	}
	return p, nil
}

// finish keeps what came of a call.
func (h *handles) finish(p *pending, out json.RawMessage, err error) {
	h.mu.Lock()
	p.ended = h.now()
	h.mu.Unlock()
	p.out, p.err = out, err
	close(p.done)
}

// within runs a call; one that may be long becomes a handle when it is.
func (s *Server) within(ctx context.Context, c Caller, t tool, args json.RawMessage) (json.RawMessage, error) {
	if !t.long {
		ctx, cancel := context.WithTimeout(ctx, s.o.Patience)
		defer cancel()
		return t.run(ctx, s, c, args)
	}
	p := &pending{caller: c, tool: t.name, done: make(chan struct{})}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(s.life, cancel)
	go func() {
		defer cancel()
		defer stop()
		out, err := t.run(work, s, c, args)
		s.handles.finish(p, out, err)
	}()
	out, err := s.await(ctx, p, s.o.Patience)
	if err != nil && ctx.Err() != nil && t.reads {
		cancel() // no client is left to ask for it
	}
	return out, err
}

// await returns the result of a call, or its handle.
func (s *Server) await(ctx context.Context, p *pending, most time.Duration) (json.RawMessage, error) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-p.done:
		return p.out, p.err
	case <-ctx.Done():
		return nil, llm.Ended(ctx)
	case <-late.C:
	}
	if p.handle == "" {
		if err := s.handles.add(p); err != nil {
			return nil, err
		}
	}
	return public.Marshal(Pending{true, p.handle, p.tool})
}
