package permit

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/tool"
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
		r, err := Parse(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		if got := permits([]Rule{r}, servers, c.name); got != c.want {
			t.Errorf("%s permits %s: %v", c.rule, c.name, got)
		}
		if r.String() != c.rule {
			t.Errorf("%s is written %s", c.rule, r)
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
		p.Rules, _ = ParseAll("mcp(files)")
		if grant, _, err := p.Decide(context.Background(), spec, call); err != nil || grant != tool.Free {
			t.Errorf("%s with a rule: %v %v", mode, grant, err)
		}
	}
	p := &Policy{Mode: ReadOnly}
	p.Rules, _ = ParseAll("mcp(files)")
	if _, _, err := p.Decide(context.Background(), spec, call); !fault.Is(err, fault.Denied) {
		t.Errorf("read-only: %v", err)
	}
}
