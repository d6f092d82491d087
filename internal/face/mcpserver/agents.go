package mcpserver

import (
	"context"
	"encoding/json"

	"ramet/internal/base/id"
	"ramet/internal/base/shape"
)

func ref(about string) *shape.Shape {
	return shape.Text(1).With(about + "; 0, a name, a uuid or the beginning of one")
}

// Exited is the result of exit.
type Exited struct {
	Exited id.Agent `json:"exited"`
}

func exitTool() tool {
	return tool{name: "exit", about: "End yourself for good; `result` is mailed to your parent. Not needed to report. Call it alone.", destroys: true,
		args:    shape.Object(shape.May("result", shape.Text(0).With("your last words"))),
		answers: []any{Exited{}},
		run: func(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
			a, err := decode[struct{ Result string }](args)
			if err != nil {
				return nil, err
			}
			end, err := s.o.Workspace.Turns().Leave(ctx, a.Result)
			if err != nil {
				return nil, err
			}
			go end() // with it ends whoever waits for the answer
			return encode(Exited{c})
		}}
}
