package permit

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func spec(name string, access tool.Access) tool.Spec {
	return tool.Spec{Name: name, Access: access, Subject: func(args json.RawMessage) string {
		var s string
		json.Unmarshal(args, &s)
		return s
	}}
}

func call(subject string) tool.Call {
	args, _ := json.Marshal(subject)
	return tool.Call{Agent: "a", Args: args}
}

// asker answers with a function.
type asker func(context.Context, Question) (Verdict, error)

func (f asker) Ask(ctx context.Context, q Question) (Verdict, error) { return f(ctx, q) }

func says(c Choice, words string) asker {
	return func(context.Context, Question) (Verdict, error) { return Verdict{Choice: c, Words: words}, nil }
}

var (
	bash  = spec("bash", tool.Commands)
	write = spec("write", tool.Writes)
)

func TestDecisions(t *testing.T) {
	there, missing := func() error { return nil }, func() error { return errors.New("no Landlock") }
	never := asker(func(context.Context, Question) (Verdict, error) { panic("asked") })
	for name, c := range map[string]struct {
		policy  *Policy
		spec    tool.Spec
		subject string
		want    tool.Grant
		refusal string
	}{
		"reads":                             {&Policy{}, spec("read", tool.Reads), "../x", tool.Free, ""},
		"processes":                         {&Policy{}, spec("fork", tool.Processes), "", tool.Free, ""},
		"a rule":                            {&Policy{Given: given(t, "bash(go test *)"), Confinable: there, Ask: never}, bash, "go test x", tool.Confine, ""},
		"a rule, edits":                     {&Policy{Given: given(t, "bash(go test *)"), Mode: Edits, Confinable: there, Ask: never}, bash, "go test x", tool.Confine, ""},
		"a rule, no sandbox":                {&Policy{Given: given(t, "bash(go test *)"), Confinable: missing}, bash, "go test x", "", "bash (go test x) was not permitted: there is no sandbox to run it in unasked: no Landlock; and no person can be asked: the user can permit it with --allow 'bash!(go test x)'"},
		"a rule, no sandbox, yes":           {&Policy{Given: given(t, "bash(go test *)"), Confinable: missing, Ask: says(Once, "")}, bash, "go test x", tool.Free, ""},
		"a rule, no sandbox, for the agent": {&Policy{Given: given(t, "bash(go test *)"), Confinable: missing, Ask: says(ForAgent, "")}, bash, "go test x", tool.Free, ""},
		"a rule for a file, no sandbox":     {&Policy{Given: given(t, "write(x)"), Confinable: missing, Ask: never}, write, "x", tool.Free, ""},
		"a rule, in the box":                {&Policy{Given: given(t, "bash(go test *)"), Mode: Box, Confinable: there}, bash, "go test x", tool.Confine, ""},
		"all, in the box":                   {&Policy{Given: given(t, "bash"), Mode: Box, Confinable: there}, bash, "go test x", tool.Confine, ""},
		"leaving the box":                   {&Policy{Given: given(t, "bash", "bash!(go test x)"), Mode: Box, Confinable: there}, bash, "go test x", tool.Free, ""},
		"leaving, another":                  {&Policy{Given: given(t, "bash!(go test x)"), Mode: Box, Confinable: there}, bash, "go test x y", tool.Confine, ""},
		"leaving, not asked":                {&Policy{Given: given(t, "bash!(go test x)"), Ask: never}, bash, "go test x", tool.Free, ""},
		"box":                               {&Policy{Mode: Box, Confinable: there, Ask: never}, bash, "rm x", tool.Confine, ""},
		"box, a file":                       {&Policy{Mode: Box, Confinable: missing, Ask: never}, write, "x", tool.Free, ""},
		"edits, a file":                     {&Policy{Mode: Edits, Ask: never}, write, "x", tool.Free, ""},
		"edits, a file that others execute": {&Policy{Mode: Edits, Acts: func(path string) bool { return path == "x" }}, write, "x", "", "execute or obey"},
		"box, a file that others execute":   {&Policy{Mode: Box, Acts: func(path string) bool { return path == "x" }}, write, "x", "", "execute or obey"},
		"edits, a command":                  {&Policy{Mode: Edits}, bash, "x", "", "no person can be asked"},
		"read-only, a file":                 {&Policy{Mode: ReadOnly, Given: given(t, "write", "bash"), Ask: never}, write, "x", "", "this agent only reads"},
		"read-only, a command":              {&Policy{Mode: ReadOnly, Given: given(t, "write", "bash!(x)"), Ask: never}, bash, "x", "", "this agent only reads"},
		"box missing":                       {&Policy{Mode: Box, Confinable: missing}, bash, "go test", "", "bash (go test) was not permitted: there is no sandbox to run it in unasked: no Landlock; and no person can be asked: the user can permit it with --allow 'bash!(go test)'"},
		"box missing, a rule":               {&Policy{Mode: Box, Confinable: missing, Given: given(t, "bash")}, bash, "go test", "", "there is no sandbox"},
		"no box named":                      {&Policy{Mode: Box}, bash, "go test", "", "there is no sandbox to run it in unasked: this system has none that ramet knows"},
		"box missing, yes":                  {&Policy{Mode: Box, Confinable: missing, Ask: says(Once, "")}, bash, "go test", tool.Free, ""},
		"headless":                          {&Policy{Given: given(t, "bash(go test *)"), Confinable: there}, bash, "go test && go vet", "", "bash (go test && go vet) was not permitted: no rule permits it, and no person can be asked: the user can permit it with --allow 'bash(go test && go vet)'"},
		"headless, a quote":                 {&Policy{Confinable: there}, bash, `make "it's"`, "", `--allow 'bash(make "it'\''s")'`},
		"headless, a file":                  {&Policy{}, write, "docs/a.md", "", "--allow 'write(docs/a.md)'"},
		"headless, nothing":                 {&Policy{Confinable: there}, bash, "x\ny", "", "only --allow bash would permit it, which permits every call of that tool"},
		"headless, foreign":                 {&Policy{}, spec("deploy", tool.Commands), "x", "", "no rule can permit this tool"},
		"once":                              {&Policy{Ask: says(Once, "")}, bash, "rm x", tool.Free, ""},
		"once, beside the sandbox":          {&Policy{Confinable: there, Ask: says(Once, "")}, bash, "rm x", tool.Free, ""},
		"for the agent":                     {&Policy{Confinable: there, Ask: says(ForAgent, "")}, bash, "rm x", tool.Confine, ""},
		"for the project":                   {&Policy{Confinable: there, Ask: says(ForProject, ""), Book: &book{}}, bash, "rm x", tool.Confine, ""},
		"for the project, outside": {&Policy{Confinable: there, Book: &book{}, Ask: asker(func(context.Context, Question) (Verdict, error) {
			return Verdict{Choice: ForProject, Rule: "bash!(rm x)"}, nil
		})}, bash, "rm x", tool.Free, ""},
		"for the project, no sandbox": {&Policy{Confinable: missing, Ask: says(ForProject, ""), Book: &book{}}, bash, "rm x", tool.Free, ""},
		"nowhere to save":             {&Policy{Ask: says(ForProject, "")}, bash, "rm x", "", "the answer was not understood"},
		"nothing to save":             {&Policy{Ask: says(ForProject, ""), Book: &book{}}, bash, "rm -rf x", "", "destructive"},
		"nothing to grant":            {&Policy{Ask: says(ForAgent, "")}, bash, "a\nb", "", "several lines"},
		"refused":                     {&Policy{Ask: says(Refuse, " ")}, bash, "rm \x1b[2Jx", "", "the user did not permit bash (rm ␛[2Jx): do not try it in another way"},
		"refused, with words":         {&Policy{Ask: says(Because, "use mv")}, bash, "rm x", "", "the user did not permit bash (rm x) and says: use mv"},
		"an odd verdict":              {&Policy{Ask: says("", "")}, bash, "rm x", "", "the user did not permit"},
		"an old verdict":              {&Policy{Ask: says("always", "")}, bash, "rm x", "", "the user did not permit"},
		"cannot be asked": {&Policy{Ask: asker(func(context.Context, Question) (Verdict, error) { return Verdict{Choice: Once}, errors.New("gone") })},
			bash, "rm x", "", "the user could not be asked: gone"},
	} {
		got, record, err := c.policy.Decide(t.Context(), c.spec, call(c.subject))
		if got != c.want || (err != nil) != (c.refusal != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && (!fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), c.refusal)) {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.refusal)
		}
		if changes := c.spec.Access == tool.Writes || c.spec.Access == tool.Commands; changes != (record != nil) {
			t.Errorf("%s: record %v", name, record)
		} else if changes && (record.Answer == history.Allowed) != (err == nil) || changes && record.Confined != (got == tool.Confine) {
			t.Errorf("%s: %v, record %v", name, err, record)
		}
	}
}

