package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/operation"
)

func operationTool(o operation.Operation) tool {
	d := o.Describe()
	about := d.Model
	if about == "" {
		about = d.Summary
	}
	name, _, _ := strings.Cut(d.Name, " ")
	return tool{name: name, about: operation.Expand(o, operation.MCP, about), long: d.Long, reads: d.Effect == operation.Reads, destroys: d.Effect == operation.Destroys,
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
