package permit

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

// After an agent took in foreign content, rules that leave the sandbox or reach the network ask again, once.
func TestRulesAskAgainAfterForeignContent(t *testing.T) {
	ctx := context.Background()
	s := testkit.Must(sqlite.Open(ctx, filepath.Join(t.TempDir(), "x.db"), sqlite.Options{}))(t)
	defer s.Close()
	zero := testkit.Must(agent.Find(ctx, s, "0"))(t)
	write := func(a id.Agent, drafts ...history.Draft) {
		t.Helper()
		testkit.Must(s.Append(ctx, a, agent.Passing(), drafts...))(t)
	}
	fork := func(from id.Agent) id.Agent {
		t.Helper()
		return testkit.Must(s.Fork(ctx, registry.Fork{Parent: from, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent()}}}))(t)[0].ID
	}
	before := fork(zero.ID)
	reader := fork(zero.ID)
	write(reader, history.NewForeign("example.com", "mcp:notes"))
	kid := fork(reader)
	knows := fork(zero.ID) // a person allowed a rule before it read anything
	write(knows, history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.PermitCommand, CallID: "c", Permission: &history.Permission{Choice: string(ForAgent), Rule: "bash!(make install)"}}},
		history.NewForeign("example.com"))

	out := spec("bash", tool.Commands)
	out.Outside = func(json.RawMessage) string { return "it must" }
	mcp := func(name string) tool.Spec { return tool.Spec{Name: name, Access: tool.Servers} }
	starts := spec("fork", tool.Processes)
	starts.Starts = func(json.RawMessage) string { return "claude" }
	rules := given(t, "bash!(make install)", "bash(ls *)", "fetch(*.example.com)", "fetch(example.com)", "net(a.com)", "mcp(notes)", "mcp(mail)", "fork(claude)", "write(x)")
	for name, c := range map[string]struct {
		of      id.Agent
		spec    tool.Spec
		subject string
		asks    string // the rule; empty: it runs
	}{
		"nothing was read":             {before, out, "make install", ""},
		"outside":                      {reader, out, "make install", "bash!(make install)"},
		"outside, of a child":          {kid, out, "make install", "bash!(make install)"},
		"a grant from before":          {knows, out, "make install", "bash!(make install)"},
		"confined":                     {reader, bash, "ls x", ""},
		"a file":                       {reader, spec("write", tool.Writes), "x", ""},
		"the host itself":              {reader, spec("fetch", tool.Fetches), "example.com", ""},
		"another host":                 {reader, spec("fetch", tool.Fetches), "docs.example.com", "fetch(*.example.com)"},
		"the server itself":            {reader, mcp("notes__find"), "", ""},
		"another server":               {reader, mcp("mail__send"), "", "mcp(mail)"},
		"a driver":                     {reader, starts, "", "fork(claude)"},
		"a connection of a command":    {reader, spec(Network, tool.Connects), "a.com:443", "net(a.com)"},
		"a connection, nothing read":   {before, spec(Network, tool.Connects), "a.com:443", ""},
		"a server, nothing was read":   {before, mcp("mail__send"), "", ""},
		"a driver, nothing was read":   {before, starts, "", ""},
		"another host, nothing  read":  {before, spec("fetch", tool.Fetches), "docs.example.com", ""},
		"the host itself, nothing yet": {before, spec("fetch", tool.Fetches), "example.com", ""},
	} {
		asked := 0
		var q Question
		p := &Policy{Log: s, Given: rules, Confinable: func() error { return nil }, Ask: asker(func(_ context.Context, of Question) (Verdict, error) {
			asked, q = asked+1, of
			return Verdict{Choice: ForAgent}, nil
		})}
		one := call(c.subject)
		one.Agent = c.of
		// Without a person it is refused, with the reason.
		alone := &Policy{Log: s, Given: rules, Confinable: p.Confinable}
		if _, record, err := alone.Decide(ctx, c.spec, one); (err == nil) != (c.asks == "") || err != nil && (record.By != history.ByNobody ||
			!strings.Contains(err.Error(), "this agent read example.com") || !strings.Contains(err.Error(), "the rule "+c.asks+" asks again; and no person can be asked")) {
			t.Errorf("%s, alone: %v", name, err)
		}
		if off := (&Policy{Log: s, Given: rules, Confinable: p.Confinable, Ignores: func() bool { return true }}); fails(off.Decide(ctx, c.spec, one)) {
			t.Errorf("%s: refused, although the setting is off", name)
		}
		_, record, err := p.Decide(ctx, c.spec, one)
		if err != nil || (asked == 1) != (c.asks != "") {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
			continue
		}
		if asked == 0 {
			continue
		}
		if !q.Again || q.Rule.String() != c.asks || !strings.Contains(q.Why, "read example.com") || q.Check(Verdict{Choice: ForProject}) == nil || !record.Foreign {
			t.Errorf("%s: %+v %+v", name, q, record)
		}
		// What was answered is not asked again, in another process neither.
		if _, again, err := p.Decide(ctx, c.spec, one); err != nil || asked != 1 || again.By != history.ByRule {
			t.Errorf("%s: asked again: %v %+v", name, err, again)
		}
		last := fork(c.of)
		write(last, history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.PermitCommand, CallID: "c", Permission: record}})
		one.Agent = last
		if fails(alone.Decide(ctx, c.spec, one)) {
			t.Errorf("%s: asked again after a restart", name)
		}
		testkit.Attack(t, "foreign", "a rule after content of another: "+name)
	}

	// Once is once, and a question that no rule spares says what was read, too.
	asked := 0
	p := &Policy{Log: s, Given: given(t, "bash!(make install)"), Confinable: func() error { return nil }, Ask: asker(func(_ context.Context, q Question) (Verdict, error) {
		if asked++; !strings.Contains(q.Why, "this agent read example.com, mcp:notes") {
			t.Errorf("%+v", q)
		}
		return Verdict{Choice: Once}, nil
	})}
	for _, line := range []string{"make install", "make install", "make other"} {
		one := call(line)
		one.Agent = reader
		if g, _, err := p.Decide(ctx, out, one); err != nil || g != tool.Free {
			t.Errorf("%s: %q %v", line, g, err)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

func fails(_ tool.Grant, _ *history.Permission, err error) bool { return err != nil }