// book keeps rules in memory.
type book struct {
	saved []Rule
	err   error
}

func (b *book) Rules() ([]Rule, error) { return b.saved, nil }
func (b *book) Save(_ context.Context, r Rule) error {
	if b.err == nil {
		b.saved = append(b.saved, r)
	}
	return b.err
}

func TestTheQuestionSaysEverything(t *testing.T) {
	var asked Question
	p := &Policy{Mode: Box, Confinable: func() error { return errors.New("no Landlock") }, Book: &book{},
		Ask: asker(func(_ context.Context, q Question) (Verdict, error) { asked = q; return Verdict{}, nil })}
	s := bash
	s.Summary = func(json.RawMessage) string { return "runs\n  it" }
	s.Preview = func(json.RawMessage) string { return "@@ -1 +1 @@" }
	p.Decide(t.Context(), s, call("go test x"))
	if asked.Agent != "a" || asked.Tool != "bash" || asked.Summary != "runs it" || asked.Subject != "go test x" || asked.Patch != "@@ -1 +1 @@" ||
		asked.Rule.String() != "bash!(go test x)" || !strings.Contains(asked.Why, "no Landlock") || !asked.Outside {
		t.Errorf("%+v", asked)
	}
	o := asked.Options()
	if len(o) != 5 || o[0].Choice != Refuse || o[1].Choice != Because || o[2].Choice != Once || o[3].Choice != ForAgent || o[4].Choice != ForProject ||
		o[4].Rule != "bash!(go test x)" || o[4].No != "" {
		t.Errorf("%+v", o)
	}
	p.Decide(t.Context(), s, call("rm -rf build dist && git push --force origin main"))
	o = asked.Options()
	for _, why := range []string{"rm -r", "pushes", "forces"} {
		if o[4].Rule != "" || !strings.Contains(o[4].No, why) {
			t.Errorf("%q does not say %s", o[4].No, why)
		}
	}
}

