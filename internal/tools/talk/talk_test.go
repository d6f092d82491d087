package talk

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// person answers as a test says.
type person func(permit.Question) (permit.Verdict, error)

func (p person) Ask(_ context.Context, q permit.Question) (permit.Verdict, error) { return p(q) }

func run(t *testing.T, asker permit.Asker, name string, args any) tool.Answer {
	t.Helper()
	raw := testkit.Must(json.Marshal(args))(t)
	found, refused, ok := New(&permit.Policy{Ask: asker}).Find(llm.NewCall("c1", name, string(raw)))
	if !ok {
		return refused
	}
	a := testkit.Must(found.Run(t.Context(), tool.Call{ID: "c1", Args: found.Args}))(t)
	return a
}

func TestQuestionsAreAnswered(t *testing.T) {
	by := history.Actor{Who: "ada", Face: history.Terminal}
	question := map[string]any{"question": "Which?\nOne line of it is not enough.", "choices": []string{"this", "that"}}
	for name, c := range map[string]struct {
		says permit.Verdict
		want string
	}{
		"a choice":            {permit.Verdict{Choice: "2", By: by}, "The user chose: that"},
		"words":               {permit.Verdict{Choice: permit.Because, Words: "neither", By: by}, "The user says: neither"},
		"nothing":             {permit.Verdict{Choice: permit.Refuse, By: by}, "The user gave no answer"},
		"what is not offered": {permit.Verdict{Choice: "3", By: by}, "The user gave no answer"},
		"a permission":        {permit.Verdict{Choice: permit.Once, By: by}, "The user gave no answer"},
	} {
		a := run(t, person(func(q permit.Question) (permit.Verdict, error) {
			if q.Says != "Which?\nOne line of it is not enough." || len(q.Options()) != 4 || q.CallID != "c1" || q.Options()[0].Choice != permit.Refuse {
				t.Errorf("%+v", q)
			}
			return c.says, nil
		}), "ask", question)
		if !strings.HasPrefix(a.Text, c.want) || a.IsError || a.By == nil || *a.By != by {
			t.Errorf("%s: %+v", name, a)
		}
	}
	nobody := "No person is here to answer"
	if a := run(t, nil, "ask", question); !strings.HasPrefix(a.Text, nobody) || a.By != nil {
		t.Error(a)
	}
	late := person(func(permit.Question) (permit.Verdict, error) {
		return permit.Verdict{}, fault.New(fault.TimedOut, "nobody answered")
	})
	if a := run(t, late, "ask", question); !strings.HasPrefix(a.Text, nobody) {
		t.Error(a)
	}
	asked := person(func(permit.Question) (permit.Verdict, error) { t.Error("asked"); return permit.Verdict{}, nil })
	for _, args := range []any{map[string]any{}, map[string]any{"question": ""}, map[string]any{"question": "?", "choices": []string{"1", "2", "3", "4", "5"}}, map[string]any{"question": "?", "choices": []string{""}}} {
		if a := run(t, asked, "ask", args); !a.IsError {
			t.Errorf("%v: %+v", args, a)
		}
	}
}

func TestPlansAreShown(t *testing.T) {
	a := run(t, nil, "plan", map[string]any{"steps": []map[string]string{
		{"step": "look\x1b[31m", "state": "done"}, {"step": "build\nit", "state": "doing"}, {"step": "ship", "state": "open"}, {"step": "wait", "state": "dropped"}}})
	if a.IsError || a.Text != "1 of 3 done; now: build it." || a.Show != "☑ look␛[31m\n▶ build it\n☐ ship\n☒ wait" {
		t.Errorf("%q %q", a.Text, a.Show)
	}
	many := make([]map[string]string, tool.MaxPlanSteps+1)
	for i := range many {
		many[i] = map[string]string{"step": "x", "state": "open"}
	}
	for _, steps := range []any{[]string{}, many, []map[string]string{{"step": "x", "state": "perhaps"}}, "x"} {
		if a := run(t, nil, "plan", map[string]any{"steps": steps}); !a.IsError {
			t.Errorf("%v: %+v", steps, a)
		}
	}
}
