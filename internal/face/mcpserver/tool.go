package mcpserver

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
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
	decodes     bool // run checks the arguments itself
	run         func(context.Context, *Server, Caller, json.RawMessage) (json.RawMessage, error)
}

// tools are those of a caller, in the order in which they are told: an agent can end itself, and has no
// use for a ledger of others' sub-agents.
func tools(c Caller) []tool {
	own := trackTool()
	if c != "" {
		own = exitTool()
	}
	return []tool{operationTool(&operation.Ps), operationTool(&operation.Fork), promptTool(), operationTool(&operation.Send), operationTool(&operation.Mail), operationTool(&operation.Read), waitTool(), operationTool(&operation.Log), operationTool(&operation.Kill), own, runTool(), verifyTool()}
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
		args, err := t.taken(r.Params.Arguments)
		if err == nil {
			ctx, err = s.admit(ctx, c)
		}
		var out json.RawMessage
		if err == nil {
			out, err = s.within(ctx, c, t, args)
		}
		if err != nil {
			return failed(err), nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(out)}}, StructuredContent: out}, nil
	}
}

// taken are the arguments as they were meant, or what is wrong with them.
func (t tool) taken(args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if t.decodes {
		return args, nil
	}
	taken, unknown := t.args.Take(args)
	if err := t.args.Check(taken); err != nil {
		return nil, fault.New(fault.InvalidField, "%s: %w", t.name, err).WithHint("nothing was done; look at the tool's input schema")
	}
	if len(unknown) > 0 {
		return nil, fault.New(fault.InvalidField, "%s has no argument %s", t.name, unknown[0].Path()).WithHint("nothing was done; look at the tool's input schema")
	}
	return taken, nil
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

// decode reads arguments that were checked.
func decode[T any](args json.RawMessage) (out T, err error) {
	if err = json.Unmarshal(args, &out); err != nil {
		err = fault.New(fault.InvalidField, "the arguments cannot be read: %w", err)
	}
	return out, err
}

// encode is an answer of ours.
func encode(v any) (json.RawMessage, error) { return public.Marshal(v) }

// command is a command line, made so that no argument can be taken for a flag.
type command struct {
	words []string // the command, and flags of ours
	rest  []string // arguments
}

func (c *command) flag(name, value string) {
	if value != "" {
		c.words = append(c.words, "--"+name+"="+value)
	}
}

func (c command) line() []string {
	return append(append(c.words, "--json", "--"), c.rest...)
}

// ask carries out a command and gives what it prints.
func (s *Server) ask(ctx context.Context, c command) (json.RawMessage, error) {
	said, err := s.o.Command(ctx, c.line()...)
	if err != nil {
		return nil, err
	}
	out := json.RawMessage(strings.TrimSpace(said))
	if !json.Valid(out) {
		return nil, fault.New(fault.Failed, "%s answered with invalid JSON", c.words[0])
	}
	return out, nil
}