// A call that asks to leave the box is a question, with the reason, whatever plain rules say.
func TestTheWayOutOfTheBoxIsAskedFor(t *testing.T) {
	var asked []Question
	p := &Policy{Mode: Box, Confinable: func() error { return nil }, Given: given(t, "bash"), Book: &book{},
		Ask: asker(func(_ context.Context, q Question) (Verdict, error) {
			asked = append(asked, q)
			return Verdict{Choice: ForProject}, nil
		})}
	s := bash
	s.Outside = func(json.RawMessage) string { return "needs the network" }
	g, record, err := p.Decide(t.Context(), s, call("go get x"))
	if g != tool.Free || err != nil || len(asked) != 1 || asked[0].Reason != "needs the network" || !asked[0].Outside || record.Rule != "bash!(go get x)" {
		t.Fatalf("%q %v %+v %+v", g, err, asked, record)
	}
	if g, record, err = p.Decide(t.Context(), s, call("go get x")); g != tool.Free || err != nil || len(asked) != 1 || record.By != history.ByRule || record.From != "project" {
		t.Errorf("saved: %q %v %+v", g, err, record)
	}
	if g, _, err = p.Decide(t.Context(), bash, call("go get y")); g != tool.Confine || err != nil || len(asked) != 1 {
		t.Errorf("another: %q %v", g, err)
	}
}

