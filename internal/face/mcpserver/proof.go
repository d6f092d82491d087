package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/operation"
)

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
	text, err := encode(own)
	if err != nil {
		return nil, err
	}
	return operationTool(o).run(ctx, s, "", text)
}

func (s *Server) events(ctx context.Context, runID string, after, limit int64) (json.RawMessage, error) {
	return s.call(ctx, &operation.ReadRunEvents, &operation.RunEventsInput{ID: operation.RunID(runID), After: after, Limit: &limit})
}
