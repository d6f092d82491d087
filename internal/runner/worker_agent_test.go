package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/files/git"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/turn/loop"
)

var patch = Output{Path: "drafts/intro/changes.patch", Patch: true}

var base = map[string]string{"README.md": "# A\n\nold\n", "gone.md": "bye\n", ".gitignore": "*.log\n", ".gitattributes": "*.md filter=evil diff=evil\n"}

// rooted is an item that works in a worktree.
func (s *crewStage) rooted(prompt string, outputs ...Output) Attempt {
	it := s.item(prompt, outputs...)
	bundle, commit := repository(s.t, base)
	s.input(&it, "work/base.bundle", bundle)
	it.Task.Tree = &Tree{Bundle: "work/base.bundle", Commit: commit}
	it.Task.Tools = []string{"write", "bash", "read"}
	return it
}

const writes = `
{"when": "Write", "steps": [{"call": "write", "args": {"path": "docs/ü page.md", "content": "new\n"}}, {"call": "read", "args": {"path": "README.md"}}]}
{"when": "old", "steps": [{"call": "write", "args": {"path": "README.md", "content": "# A\n\nnew\n"}}, {"call": "bash", "args": {"command": "rm gone.md; chmod +x README.md; printf 'a\\000b' >bin.dat; echo x >x.log; mkdir -p drafts; echo '{}' >drafts/extra.json; git status --short | wc -l"}}]}
{"when": "", "steps": [{"text": "I wrote it."}]}
`

// apply applies a patch to a fresh checkout and lists what is there then.
func apply(t *testing.T, patch []byte) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range base {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	if _, err := (git.Command{Dir: dir, In: patch}).Run(t.Context(), "apply", "-"); err != nil {
		t.Fatalf("%v\n%s", err, patch)
	}
	got := map[string]string{}
	testkit.OK(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		if got[name] = string(data); info.Mode()&0o100 != 0 {
			got[name] += "(runs)"
		}
		return err
	}))
	return got
}

func TestAnAgentChangesFilesInAWorktreeOfItsOwn(t *testing.T) {
	// What a user's configuration says must count for nothing, and no filter may run.
	trap := filepath.Join(t.TempDir(), "ran")
	home := t.TempDir()
	config := fmt.Sprintf("[filter \"evil\"]\n\tsmudge = touch %[1]s; cat\n\tclean = touch %[1]s; cat\n[diff \"evil\"]\n\ttextconv = touch %[1]s; cat\n"+
		"[core]\n\tautocrlf = true\n\texcludesFile = %[2]s/ignore\n[diff]\n\tnoprefix = true\n\trenames = copies\n", trap, home)
	for name, text := range map[string]string{".gitconfig": config, "ignore": "*\n"} {
		testkit.OK(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o644))
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", home)

	var patches []string
	for range 2 {
		s := newStageCrew(t, writes)
		it := s.rooted("Write it.", patch, Output{Path: "drafts/extra.json", Schema: "page"}, Output{Path: "drafts/said.md", Answer: true})
		res := testkit.Must(s.do(it))(t)
		if len(res.Files) != 3 || string(res.Files[1].Data) != "{}\n" || string(res.Files[2].Data) != "I wrote it." {
			t.Fatalf("%q", res.Files)
		}
		patches = append(patches, string(res.Files[0].Data))
		s.clean()
		a, ok, err := s.store.Named(t.Context(), "draft-intro")
		if err != nil || !ok || a.Status != agent.Dead || a.EndReason != "item finished" || a.Parent != s.run.ID {
			t.Errorf("%+v %v", a, err)
		}
		v := testkit.Must(s.book.Read(t.Context()))(t)
		if e := v.Entries(); len(e) != 1 || e[0].ID != string(a.ID) || e[0].Status != ledger.Completed || e[0].Type != "draft" || e[0].Owner == nil {
			t.Errorf("%+v", e)
		}
	}
	if patches[0] != patches[1] {
		t.Errorf("two patches of one change:\n%s\n%s", patches[0], patches[1])
	}
	if strings.Contains(patches[0], `\303`) || !strings.Contains(patches[0], "ü page.md") {
		t.Errorf("names are quoted:\n%s", patches[0])
	}
	got := apply(t, []byte(patches[0]))
	want := map[string]string{"README.md": "# A\n\nnew\n(runs)", ".gitignore": base[".gitignore"], ".gitattributes": base[".gitattributes"],
		"docs/ü page.md": "new\n", "bin.dat": "a\x00b"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a filter of the user's configuration ran")
	}
}