func TestAGrantHoldsForThatAndNotForMore(t *testing.T) {
	asked := 0
	p := &Policy{Confinable: func() error { return nil }, Ask: asker(func(_ context.Context, q Question) (Verdict, error) {
		if asked++; q.NoGrant != "" {
			return Verdict{Choice: Once}, nil
		}
		return Verdict{Choice: ForAgent, By: history.Actor{Who: "ann", Face: history.Page}}, nil
	})}
	for _, c := range []struct {
		line  string
		asked int
	}{
		{"go test a", 1}, {"go test a", 1}, {"go test b", 2}, {"go test a; go test b", 2}, {"go test a; go test c", 3},
		{"x $(y)", 4}, {"x $(y)", 4}, {"x $(z)", 5}, {"a\nb", 6}, {"a\nb", 7},
		{"rm a", 8}, {"rm a", 8}, {"rm a b", 9}, {"git push", 10}, {"git push", 10}, {"git push -f", 11},
	} {
		want := tool.Confine
		if strings.Contains(c.line, "\n") { // permitted once
			want = tool.Free
		}
		if g, _, err := p.Decide(t.Context(), bash, call(c.line)); g != want || err != nil || asked != c.asked {
			t.Errorf("%q: %q, %v, asked %d times", c.line, g, err, asked)
		}
	}
	other := call("go test a")
	other.Agent = "b"
	if p.Decide(t.Context(), bash, other); asked != 12 {
		t.Error("a grant for one agent holds for another")
	}
	_, record, _ := p.Decide(t.Context(), bash, call("go test a"))
	if record.By != history.ByRule || record.From != "a" || record.Actor == nil || record.Actor.Who != "ann" {
		t.Errorf("%+v", record)
	}
}

// A rule that a person edits must permit the call and nothing that cannot be undone.
func TestEditedRules(t *testing.T) {
	q := Question{Tool: "bash", Subject: "go test ./..."}
	for text, want := range map[string]string{
		"bash(go test ./...)": "", "bash(go test *)": "", "bash!(go test ./...)": "", "bash(go *)": "",
		"bash": "would also permit", "bash(*o test *)": "", "bash(go vet *)": "does not permit this call", "write(x)": "does not permit this call",
		"bash(go test": "no closing parenthesis", "nonsense": "no tool",
	} {
		err := q.Check(Verdict{Choice: ForProject, Rule: text})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	q.Subject = "git log"
	for _, text := range []string{"bash(git *)", "bash(g* *)"} {
		if err := q.Check(Verdict{Choice: ForProject, Rule: text}); err == nil {
			t.Errorf("%s is saved, and permits a push", text)
		}
	}
	q.Outside = true
	if err := q.Check(Verdict{Choice: ForProject, Rule: "bash(git log)"}); err == nil {
		t.Error("a rule that keeps the command in the box is saved as the way out")
	}
	b := &book{err: errors.New("disk full")}
	var warned string
	p := &Policy{Book: b, Ask: says(ForProject, ""), Warn: func(_ id.Agent, what string) { warned = what }}
	if g, record, err := p.Decide(t.Context(), bash, call("x")); g != tool.Free || err != nil || record.Choice != "once" || !strings.Contains(warned, "disk full") {
		t.Errorf("not saved: %q %v %+v %q", g, err, record, warned)
	}
}

// Calls of one agent ask for the same at once: one question at a time, and after a grant none.
func TestQuestionsComeOneAtATime(t *testing.T) {
	var open, total atomic.Int32
	p := &Policy{}
	p.Ask = asker(func(context.Context, Question) (Verdict, error) {
		if open.Add(1) != 1 {
			t.Error("two questions at once")
		}
		defer open.Add(-1)
		if total.Add(1) == 1 {
			return Verdict{Choice: Once}, nil
		}
		return Verdict{Choice: ForAgent}, nil
	})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if g, _, err := p.Decide(t.Context(), bash, call("go test x")); g != tool.Free || err != nil {
				t.Error(g, err)
			}
		})
	}
	all.Wait()
	if total.Load() != 2 {
		t.Errorf("asked %d times", total.Load())
	}
}

