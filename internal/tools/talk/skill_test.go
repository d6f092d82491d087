package talk

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// plain is a tool that says its name.
type plain string

func (p plain) Spec() tool.Spec {
	s := tool.Spec{Name: string(p)}
	if p == "bash" {
		s.Subject = func(args json.RawMessage) string {
			var a struct{ Command string }
			_ = json.Unmarshal(args, &a)
			return a.Command
		}
	}
	return s
}

func (p plain) Run(context.Context, tool.Call) (tool.Answer, error) {
	return tool.Answer{Text: "ran"}, nil
}

func names(b tool.Box) string {
	var out []string
	for _, t := range b {
		out = append(out, t.Spec().Name)
	}
	return strings.Join(out, " ")
}

func runSkill(t *testing.T, one tool.Tool, args string) tool.Answer {
	t.Helper()
	a := testkit.Must(one.Run(t.Context(), tool.Call{Args: json.RawMessage(args)}))(t)
	return a
}

var all = tool.Box{plain("read"), plain("write"), plain("bash"), plain("fork"), plain("files__get"), plain("web__get"), plain("exit")}

func TestASkillTakesToolsAwayUntilTheTurnEnds(t *testing.T) {
	s := NewSkill([]kit.Skill{{Name: "free", Body: "Do as you like."}, {Name: "git", Body: "Use git.", Allowed: []string{"Read", "Bash(git:*)", "mcp__files__get"}}})
	box := append(slices.Clone(all), s)
	if a := runSkill(t, s, `{"name":"gti"}`); !a.IsError || !strings.Contains(a.Text, `Did you mean "git"?`) {
		t.Errorf("%+v", a)
	}
	runSkill(t, s, `{"name":"free"}`)
	if got := names(box.Open()); got != names(box) {
		t.Errorf("after a free one: %s", got)
	}
	if a := runSkill(t, s, `{"name":"git"}`); !strings.Contains(a.Text, "Use git.") || !strings.Contains(a.Text, "only the tools that the skill allows: Read, Bash(git:*)") {
		t.Errorf("%+v", a)
	}
	open := box.Open()
	if got := names(open); got != "read bash files__get exit skill" {
		t.Errorf("left are %s", got)
	}
	if a := runSkill(t, open[1], `{"command":"git status"}`); a.Text != "ran" {
		t.Errorf("%+v", a)
	}
	if a := runSkill(t, open[1], `{"command":"rm -rf x"}`); !a.IsError || !strings.Contains(a.Text, "bash(git *)") {
		t.Errorf("%+v", a)
	}
	if now := s.(tool.Limiter).Limits(); len(now) != 1 || now[0].By != "skill git" {
		t.Errorf("whoever is born now gets %v", now)
	}
	s.(tool.Memory).Recall(slices.Values([]json.RawMessage{}))
	if now := s.(tool.Limiter).Limits(); len(now) != 0 {
		t.Errorf("in the next turn: %v", now)
	}
	if got := names(box.Open()); got != names(box) {
		t.Errorf("in the next turn: %s", got)
	}
}

func TestLimitsTakeAwayEach(t *testing.T) {
	reads := history.Limit{By: "agent reviewer", Tools: []string{"Read", "web", "Task"}}
	for _, c := range []struct {
		limits []history.Limit
		want   string
	}{
		{nil, names(all)},
		{[]history.Limit{reads}, "read fork web__get exit"},
		{[]history.Limit{reads, {By: "agent writer", Tools: []string{"Write", "Read"}}}, "read exit"},
		{[]history.Limit{reads, {By: "agent all", Tools: []string{"*"}}}, "read fork web__get exit"},
		{[]history.Limit{{By: "agent none", Tools: []string{}}}, "exit"},
	} {
		if got := names(append(slices.Clone(all), NewSkill(nil, c.limits...)).Open()); got != c.want {
			t.Errorf("%v: %s, not %s", c.limits, got, c.want)
		}
	}
}

// Histories of earlier versions have the tools of a role in a memo.
func TestARoleOfAnOldHistory(t *testing.T) {
	s := NewSkill(nil)
	box := append(slices.Clone(all), s)
	s.(tool.Memory).Recall(slices.Values([]json.RawMessage{json.RawMessage(`{"x":1}`), json.RawMessage(`{"role":{"name":"r","tools":["Read","web"]}}`),
		json.RawMessage(`{"role":{"name":"all","tools":null}}`)}))
	if got := names(box.Open()); got != "read web__get exit" {
		t.Errorf("with it: %s", got)
	}
}

func TestAListAllowsCallsOfOthers(t *testing.T) {
	bash := plain("bash").Spec()
	for _, c := range []struct {
		list []string
		spec tool.Spec
		args string
		want bool
	}{
		{[]string{"Read"}, bash, `{"command":"ls"}`, false},
		{[]string{"Bash"}, bash, `{"command":"ls"}`, true},
		{[]string{"Bash(git:*)"}, bash, `{"command":"git log"}`, true},
		{[]string{"Bash(git:*)"}, bash, `{"command":"git log; rm x"}`, false},
		{[]string{"Read"}, plain("wait").Spec(), `{}`, true},
	} {
		if got := Allows(c.list, c.spec, json.RawMessage(c.args)); got != c.want {
			t.Errorf("%v %s %s: %v", c.list, c.spec.Name, c.args, got)
		}
	}
}

func TestTheListFits(t *testing.T) {
	var skills []kit.Skill
	for i := range 100 {
		skills = append(skills, kit.Skill{Name: "skill-" + string(rune('a'+i%26)), Description: strings.Repeat("when it is needed ", 20)})
	}
	for _, most := range []int{100, 2000, 8000, 1 << 20} {
		if got := List(skills, most); len(got) > most+10 || !strings.HasPrefix(got, "Skills:") {
			t.Errorf("%d: %d bytes", most, len(got))
		}
	}
	if List(nil, 1000) != "" {
		t.Error("no skills are listed")
	}
}

func TestAListNamesToolsAsOtherProgramsDo(t *testing.T) {
	for given, ours := range map[string]string{"TodoWrite": "plan", "todowrite": "plan", "KillBash": "job", "Agent": "fork", "update_plan": "plan"} {
		if !Allows([]string{given}, tool.Spec{Name: ours}, nil) {
			t.Errorf("allowed-tools: %s does not allow %s", given, ours)
		}
	}
}

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
