package tool

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ramet/internal/base/shape"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

type stub struct{ spec Spec }

func (s stub) Spec() Spec                                { return s.spec }
func (s stub) Run(context.Context, Call) (Answer, error) { return Answer{Text: "ran"}, nil }

var box = Box{
	stub{Spec{Name: "read", Description: "\nRead a <file>.\n\n", Access: Reads,
		Args: shape.Object(shape.Must("path", shape.Text(1).With("the file")), shape.May("lines", shape.Integer(1)))}},
	stub{Spec{Name: "plan", Access: Processes, Untold: true, Args: shape.Object(shape.Must("steps", shape.List(shape.Object(
		shape.Must("step", shape.Text(1)), shape.Must("state", shape.Enum("open", "done"))))), shape.May("quiet", shape.Bool()))}},
	stub{Spec{Name: "bash", Description: "Run.", Access: Commands, Args: shape.Object(shape.Must("command", shape.Text(1)))}},
}

func TestOfferTellsTheModelOfEachTool(t *testing.T) {
	offer := box.Offer()
	if len(offer) != 2 || offer[0].Name != "read" || offer[1].Name != "bash" {
		t.Fatal(offer)
	}
	if offer[0].Description != "Read a <file>." {
		t.Errorf("%q", offer[0].Description)
	}
	var schema struct {
		Type       string
		Properties map[string]struct{ Type, Description string }
		Required   []string
	}
	testkit.OK(t, json.Unmarshal(offer[0].Schema, &schema))
	if schema.Type != "object" || schema.Properties["path"].Description != "the file" || schema.Properties["lines"].Type != "integer" || len(schema.Required) != 1 {
		t.Errorf("%+v", schema)
	}
	// What is offered is what is sent: the same bytes each time, or caches miss.
	for range 20 {
		if again := box.Offer(); string(again[0].Schema) != string(offer[0].Schema) {
			t.Fatal(string(again[0].Schema))
		}
	}
	testkit.OK(t, (llm.Request{Model: "x", Messages: []llm.Message{llm.Say(llm.User, "hi")}, Tools: offer}).Check())
	if none := (Box{}).Offer(); len(none) != 0 {
		t.Error(none)
	}
}

func TestFindLetsOnlyGoodCallsPass(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"read", `{"path":"a"}`, ""},
		{"read", ` {"lines": 3, "path": "a"} `, ""},
		{"reed", `{"path":"a"}`, `There is no tool "reed". Did you mean "read"? The tools are: read, bash.`},
		{"", `{}`, `There is no tool "".`},
		{"Read", `{"path":"a"}`, `Did you mean "read"?`},
		{strings.Repeat("x", 500), `{}`, `The tools are: read, bash.`},
		{"read", `{"path":"a`, "The arguments are no complete JSON object. Nothing was run"},
		{"read", `[1]`, "The arguments are no complete JSON object."},
		{"read", `{}`, "The arguments of read are wrong:"},
		{"read", ``, "The arguments of read are wrong:"},
		{"read", `{"path":""}`, "path: must not be empty. Fields"},
		{"read", `{"path":[7]}`, "path: must be a string"},
		{"read", `{"path":"a","lines":0}`, "lines: must be from 1"},
		{"read", `{"file_path":"a"}`, "wrong: path: is missing. file_path is not a field of read (did you mean path?). Fields: path (needed), lines. Nothing was run."},
		{"read", `{"path":"a","lines":"x"}`, ": lines: must be an integer"},
		{"bash", `{"path":"a"}`, "The arguments of bash are wrong:"},
		{"plan", `{"steps":[{"step":"a","state":"open"},{"step":"b","state":"pending"}]}`,
			`plan are wrong: steps[1].state: must be one of open, done, not "pending". Fields: steps (needed; each with step (needed), state (needed; open | done)), quiet. Nothing was run.`},
		{"plan", `{"steps":[{"step":"a","status":"open"}]}`, "steps[0].state: is missing. steps[0].status is not a field of plan (did you mean state?). Fields: steps"},
		{"plan", `{"steps":["a"]}`, "steps[0]: must be an object"},
		{"plan", `{"steps":[{"step":"a","state":"open"}],"quit":true}`, "plan are wrong. quit is not a field of plan (did you mean quiet?). Fields"},
	} {
		found, answer, ok := box.Find(llm.NewCall("id", c.name, c.args))
		if ok != (c.want == "") || ok != (found.Tool != nil) {
			t.Errorf("%s %s: found %v, %v", c.name, c.args, found, answer)
			continue
		}
		if ok && (found.Spec().Name != c.name || !reflect.DeepEqual(answer, Answer{}) || found.Note != "") {
			t.Errorf("%s: %v %+v", c.name, found, answer)
		}
		if !ok && (!answer.IsError || !strings.Contains(answer.Text, c.want) || len(answer.Text) > 400) {
			t.Errorf("%s %s: %q, want %q", c.name, c.args, answer.Text, c.want)
		}
	}
}

func TestFindTakesWhatIsPlain(t *testing.T) {
	for args, want := range map[string][2]string{
		`{"path":7}`: {`{"path":"7"}`, ""},
		`{"steps":{"step":"a","state":"open","why":"x"},"explanation":"x"}`: {`{"steps":[{"step":"a","state":"open"}]}`,
			"[note: steps[0].why is not a field of plan, explanation is not a field of plan and was ignored]"},
		`{"path":"a","lines":"3"}`:           {`{"path":"a","lines":3}`, ""},
		`{"path":"a","lines":null}`:          {`{"path":"a"}`, ""},
		`{"path":"a","description":"why"}`:   {`{"path":"a"}`, "[note: description is not a field of read and was ignored]"},
		`{"path":"a","max_lines":1,"x\n":0}`: {`{"path":"a"}`, "[note: max_lines is not a field of read (did you mean lines?), x is not a field of read and was ignored]"},
	} {
		found, answer, ok := box.Find(llm.NewCall("id", map[bool]string{false: "read", true: "plan"}[strings.Contains(args, "steps")], args))
		if !ok || string(found.Args) != want[0] || found.Note != want[1] {
			t.Errorf("%s: %s %q %+v, want %q", args, found.Args, found.Note, answer, want)
		}
	}
}

func TestAnEmptyBoxFindsNothing(t *testing.T) {
	if _, answer, ok := (Box{}).Find(llm.NewCall("id", "read", "{}")); ok || !answer.IsError {
		t.Error(answer, ok)
	}
}

// Whatever a model sends is refused or has the shape.
func FuzzFind(f *testing.F) {
	for _, s := range []string{`{"path":"a"}`, `{"path":"a","lines":1}`, `{`, ``, `null`, `{"path":"\u0000"}`, `{"path":"a","path":1}`} {
		f.Add("read", s)
	}
	f.Fuzz(func(t *testing.T, name, args string) {
		call := llm.NewCall("id", name, args)
		found, answer, ok := box.Find(call)
		if !ok {
			if !answer.IsError || answer.Text == "" || found.Tool != nil {
				t.Errorf("%+v %v", answer, found)
			}
			return
		}
		if found.Spec().Name != name || found.Spec().Args.Check(found.Args) != nil || !json.Valid(found.Args) {
			t.Errorf("%s passed with %s", name, args)
		}
	})
}