func TestAPatchStandsOnThePatchesBefore(t *testing.T) {
	s := newStageCrew(t, `
{"when": "First", "steps": [{"call": "write", "args": {"path": "one.md", "content": "1\n"}}]}
{"when": "wrote", "steps": [{"text": "done"}]}
{"when": "Second", "steps": [{"call": "bash", "args": {"command": "cat one.md; echo 2 >>one.md"}}]}
{"repeat": true, "steps": [{"text": "done"}]}
`)
	it := s.rooted("First.", patch)
	first := testkit.Must(s.do(it))(t)
	it.Scope, it.ID, it.Task.Prompt = "more", "r1:draft:1:more", "Second."
	s.input(&it, "drafts/one.patch", first.Files[0].Data)
	s.input(&it, "drafts/empty.patch", nil)
	it.Task.Tree.Patches = []string{"drafts/empty.patch", "drafts/one.patch"}
	second, err := s.do(it)
	testkit.OK(t, err)
	if got := string(second.Files[0].Data); !strings.Contains(got, "\n 1\n+2\n") || strings.Contains(got, "new file") {
		t.Errorf("%s", got)
	}
	s.input(&it, "drafts/broken.patch", []byte("no patch\n"))
	it.Task.Tree.Patches = []string{"drafts/one.patch", "drafts/one.patch", "drafts/broken.patch"} // twice is once
	_, err = s.do(it)
	s.fails(err, fault.Conflict, "drafts/broken.patch does not apply")
	it.Task.Tree.Patches = []string{"drafts/none.patch"}
	_, err = s.do(it)
	s.fails(err, fault.InvalidRecipe, "none of its inputs")
	it.Task.Tree = &Tree{Bundle: "drafts/one.patch", Commit: it.Task.Tree.Commit}
	_, err = s.do(it)
	s.fails(err, fault.Conflict, "not a bundle")
	it.Task.Tree.Commit = "--upload-pack=x"
	_, err = s.do(it)
	s.fails(err, fault.InvalidID)
	// Three fetches of the bundle would be one for each item.
	if s.orchestrator.fetched > 1+1+2+2+1+1 {
		t.Errorf("%d fetches", s.orchestrator.fetched)
	}
	s.clean()
}

func TestAnInputMustBeWhatItWas(t *testing.T) {
	s := newStageCrew(t, ``)
	it := s.rooted("x", patch)
	for sum := range s.orchestrator.inputs {
		s.orchestrator.inputs[sum] = []byte("another")
	}
	_, err := s.do(it)
	s.fails(err, fault.Conflict, "not the file that was promised")
}

