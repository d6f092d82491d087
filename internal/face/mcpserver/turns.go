package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
)

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
