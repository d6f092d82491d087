package permit

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func TestRulesPermitServersAndTheirTools(t *testing.T) {
	for _, c := range []struct {
		rule, name string
		want       bool
	}{
		{"mcp", "files__read", true},
		{"mcp(files)", "files__read", true},
		{"mcp(files)", "files2__read", false},
		{"mcp(files__read)", "files__read", true},
		{"mcp(files__read)", "files__read_all", false},
		{"mcp(file)", "files__read", false},
		{"bash", "files__read", false},
	} {
		r := testkit.Must(Parse(c.rule))(t)
		if got := Permits([]Rule{r}, servers, c.name); got != c.want {
			t.Errorf("%s permits %s: %v", c.rule, c.name, got)
		}
		if r.String() != c.rule {
			t.Errorf("%s is written %s", c.rule, r)
		}
		if !c.want {
			testkit.Attack(t, "lines", c.name+" under "+c.rule)
		}
	}
	for _, bad := range []string{"mcp(*)", "mcp(a b)", "mcp()", "mcp(a/b)", "mcp!(a)"} {
		if r, err := Parse(bad); err == nil {
			t.Errorf("%s is %+v", bad, r)
		}
	}
}

func TestToolsOfServersAreAskedFor(t *testing.T) {
	spec := tool.Spec{Name: "files__write", Access: tool.Servers, Schema: json.RawMessage("{}")}
	call := tool.Call{Name: "files__write", Args: json.RawMessage(`{"path": "a"}`)}
	for _, mode := range []Mode{Ask, Edits, Box} {
		p := &Policy{Mode: mode, Confinable: func() error { return nil }}
		_, _, err := p.Decide(context.Background(), spec, call)
		f, _ := fault.Of(err)
		if !fault.Is(err, fault.Denied) || !strings.Contains(f.Hint, "--allow 'mcp(files__write)'") {
			t.Errorf("%s: %v", mode, err)
		}
		p.Given = given(t, "mcp(files)")
		if grant, _, err := p.Decide(context.Background(), spec, call); err != nil || grant != tool.Free {
			t.Errorf("%s with a rule: %v %v", mode, grant, err)
		}
	}
	p := &Policy{Mode: ReadOnly}
	p.Given = given(t, "mcp(files)")
	if _, _, err := p.Decide(context.Background(), spec, call); !fault.Is(err, fault.Denied) {
		t.Errorf("read-only: %v", err)
	}
}

// A person is shown what a call would do to its last argument, where the subject of the call does not say it.
func TestAQuestionHasTheWholeCall(t *testing.T) {
	summary := func(args json.RawMessage) string { return "sum of " + string(args) }
	for _, c := range []struct {
		access     tool.Access
		summary    func(json.RawMessage) string
		args, want string
	}{
		{tool.Servers, nil, `{"a": [1]}`, "x {\n  \"a\": [\n    1\n  ]\n}"},
		{tool.Servers, summary, `{"a":`, `x {"a":`},
		{tool.Servers, summary, ``, "sum of "},
		{tool.Servers, summary, ` {} `, "sum of  {} "},
		{tool.Servers, nil, `{}`, "x {}"},
		{tool.Fetches, nil, `"host"`, `x "host"`},
		{tool.Commands, nil, `"rm y"`, ""},
		{tool.Commands, nil, `7`, "x 7"},
	} {
		s := spec("x", c.access)
		s.Summary = c.summary
		p := &Policy{Ask: asker(func(_ context.Context, q Question) (Verdict, error) {
			if q.Whole != c.want {
				t.Errorf("%s: %q, want %q", c.args, q.Whole, c.want)
			}
			return Verdict{Choice: Once}, nil
		})}
		if _, _, err := p.Decide(t.Context(), s, tool.Call{Agent: "a", Args: json.RawMessage(c.args)}); err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

// A rule that is bound to a digest holds for that digest; one that is not, for tools whose server is proven,
// or if it was given on the command line.
func TestRulesAreBoundToWhatTheyWereGivenFor(t *testing.T) {
	spec := func(unproven string) tool.Spec {
		return tool.Spec{Name: "files__write", Access: tool.Servers, Schema: json.RawMessage("{}"), Digest: "aa11", Unproven: unproven}
	}
	call := tool.Call{Name: "files__write", Args: json.RawMessage(`{}`)}
	for _, c := range []struct {
		rule, unproven    string
		settings, command bool
	}{
		{"mcp(files__write@aa11)", "", true, true},
		{"mcp(files__write@aa11)", "it changed", true, true},
		{"mcp(files__write@bb22)", "", false, false},
		{"mcp(files__write)", "", true, true},
		{"mcp(files)", "", true, true},
		{"mcp(files__write)", "it changed", false, true},
		{"mcp(files)", "it changed", false, true},
		{"mcp", "it changed", false, true},
		{"mcp(files__read@aa11)", "", false, false},
		{"mcp(files@aa11)", "", false, false},
	} {
		rules := testkit.Must(ParseAll(c.rule))(t)
		inSettings := &Policy{Settings: func() ([]Rule, Mode, error) { return rules, Ask, nil }}
		onCommandLine := &Policy{Given: given(t, c.rule)}
		for p, want := range map[*Policy]bool{inSettings: c.settings, onCommandLine: c.command} {
			_, _, err := p.Decide(t.Context(), spec(c.unproven), call)
			if (err == nil) != want {
				t.Errorf("%s (%q), on the command line %v: %v", c.rule, c.unproven, p == onCommandLine, err)
			}
			if err != nil && c.unproven != "" && !strings.Contains(err.Error(), "it changed") {
				t.Errorf("%s: it does not say why: %v", c.rule, err)
			}
		}
		if !c.settings {
			testkit.Attack(t, "tools", "files__write@aa11 under "+c.rule+" "+c.unproven)
		}
	}
	for _, bad := range []string{"mcp(a__b@)", "mcp(a__b@xyz)", "mcp(a__b@aa@bb)"} {
		if r, err := Parse(bad); err == nil {
			t.Errorf("%s is %+v", bad, r)
		}
	}
	q := Question{Tool: servers, Subject: "files__write", Rule: Rule{Tool: servers, Pattern: "files__write@aa11"}}
	for rule, ok := range map[string]bool{"mcp(files__write@aa11)": true, "mcp(files__write)": false, "mcp(files__write@bb22)": false, "mcp(files)": false, "mcp": false} {
		r, _ := Parse(rule)
		if err := q.CheckSaved(r); (err == nil) != ok {
			t.Errorf("%s is saved: %v", rule, err)
		}
	}
}
