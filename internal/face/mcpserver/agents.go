package mcpserver

import (
	"context"
	"encoding/json"
	"strconv"

	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/operation/public"
)

// ref is an argument that names an agent.
func ref(about string) *shape.Shape {
	return shape.Text(1).With(about + "; 0, a name, a uuid or the beginning of one")
}

// Exited is what exit answers.
type Exited struct {
	Exited id.Agent `json:"exited"`
}

func exitTool() tool {
	return tool{name: "exit", about: "End yourself for good; `result` goes to your parent as a letter. Not needed to report. Call it alone.", destroys: true,
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

// EntryList is what log answers.
type EntryList struct {
	Entries []public.Entry `json:"entries"`
}

// How many entries log shows.
const (
	fewEntries  = 20
	mostEntries = 200
)

func logTool() tool {
	return tool{name: "log", about: "Read the end of an agent's history: its context as a model sees it, or with own the entries that it stored itself, of every kind. For more, read the resource ramet://agents/{ref}/history.", reads: true,
		args: shape.Object(
			shape.May("agent", ref("whose; you, if you are an agent, else 0")),
			shape.May("limit", shape.Number(1, mostEntries).With("how many; 20")),
			shape.May("own", shape.Bool().With("what it stored itself, of every kind"))),
		answers: []any{EntryList{}},
		run: func(ctx context.Context, s *Server, c Caller, args json.RawMessage) (json.RawMessage, error) {
			a, err := decode[struct {
				Agent string
				Limit *float64
				Own   bool
			}](args)
			if err != nil {
				return nil, err
			}
			n := fewEntries
			if a.Limit != nil {
				n = int(*a.Limit)
			}
			if a.Agent == "" {
				a.Agent = box(c)
			}
			line := command{words: []string{"log", "--limit=" + strconv.Itoa(n)}, rest: []string{a.Agent}}
			line.yes("own", a.Own)
			return s.askLines(ctx, line, "entries")
		}}
}
