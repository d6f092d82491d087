package mcpserver

import (
	"context"
	"encoding/json"
	"reflect"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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

// encode is an answer of ours.
func encode(v any) (json.RawMessage, error) { return public.Marshal(v) }