// Questions of several agents are open at once. A rule that one answer makes settles the others that it permits, and only those.
func TestQuestionsOfAgentsAreOpenAtOnce(t *testing.T) {
	asked, answer, settled := make(chan id.Agent), make(chan Verdict), make(chan error, 3)
	p := &Policy{Book: &book{}, Ask: asker(func(ctx context.Context, q Question) (Verdict, error) {
		asked <- q.Agent
		if q.Agent == "other" {
			<-ctx.Done()
			return Verdict{}, ctx.Err()
		}
		select {
		case v := <-answer:
			return v, nil
		case <-ctx.Done():
			return Verdict{}, ctx.Err()
		}
	})}
	ctx, cancel := context.WithCancel(t.Context())
	for agent, command := range map[id.Agent]string{"a": "go vet", "b": "go vet", "other": "go list"} {
		go func() {
			one := call(command)
			one.Agent = agent
			g, record, err := p.Decide(ctx, bash, one)
			if err == nil && (g == "" || record.Rule != "bash!(go vet)") {
				t.Errorf("%s: %q %+v", agent, g, record)
			}
			settled <- err
		}()
	}
	for range 3 {
		<-asked
	}
	answer <- Verdict{Choice: ForProject}
	for range 2 {
		if err := <-settled; err != nil {
			t.Error(err)
		}
	}
	cancel()
	if err := <-settled; !errors.Is(err, context.Canceled) {
		t.Errorf("another command: %v", err)
	}
}

func TestWhoWaitsForAQuestionCanBeCancelled(t *testing.T) {
	asking, answer := make(chan bool), make(chan bool)
	p := &Policy{Ask: asker(func(ctx context.Context, q Question) (Verdict, error) {
		asking <- true
		select {
		case <-answer:
			return Verdict{Choice: Once}, nil
		case <-ctx.Done():
			return Verdict{Choice: Once}, nil // an asker that does not look
		}
	})}
	first := make(chan error)
	go func() { _, _, err := p.Decide(t.Context(), bash, call("a")); first <- err }()
	<-asking
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if g, _, err := p.Decide(ctx, bash, call("b")); g != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %q, %v", g, err)
	}
	close(answer)
	if err := <-first; err != nil {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() { <-asking; cancel() }()
	answer = make(chan bool)
	if g, _, err := p.Decide(ctx, bash, call("c")); g != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("asking: %q, %v", g, err)
	}
}

// Rules and mode of the settings are those of the moment; where they cannot be read none holds.
func TestSettingsAreThoseOfTheMoment(t *testing.T) {
	rules, mode, broken := []Rule{{Tool: "bash"}}, Box, error(nil)
	p := &Policy{Settings: func() ([]Rule, Mode, error) { return rules, mode, broken }, Confinable: func() error { return nil }}
	decide := func() (tool.Grant, string) {
		g, _, err := p.Decide(t.Context(), tool.Spec{Name: "bash", Access: tool.Commands, Subject: func(json.RawMessage) string { return "touch a" }}, tool.Call{Agent: "a"})
		if err != nil {
			return g, err.Error()
		}
		return g, ""
	}
	if g, said := decide(); g != tool.Confine || said != "" {
		t.Errorf("in the box: %q %s", g, said)
	}
	mode = Ask
	if g, said := decide(); g != tool.Confine || said != "" {
		t.Errorf("by a rule: %q %s", g, said)
	}
	rules = nil
	if g, said := decide(); g != "" || !strings.Contains(said, "no rule permits it") {
		t.Errorf("taken back: %q %s", g, said)
	}
	rules, mode, broken = []Rule{{Tool: "bash"}}, Box, errors.New("line 3")
	if g, said := decide(); g != "" || !strings.Contains(said, "the settings cannot be read, so nothing of them permits it: line 3") {
		t.Errorf("unreadable: %q %s", g, said)
	}
}

