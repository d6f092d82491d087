package app_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/tools/local"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// asksFor answers questions with a function.
type asksFor func(permit.Question) permit.Verdict

func (f asksFor) Ask(_ context.Context, q permit.Question) (permit.Verdict, error) { return f(q), nil }

// The calls of all scripts, each a task of one agent with a rule for every call, are decided: at worst a task has
// one question more on average because of foreign content.
func TestQuestionsThatForeignContentAdds(t *testing.T) {
	ctx := t.Context()
	scripts := testkit.Must(filepath.Glob("testdata/script/*.txtar"))(t)
	made := regexp.MustCompile(`(?m)^call \S+ (\S+) (\{.*\})$`)
	leaving := regexp.MustCompile(`(^|[ '"])(~|\.\.)/`)
	specs := map[string]tool.Spec{}
	own := testkit.Must(local.New(local.Options{Root: testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)}))(t)
	for _, one := range own.Tools() {
		specs[tool.NameOf(one)] = one.Spec()
	}
	tasks, calls, marked, asked := 0, 0, 0, 0
	for _, script := range scripts {
		found := made.FindAllStringSubmatch(string(testkit.Must(os.ReadFile(script))(t)), -1)
		if len(found) == 0 {
			continue
		}
		tasks++
		s := testkit.Must(sqlite.Open(ctx, filepath.Join(t.TempDir(), "x.db"), sqlite.Options{}))(t)
		zero := testkit.Must(agent.Find(ctx, s, "0"))(t)
		var rules []permit.Rule
		p := &permit.Policy{Log: s, Mode: permit.Box, Confinable: func() error { return nil }, Given: func(context.Context, id.Agent) []permit.Rule { return rules },
			Ask: asksFor(func(q permit.Question) permit.Verdict {
				if q.Again {
					asked++
				}
				return permit.Verdict{Choice: permit.ForAgent}
			})}
		var sources []string
		for i, call := range found {
			name, args := call[1], json.RawMessage(call[2])
			spec, known := specs[name]
			server, _, remote := strings.Cut(name, "__")
			if remote {
				spec, known = tool.Spec{Name: name, Access: tool.Servers}, true
			}
			if !known || !json.Valid(args) {
				continue
			}
			calls++
			subject, from := "", ""
			if spec.Subject != nil {
				subject = spec.Subject(args)
			}
			rule := name
			switch {
			case remote:
				rule, from = "mcp("+server+")", "mcp:"+server
			case name == "fetch":
				rule, from = "fetch("+subject+")", subject
			case spec.Outside != nil && spec.Outside(args) != "":
				rule = "bash!(" + regexp.MustCompile(`[\\*()]`).ReplaceAllString(subject, `\$0`) + ")"
			case name == "bash" && leaving.MatchString(subject):
				from = "file " + subject
			}
			if r, err := permit.Parse(rule); err == nil && !slices.Contains(rules, r) {
				rules = append(rules, r)
			}
			p.Decide(ctx, spec, tool.Call{Agent: zero.ID, ID: string(rune(i)), Name: name, Args: args}) // a refusal is none of foreign content
			if from != "" && !slices.Contains(sources, from) {
				testkit.Must(s.Append(ctx, zero.ID, agent.Passing(), history.NewForeign(from)))(t)
				sources = append(sources, from)
			}
		}
		testkit.OK(t, s.Close())
		if len(sources) > 0 {
			marked++
		}
	}
	t.Logf("%d tasks with %d calls; %d read foreign content; %d extra questions, %.2f for each task", tasks, calls, marked, asked, float64(asked)/float64(tasks))
	if marked == 0 || asked == 0 || asked > tasks {
		t.Errorf("%d tasks, %d marked, %d questions", tasks, marked, asked)
	}
}