func TestOutputsThatAreNotAsPromised(t *testing.T) {
	s := newStageCrew(t, `
{"when": "silent", "steps": [{"text": " "}]}
{"when": "words", "steps": [{"text": "Here it is: {}"}]}
{"when": "fence", "steps": [{"text": "`+"```json\\n{\\\"a\\\": 1}\\n```\\n"+`"}]}
{"when": "file", "steps": [{"text": "I forgot."}]}
{"when": "link", "steps": [{"call": "bash", "args": {"command": "ln -s /etc/passwd a.json; mkdir b.json"}}]}
{"repeat": true, "steps": [{"text": "done"}]}
`)
	page := Output{Path: "drafts/p.json", Schema: "page", Answer: true}
	_, err := s.do(s.item("silent", page))
	s.fails(err, fault.OutputInvalid, "drafts/p.json is missing", "the last answer is empty", "answer with its content")
	_, err = s.do(s.item("words", page))
	s.fails(err, fault.OutputInvalid, "drafts/p.json: ", "an object is wanted")
	if !Retryable(err) {
		t.Error("it may be tried again")
	}
	res, err := s.do(s.item("fence", page))
	if err != nil || string(res.Files[0].Data) != "{\"a\": 1}\n" {
		t.Errorf("%q %v", res.Files, err)
	}
	_, err = s.do(s.item("file", Output{Path: "a.json"}, Output{Path: "b/c.md"}))
	s.fails(err, fault.OutputInvalid, "a.json is missing", "b/c.md is missing", "write the file b/c.md")
	it := s.item("link", Output{Path: "a.json"}, Output{Path: "b.json"})
	it.Task.Tools = []string{"bash"}
	_, err = s.do(it)
	s.fails(err, fault.OutputInvalid, "a.json is missing", "escapes", "b.json is missing: it is not a plain file")
	_, err = s.do(s.item("x", Output{Path: "../out"}))
	s.fails(err, fault.InvalidRecipe, "not a path of an output")
	_, err = s.do(s.item("x", patch))
	s.fails(err, fault.InvalidRecipe, "has no worktree")
	s.clean()
}

// An agent that was to change something and changed nothing has failed, unless it may.
func TestNothingChangedIsNothingDelivered(t *testing.T) {
	s := newStageCrew(t, `{"repeat": true, "steps": [{"text": "All is well as it is."}]}`)
	_, err := s.do(s.rooted("look", patch))
	s.fails(err, fault.OutputInvalid, "nothing was changed in the folder")
	if !Retryable(err) || RefusedAnswer(err) != "All is well as it is." {
		t.Errorf("%v, it had answered %q", err, RefusedAnswer(err))
	}
	res, err := s.do(s.rooted("look", Output{Path: patch.Path, Patch: true, Empty: true}))
	if err != nil || len(res.Files) != 1 || len(res.Files[0].Data) != 0 {
		t.Errorf("%+v %v", res, err)
	}
	s.clean()
}

// What an agent is and must deliver stands behind its prompt.
func TestTheAssignmentIsSaid(t *testing.T) {
	s := newStageCrew(t, `
{"when": "do it\n\n[ramet] You are a worker", "steps": [{"text": "I know."}]}
`)
	it := s.item("do it  \n", Output{Path: "a", Answer: true})
	it.Task.Assignment = "[ramet] You are a worker"
	if res, err := s.do(it); err != nil || string(res.Files[0].Data) != "I know." {
		t.Errorf("%+v %v", res, err)
	}
}

// begin starts an item and waits until its model was asked.
func (s *crewStage) begin(ctx context.Context, it Attempt) (a agent.Agent, done chan error) {
	s.t.Helper()
	asked := make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	s.orchestrator.refuse = func(r Report) error {
		once() // the first is that of a start
		return nil
	}
	done = make(chan error, 1)
	go func() {
		_, err := s.crew.Do(ctx, it, s.orchestrator)
		done <- err
	}()
	select {
	case <-asked:
	case err := <-done:
		s.t.Fatalf("it ended before its model was asked: %v", err)
	}
	a, ok, err := s.store.Named(s.t.Context(), "draft-intro")
	if err != nil || !ok {
		s.t.Fatal(ok, err)
	}
	return a, done
}

const hangs = `{"steps": [{"text": "I "}, {"wait": "never"}]}`