// A question about a call whose subject is only a name holds all of its arguments.
func TestAQuestionHoldsAllArguments(t *testing.T) {
	body := strings.Repeat("hello ", 200)
	args, _ := json.Marshal(map[string]string{"a": body, "do": "DELETE EVERYTHING"})
	for _, s := range []tool.Spec{{Name: "post__send", Access: tool.Servers}, {Name: "fetch", Access: tool.Fetches, Subject: func(json.RawMessage) string { return "example.com" }}, {Name: "other", Access: tool.Writes}} {
		var asked Question
		p := &Policy{Ask: asker(func(_ context.Context, q Question) (Verdict, error) { asked = q; return Verdict{Choice: Refuse}, nil })}
		if _, _, err := p.Decide(t.Context(), s, tool.Call{Agent: "a", Args: args}); !fault.Is(err, fault.Denied) {
			t.Error(err)
		}
		bare := s
		bare.Summary = func(json.RawMessage) string { return "what another program says of it" }
		p.Decide(t.Context(), bare, tool.Call{Agent: "a", Args: json.RawMessage("{}")})
		if does := asked.Does(); does != "what another program says of it" {
			t.Errorf("%s without arguments: %q", s.Name, does)
		}
		p.Decide(t.Context(), s, tool.Call{Agent: "a", Args: args})
		if does := asked.Does(); !strings.HasPrefix(does, s.Name+" {\n") || !strings.Contains(does, body) || !strings.Contains(does, `"DELETE EVERYTHING"`) {
			t.Errorf("%s: %q", s.Name, does)
		}
	}
}

func TestChosenAcceptsExactlyTheOfferedChoices(t *testing.T) {
	q := Question{Says: "which?", Choices: []string{"red", "green", "blue"}}
	for choice, want := range map[Choice]string{"1": "red", "2": "green", "3": "blue",
		"0": "", "4": "", "-1": "", "01": "", "+1": "", "1 ": "", "": "", "red": "", Refuse: "", Because: ""} {
		if got, ok := q.Chosen(choice); got != want || ok != (want != "") {
			t.Errorf("Chosen(%q) = %q, %v; want %q", choice, got, ok, want)
		}
		if _, ok := q.Chosen(choice); (q.checkAnswer(Verdict{Choice: choice}) == nil) != (ok || choice == Refuse) {
			t.Errorf("checkAnswer(%q) = %v", choice, q.checkAnswer(Verdict{Choice: choice}))
		}
	}
	var texts []string
	for _, o := range q.Options() {
		texts = append(texts, o.Text)
	}
	if got := strings.Join(texts, "|"); !strings.HasSuffix(got, "|red|green|blue") || len(texts) != 5 {
		t.Errorf("offered: %s", got)
	}
	testkit.OK(t, q.checkAnswer(Verdict{Choice: Because, Words: "something else"}))
}

// Modes come from the nearest ancestor that has one, grants from those that live.
// A hook that wants a person to be asked outweighs every rule and mode that permits, and no answer is kept for later.
func TestAHookInsistsOnAQuestion(t *testing.T) {
	ctx := tool.Insist(t.Context(), "look here")
	for _, mode := range []Mode{Ask, Edits, Box} {
		for _, s := range []tool.Spec{bash, write, spec("read", tool.Reads)} {
			asked := 0
			p := &Policy{Mode: mode, Given: given(t, "bash", "write"), Confinable: func() error { return nil }, Ask: asker(func(_ context.Context, q Question) (Verdict, error) {
				asked++
				if q.Why != "look here" || q.NoRule == "" || q.NoGrant == "" || q.Outside != (mode == Box && s.Access == tool.Commands) {
					t.Errorf("%s, %s: %+v", mode, s.Name, q)
				}
				return Verdict{Choice: Once}, nil
			})}
			if grant, _, err := p.Decide(ctx, s, call("x")); asked != 1 || grant != tool.Free || err != nil {
				t.Errorf("%s, %s: asked %d times, %q, %v", mode, s.Name, asked, grant, err)
			}
			p.Ask = nil
			if _, _, err := p.Decide(ctx, s, call("x")); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "look here") {
				t.Errorf("%s, %s, without a person: %v", mode, s.Name, err)
			}
		}
	}
}

// The answer to one question settles the questions of the same kind that wait behind it.
func TestAnAnswerSettlesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *Policy
		asked, waiting := 0, make(chan error, 1)
		p = &Policy{Confinable: func() error { return nil }, Ask: asker(func(context.Context, Question) (Verdict, error) {
			if asked++; asked == 1 {
				go func() {
					_, _, err := p.Decide(t.Context(), bash, call("make"))
					waiting <- err
				}()
				synctest.Wait()
			}
			return Verdict{Choice: ForAgent}, nil
		})}
		if _, _, err := p.Decide(t.Context(), bash, call("make")); err != nil {
			t.Error(err)
		}
		if err := <-waiting; err != nil || asked != 1 {
			t.Errorf("asked %d times, %v", asked, err)
		}
	})
}

func TestModesAndGrantsInAFamily(t *testing.T) {
	ctx := t.Context()
	s := testkit.Must(sqlite.Open(ctx, filepath.Join(t.TempDir(), "x.db"), sqlite.Options{}))(t)
	defer s.Close()
	zero := testkit.Must(agent.Find(ctx, s, "0"))(t)
	fork := func(parent id.Agent, name string) id.Agent {
		t.Helper()
		born := testkit.Must(s.Fork(ctx, registry.Fork{Parent: parent, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent(), Name: name}}}))(t)
		return born[0].ID
	}
	write := func(a id.Agent, drafts ...history.Draft) {
		t.Helper()
		testkit.Must(s.Append(ctx, a, agent.Passing(), drafts...))(t)
	}
	kid := fork(zero.ID, "kid")
	grandkid, other := fork(kid, "grandkid"), fork(zero.ID, "other")
	asked := 0
	p := &Policy{Log: s, Confinable: func() error { return nil }, Ask: asker(func(context.Context, Question) (Verdict, error) {
		asked++
		return Verdict{Choice: ForAgent, By: history.Actor{Who: "ann", Face: history.HTTP}}, nil
	})}
	decide := func(p *Policy, a id.Agent, line string) (tool.Grant, *history.Permission) {
		t.Helper()
		c := call(line)
		c.Agent = a
		g, record, _ := p.Decide(ctx, bash, c)
		return g, record
	}
	_, record := decide(p, kid, "make")
	if asked != 1 || record.From != string(kid) {
		t.Fatal(asked, record)
	}
	write(kid, history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.PermitCommand, CallID: "c", Permission: record, Actor: record.Actor}})
	// Another process, or this one after a restart, knows it from the history.
	for _, policy := range []*Policy{p, {Log: s, Confinable: p.Confinable}} {
		for _, a := range []id.Agent{kid, grandkid} {
			if g, record := decide(policy, a, "make"); g != tool.Confine || record.By != history.ByRule || record.From != string(kid) || record.Actor.Who != "ann" {
				t.Errorf("%s: %q %+v", a, g, record)
			}
		}
		if g, _ := decide(&Policy{Log: s, Confinable: p.Confinable}, other, "make"); g != "" {
			t.Errorf("another agent has it too: %q", g)
		}
		if g, _ := decide(&Policy{Log: s, Confinable: p.Confinable}, zero.ID, "make"); g != "" {
			t.Errorf("its parent has it too: %q", g)
		}
	}
	write(zero.ID, ModeEntry(Box))
	if g, record := decide(&Policy{Log: s, Confinable: p.Confinable}, other, "x"); g != tool.Confine || record.Mode != "box" {
		t.Errorf("the mode of the parent: %q %+v", g, record)
	}
	write(kid, ModeEntry(ReadOnly))
	if g, record := decide(p, grandkid, "make"); g != "" || record.Mode != "read-only" || record.By != history.ByMode {
		t.Errorf("the mode of the nearest: %q %+v", g, record)
	}
	page := call("a.com")
	page.Agent = kid
	if g, _, err := (&Policy{Log: s, Given: given(t, "fetch")}).Decide(ctx, spec("fetch", tool.Fetches), page); g != tool.Free || err != nil {
		t.Errorf("an agent that only reads reads a page: %q, %v", g, err)
	}
	write(kid, ModeEntry("of a newer version"))
	if g, record := decide(p, kid, "make"); g != "" || record.Mode != "read-only" {
		t.Errorf("a mode that is not known: %q %+v", g, record)
	}
	write(kid, ModeEntry(Ask))
	testkit.Must(s.Kill(ctx, registry.Kill{Agent: kid}))(t)
	for _, policy := range []*Policy{{Log: s, Confinable: p.Confinable}, {Log: s, Confinable: p.Confinable, granted: p.granted}} {
		if g, _ := decide(policy, grandkid, "make"); g != "" {
			t.Errorf("a grant outlives its agent: %q", g)
		}
	}
}