func TestAnItemEndsWithItsAgent(t *testing.T) {
	for _, c := range []struct {
		name   string
		end    func(s *crewStage, a id.Agent, cancel context.CancelCauseFunc)
		limit  time.Duration
		code   fault.Code
		again  bool
		ledger ledger.Status
	}{
		{"killed", func(s *crewStage, a id.Agent, _ context.CancelCauseFunc) {
			if _, err := s.kernel.Kill(s.t.Context(), registry.Kill{Agent: a, Reason: "enough"}); err != nil {
				s.t.Error(err)
			}
		}, 0, fault.Killed, true, ledger.Failed},
		{"stopped", func(s *crewStage, a id.Agent, _ context.CancelCauseFunc) {
			if _, err := s.kernel.Interrupt(s.t.Context(), kernel.Stop{Agent: a}); err != nil {
				s.t.Error(err)
			}
		}, 0, fault.Interrupted, true, ledger.Interrupted},
		{"late", nil, time.Hour, fault.TimedOut, true, ledger.Timeout},
		{"cancelled", func(_ *crewStage, _ id.Agent, cancel context.CancelCauseFunc) { cancel(nil) }, 0, fault.Cancelled, false, ledger.Interrupted},
		{"signal", func(_ *crewStage, _ id.Agent, cancel context.CancelCauseFunc) {
			cancel(fault.New(fault.Interrupted, "signal"))
		}, 0,
			fault.Interrupted, true, ledger.Interrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStageCrew(t, hangs)
			it := s.rooted("Go.", patch)
			it.Task.Timeout = c.limit
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			fire := s.replaceTimer()
			a, done := s.begin(ctx, it)
			if c.end == nil {
				fire()
			} else {
				c.end(s, a.ID, cancel)
			}
			err := <-done
			s.fails(err, c.code)
			if Retryable(err) != c.again {
				t.Errorf("retryable: %v", !c.again)
			}
			s.clean()
			last := s.orchestrator.reports[len(s.orchestrator.reports)-1]
			if last.Type != run.LLMCallFailed {
				t.Errorf("the call ended with %s", last.Type)
			}
			v := testkit.Must(s.book.Read(t.Context()))(t)
			if e := v.Entries(); len(e) != 1 || e[0].Status != c.ledger {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestCallsOfAllAgentsOfAnItemAreRecorded(t *testing.T) {
	var names [][]string
	for range 2 {
		s := newStageCrew(t, `
{"when": "Share", "steps": [{"call": "fork", "args": {"prompt": "Child one", "context": "none"}}, {"call": "fork", "args": {"prompt": "Child two", "context": "none"}}]}
{"when": "Child one", "steps": [{"call": "fork", "args": {"prompt": "Grandchild", "context": "none"}}]}
{"repeat": true, "steps": [{"text": "done"}]}
`)
		it := s.item("Share the work.", Output{Path: "a", Answer: true})
		it.Task.Tools = []string{"fork"}
		testkit.Must(s.do(it))(t)
		s.clean()
		var got []string
		ids := map[string]bool{}
		for _, r := range s.orchestrator.reports {
			if ids[r.ID] {
				t.Errorf("%s twice", r.ID)
			}
			ids[r.ID] = true
			var p struct {
				CallID string `json:"call_id"`
			}
			testkit.OK(t, json.Unmarshal(r.Payload, &p))
			got = append(got, p.CallID+" "+string(r.Type))
			if strings.Contains(string(r.Payload), "secret") {
				t.Errorf("%s", r.Payload)
			}
		}
		slices.Sort(got)
		names = append(names, got)
	}
	var want []string
	for _, call := range []string{"draft.intro.1", "draft.intro.2", "draft.intro.c1-1", "draft.intro.c1-2", "draft.intro.c1-c1-1", "draft.intro.c2-1"} {
		want = append(want, call+" LLM_CALL_FINISHED", call+" LLM_CALL_STARTED")
	}
	slices.Sort(want)
	for _, got := range names {
		if !slices.Equal(got, want) {
			t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestAnAgentHasTheToolsOfItsTaskAndNoOthers(t *testing.T) {
	s := newStageCrew(t, `
{"when": "Try", "steps": [{"call": "bash", "args": {"command": "true"}}, {"call": "fork", "args": {"prompt": "x"}}, {"call": "send", "args": {"to": "0", "text": "x"}}, {"call": "write", "args": {"path": "a", "content": "A"}}]}
{"when": "no tool \"bash\"", "steps": [{"text": "no bash"}]}
{"repeat": true, "steps": [{"text": "all three were there"}]}
`)
	it := s.item("Try.", Output{Path: "a"}, Output{Path: "b", Answer: true})
	it.Task.Tools = []string{"write"}
	res, err := s.do(it)
	if err != nil || string(res.Files[0].Data) != "A" || string(res.Files[1].Data) != "no bash" {
		t.Fatalf("%q %v", res.Files, err)
	}
	all, err := s.store.Agents(t.Context(), agent.Filter{Dead: true})
	if err != nil || len(all) != 3 {
		t.Errorf("%d agents, %v", len(all), err)
	}
}

// Every agent with tools is offered recall: what was left out of its context is its own.
func TestAnAgentOfAnItemMayRecall(t *testing.T) {
	s := newStageCrew(t, `
{"when": "Try", "steps": [{"call": "recall", "args": {"query": "Try"}}]}
{"when": "no tool of this task", "steps": [{"text": "refused"}]}
{"repeat": true, "steps": [{"text": "recalled"}]}
`)
	it := s.item("Try.", Output{Path: "b", Answer: true})
	it.Task.Tools = []string{"read"}
	res, err := s.do(it)
	if err != nil || string(res.Files[0].Data) != "recalled" {
		t.Fatalf("%q %v", res.Files, err)
	}
}

func TestAgentsOfARunThatWorkOnNoItemCallNoModel(t *testing.T) {
	s := newStageCrew(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	zero := testkit.Must(s.store.Zero(t.Context()))(t)
	ask := func(a id.Agent) error {
		turn, err := s.kernel.Exec(t.Context(), a, kernel.Prompt{Text: "hello"})
		if err == nil {
			_, err = turn.Wait()
		}
		return err
	}
	testkit.Must(s.do(s.item("x", Output{Path: "a", Answer: true})))(t)
	born := testkit.Must(s.kernel.Fork(t.Context(), registry.Fork{Parent: s.run.ID, Children: []registry.Child{{ID: id.NewAgent(), Name: "stray"}}}, ""))(t)
	calls := len(s.orchestrator.reports)
	s.fails(ask(s.run.ID), fault.Denied, "works on none of its items")
	s.fails(ask(born[0].ID), fault.Denied, "works on none of its items")
	if err := ask(zero.ID); err != nil {
		t.Errorf("an agent that has nothing to do with runs: %v", err)
	}
	if len(s.orchestrator.reports) != calls {
		t.Error("a call that belongs to no item is reported")
	}
	testkit.Must(s.kernel.Kill(t.Context(), registry.Kill{Agent: born[0].ID}))(t)
}

func TestWhatAnEarlierAttemptLeftIsEnded(t *testing.T) {
	s := newStageCrew(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	it := s.item("x", Output{Path: "a", Answer: true})
	fork := func(parent id.Agent, name string) id.Agent {
		born := testkit.Must(s.kernel.Fork(t.Context(), registry.Fork{Parent: parent, Children: []registry.Child{{ID: id.NewAgent(), Name: name}}}, ""))(t)
		return born[0].ID
	}
	left := fork(s.run.ID, "draft-intro")
	testkit.Must(s.do(it))(t)
	if a, err := s.store.Agent(t.Context(), left); err != nil || a.Status != agent.Dead || a.EndReason != "another attempt took its place" {
		t.Errorf("%+v %v", a, err)
	}
	// That of another run keeps its name.
	other := fork(s.run.Parent, "draft-intro")
	testkit.Must(s.do(it))(t)
	if a, err := s.store.Agent(t.Context(), other); err != nil || a.Status != agent.Running {
		t.Errorf("%+v %v", a, err)
	}
	if _, ok, err := s.store.Named(t.Context(), agentNames(it)[1]); !ok || err != nil {
		t.Error(ok, err)
	}
	testkit.Must(s.kernel.Kill(t.Context(), registry.Kill{Agent: other}))(t)
	testkit.Must(s.kernel.Kill(t.Context(), registry.Kill{Agent: s.run.ID}))(t)
	_, err := s.do(it)
	s.fails(err, fault.DeadAgent, "the agent of run r1 is dead")
	if Retryable(err) {
		t.Error("nobody can do it")
	}
}

func TestNamesOfAgentsKeepTheRule(t *testing.T) {
	seen := map[string]string{}
	for _, scope := range []string{"intro", "Intro", "in tro", "in/tro", "a.b", "ü", strings.Repeat("x", 100), strings.Repeat("x", 101), "", "\x00"} {
		for _, worker := range []string{"draft", "9", "Ä"} {
			it := Attempt{RunID: "r1", Worker: worker, Scope: scope}
			for _, name := range agentNames(it)[:2] {
				if err := agent.CheckName(name); err != nil {
					t.Error(err)
				}
				if was, ok := seen[name]; ok {
					t.Errorf("%q is the name for %q and %q", name, was, worker+" "+scope)
				}
				seen[name] = worker + " " + scope
			}
		}
	}
}

func TestAFencedItemStops(t *testing.T) {
	s := newStageCrew(t, `{"steps": [{"text": "done"}]}`)
	s.orchestrator.refuse = func(Report) error { return fault.New(fault.Fenced, "the attempt is not current") }
	_, err := s.do(s.item("x", Output{Path: "a", Answer: true}))
	s.fails(err, fault.Fenced)
	if s.model.(*llmtest.Script).Left() != 1 {
		t.Error("something was sent")
	}
	s.clean()
}

// A bad answer must not come back from the cache for ever; a good one comes back.
func TestTheCacheForgetsAnswersThatLedToNothing(t *testing.T) {
	s := newStageCrew(t, `
{"steps": [{"text": "no page"}]}
{"steps": [{"text": "{}"}]}
`, func(o *WorkerPoolOptions) { o.Cache = AnswerFolder{Dir: filepath.Join(o.Dir, "cache")} })
	it := s.item("x", Output{Path: "a", Schema: "page", Answer: true})
	_, err := s.do(it)
	s.fails(err, fault.OutputInvalid)
	for range 2 {
		if res, err := s.do(it); err != nil || string(res.Files[0].Data) != "{}" {
			t.Fatalf("%q %v", res.Files, err)
		}
	}
	if last := s.orchestrator.reports[len(s.orchestrator.reports)-1]; last.Type != run.LLMCacheHit || len(s.orchestrator.reports) != 5 {
		t.Errorf("%v", s.orchestrator.reports)
	}
	os.RemoveAll(filepath.Join(s.dir, "cache"))
}

func TestEvidenceHoldsNoSecret(t *testing.T) {
	s := newStageCrew(t, `{"steps": [{"text": "the key is s3cr3t-value"}]}`, func(o *WorkerPoolOptions) {
		o.Redact = func(s string) (string, bool) {
			out := strings.ReplaceAll(s, "s3cr3t-value", "[redacted]")
			return out, out != s
		}
	})
	res, err := s.do(s.item("x", Output{Path: "a", Answer: true}))
	if err != nil || string(res.Files[0].Data) != "the key is s3cr3t-value" {
		t.Fatalf("%q %v", res.Files, err)
	}
	last := s.orchestrator.reports[len(s.orchestrator.reports)-1]
	if last.Evidence == nil || last.Evidence.Path != "evidence/llm_calls/draft.intro.1.a1.json" {
		t.Fatalf("%+v", last)
	}
	failing := s.command("echo s3cr3t-value >&2; exit 1")
	_, err = s.do(failing)
	s.fails(err, fault.Failed, "exit code 1: [redacted]")
	if strings.Contains(err.Error(), "s3cr3t") || !Retryable(err) {
		t.Error(err)
	}
	failing.Task.External = true
	if _, err = s.do(failing); Retryable(err) || strings.Contains(err.Error(), "s3cr3t") {
		t.Error(err)
	}
	if text := string(last.Evidence.Data); strings.Contains(text, "s3cr3t-value") || !strings.Contains(text, `"redacted":true`) || !strings.Contains(text, "the key is [redacted]") {
		t.Errorf("%s", text)
	}
}

func TestABrokenBuiltinIsAFailure(t *testing.T) {
	s := newStageCrew(t, ``, func(o *WorkerPoolOptions) {
		o.Builtin = func(_ context.Context, it Attempt, _ Orchestrator) (Result, error) {
			if it.Task.Uses == "break" {
				panic("oh")
			}
			return Result{Files: []Blob{{Path: "a", Data: []byte("x")}}}, nil
		}
	})
	uses := func(name string, outputs ...Output) error {
		it := s.item("", outputs...)
		it.Task.Uses = name
		_, err := s.do(it)
		return err
	}
	s.fails(uses("break"), fault.Failed, "oh")
	testkit.OK(t, uses("make", Output{Path: "a"}))
	_, err := s.do(s.item(""))
	s.fails(err, fault.InvalidRecipe, "nothing to do")
	s.crew.Builtin = nil
	s.fails(uses("make"), fault.InvalidRecipe, "does not know")
}

func TestManyItemsSideBySide(t *testing.T) {
	s := newStageCrew(t, `{"repeat": true, "steps": [{"text": "done"}]}`)
	bundle, commit := repository(t, base)
	errs := make(chan error)
	const n = 12
	for i := range n {
		it := s.item("x", Output{Path: "a", Answer: true})
		it.Scope = fmt.Sprint("s", i)
		it.ID = "r1:draft:1:" + it.Scope
		if i%2 == 0 {
			s.input(&it, "b", bundle)
			it.Task.Tree = &Tree{Bundle: "b", Commit: commit}
			it.Task.Outputs = append(it.Task.Outputs, Output{Path: patch.Path, Patch: true, Empty: true})
		}
		go func() {
			_, err := s.crew.Do(t.Context(), it, s.orchestrator)
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	s.clean()
}

// What a killed host left is removed by the next; what belongs to a living one stays.
func TestTheNextHostSweepsUp(t *testing.T) {
	s := newStageCrew(t, ``)
	dead := filepath.Join(s.dir, prefix+"dead")
	locked := filepath.Join(dead, "items", "1", "shut")
	testkit.OK(t, os.MkdirAll(locked, 0o700))
	testkit.OK(t, os.WriteFile(filepath.Join(locked, "x"), nil, 0o600))
	testkit.OK(t, os.Chmod(locked, 0))
	next := NewWorkerPool(WorkerPoolOptions{Store: s.store, Dir: s.dir})
	testkit.OK(t, next.Start(t.Context(), s.kernel))
	if _, err := os.Stat(dead); err == nil {
		t.Error("it is still there")
	}
	if _, err := os.Stat(s.crew.home); err != nil {
		t.Error("that of a living host is gone")
	}
	testkit.OK(t, next.Stop())
	if left, _ := filepath.Glob(filepath.Join(s.dir, prefix+"*")); len(left) != 1 {
		t.Errorf("%v", left)
	}
}

// In a temporary folder that all accounts share, others make folders too.
func TestAHostUsesNoFolderOfAnotherAccount(t *testing.T) {
	s := newStageCrew(t, ``)
	outside := t.TempDir()
	foreign, link, open := filepath.Join(s.dir, prefix+"foreign"), filepath.Join(s.dir, prefix+"link"), filepath.Join(s.dir, prefix+"open")
	kept := []string{link, open, filepath.Join(outside, "file")}
	for _, dir := range []string{foreign, open} {
		testkit.OK(t, os.Mkdir(dir, 0o700))
	}
	testkit.OK(t, errors.Join(os.Symlink(outside, link), os.WriteFile(kept[2], nil, 0o600), os.Chmod(open, 0o777)))
	if os.Geteuid() == 0 {
		testkit.OK(t, os.Chown(foreign, 61234, 61234))
		kept = append(kept, foreign)
	}
	next := NewWorkerPool(WorkerPoolOptions{Store: s.store, Dir: s.dir})
	testkit.OK(t, next.Start(t.Context(), s.kernel))
	if err := durable.CheckPrivate(next.home); err != nil || filepath.Dir(next.home) != s.dir {
		t.Error(next.home, err)
	}
	testkit.OK(t, next.Stop())
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
		testkit.Attack(t, "accounts", "a host's folder: "+filepath.Base(path))
	}
	os.Remove(link) // the stage looks for items that are left
}

// What an agent has started is gone when its item is.
func TestNothingOfAKilledAgentRuns(t *testing.T) {
	s := newStageCrew(t, `{"steps": [{"call": "bash", "args": {"command": "echo begun; setsid sleep 98765432 & sleep 98765432"}}]}`)
	it := s.rooted("Go.", patch)
	events, enough := s.kernel.Events.Subscribe(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.crew.Do(t.Context(), it, s.orchestrator)
		done <- err
	}()
	for e := range events {
		if e.Type == loop.CallOutput && strings.Contains(e.Text, "begun") {
			enough()
			if _, err := s.kernel.Kill(t.Context(), registry.Kill{Agent: e.Agent}); err != nil {
				t.Error(err)
			}
		}
	}
	s.fails(<-done, fault.Killed)
	s.clean()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, _ := os.ReadFile(path); strings.Contains(string(line), "98765432") {
			t.Errorf("%s: %q", path, line)
		}
	}
}

// Children that an agent forked are waited for, and end with it.
func TestChildrenEndWithTheirItem(t *testing.T) {
	s := newStageCrew(t, `
{"when": "Share", "steps": [{"call": "fork", "args": {"prompt": "Child", "context": "none"}}]}
{"when": "Child", "steps": [{"wait": "child"}, {"call": "write", "args": {"path": "late.txt", "content": "late"}}]}
{"repeat": true, "steps": [{"text": "done"}]}
`)
	it := s.item("Share the work.", Output{Path: "late.txt"})
	it.Task.Tools = []string{"fork", "write"}
	events, enough := s.kernel.Events.Subscribe(t.Context())
	done := make(chan error, 1)
	var res Result
	go func() {
		var err error
		res, err = s.crew.Do(t.Context(), it, s.orchestrator)
		done <- err
	}()
	for e := range events { // the parent's turn is over, the child's is not
		if e.Type == loop.TurnEnded {
			enough()
			s.gates.Open("child")
		}
	}
	if err := <-done; err != nil || string(res.Files[0].Data) != "late" {
		t.Fatalf("%q %v", res.Files, err)
	}
	s.clean()
}

func TestAFolderOfAnswers(t *testing.T) {
	c := AnswerFolder{Dir: filepath.Join(t.TempDir(), "a", "b")}
	key := strings.Repeat("ab", 32)
	get := func(want string) {
		t.Helper()
		got, ok, err := c.Get(key)
		if err != nil || ok != (want != "") || string(got) != want {
			t.Fatalf("%q %v %v", got, ok, err)
		}
	}
	get("")
	testkit.OK(t, c.Drop(key))
	for _, text := range []string{"one", "another"} {
		testkit.OK(t, c.Put(key, []byte(text)))
		get(text)
	}
	path := filepath.Join(c.Dir, key+".json")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	data := testkit.Must(os.ReadFile(path))(t)
	for i := range data {
		testkit.OK(t, os.WriteFile(path, data[:i], 0o600))
		get("")
	}
	testkit.OK(t, c.Put(key, []byte("x")))
	testkit.OK(t, c.Drop(key))
	get("")
	for _, bad := range []string{"", "../" + key[:61], strings.ToUpper(key)} {
		if _, _, err := c.Get(bad); !fault.Is(err, fault.InvalidID) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := c.Put(bad, nil); !fault.Is(err, fault.InvalidID) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCommandsOfAgentsAreConfined(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	s := newStageCrew(t, fmt.Sprintf(`
{"when": "Go", "steps": [{"call": "bash", "args": {"command": "touch inside; touch %s"}}]}
{"when": "confined", "steps": [{"text": "it was"}]}
`, outside))
	it := s.item("Go.", Output{Path: "inside"}, Output{Path: "said", Answer: true})
	it.Task.Tools = []string{"bash"}
	testkit.Must(s.do(it))(t)
	if _, err := os.Stat(outside); err == nil {
		t.Error("it wrote outside its folder")
	}
}
