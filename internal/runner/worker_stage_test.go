package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/files/git"
	"ramet/internal/kernel"
	"ramet/internal/launch/sandbox"
	"ramet/internal/ledger"
	"ramet/internal/model/llm"
	"ramet/internal/run"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/tools/local"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// crewStage is a workspace with a kernel, a crew, and a run's own agent.
type crewStage struct {
	t            testing.TB
	store        *store.Store
	kernel       *kernel.Kernel
	crew         *WorkerPool
	run          agent.Agent
	book         *ledger.Folder
	gates        llmtest.ScriptGates
	model        llm.Provider
	orchestrator *crewDesk
	dir          string // of the crew
}

// deny is the guard of agents that are none of ours.
type deny struct{}

func (deny) Decide(context.Context, tool.Spec, tool.Call) (tool.Grant, *history.Permission, error) {
	return "", nil, fault.New(fault.Denied, "nobody can be asked")
}

func newStageCrew(t testing.TB, replies string, change ...func(*WorkerPoolOptions)) *crewStage {
	t.Helper()
	s := &crewStage{t: t, orchestrator: &crewDesk{inputs: map[string][]byte{}}, dir: filepath.Join(t.TempDir(), "items")}
	s.model = testkit.Must(llmtest.ParseScript(replies, s.gates.Wait))(t)
	s.store = testkit.Must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ramet.db"), sqlite.Options{Cwd: "/"}))(t)
	t.Cleanup(func() {
		if _, err := s.store.Audit(context.Background(), nil); err != nil {
			t.Errorf("verify: %v", err)
		}
		s.store.Close()
	})
	zero := testkit.Must(s.store.Zero(t.Context()))(t)
	s.book = ledger.FolderAt(t.TempDir(), ledger.FolderOptions{})
	o := WorkerPoolOptions{Store: s.store, Dir: s.dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Owner: ledger.SelfOwner(),
		Book:    func(Attempt) ledger.Book { return s.book },
		BaseURL: func(llm.Ref) string { return "http://user:secret@model.example/v1?key=1" },
		Form:    isJSON,

		External: true,
	}
	for _, f := range change {
		f(&o)
	}
	s.crew = NewWorkerPool(o)
	s.kernel = testkit.Must(kernel.Start(t.Context(), kernel.Options{
		Store: s.store, Owner: "here:1:a",
		Parts: kernel.Parts{
			Models: kernel.Models{Model: func(a agent.Agent, _ llm.Ref) (kernel.Model, error) {
				return s.crew.Model(a, kernel.Model{Ref: llm.Ref{Vendor: "script", Name: "test"}, Info: llm.Model{Name: "test"}, Provider: s.model})
			}},
			Toolbox: kernel.Toolbox{Tools: s.tools, Guard: s.crew.Guard(deny{}), Offer: s.crew.Tools},
			Prompts: kernel.Prompts{System: func(agent.Agent, tool.Box) ([]llm.Message, string, error) {
				return []llm.Message{llm.Say(llm.System, "Work.")}, "", nil
			}},
		},
		Peers: kernel.Peers{Gone: func(string) bool { return false }, Tell: func(context.Context, ...registry.Ring) {}},
	}))(t)
	t.Cleanup(s.kernel.Stop)
	testkit.OK(t, s.crew.Start(t.Context(), s.kernel))
	t.Cleanup(func() {
		s.clean()
		if err := s.crew.Stop(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(s.dir, "*", "*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	born := testkit.Must(s.kernel.Fork(t.Context(), registry.Fork{Parent: zero.ID, Children: []registry.Child{{ID: id.NewAgent(), Name: "run"}}}, ""))(t)
	s.run = born[0]
	return s
}

func isJSON(schema string, data []byte) error {
	if schema == "page" && strings.HasPrefix(string(data), "{") {
		return nil
	}
	return fmt.Errorf("line 1: an object is wanted, and there is %.10q", data)
}

func (s *crewStage) tools(a agent.Agent) (tool.Box, error) {
	if a.Cwd == "/" {
		return nil, nil
	}
	made, err := local.New(local.Options{Root: a.Cwd, Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		return nil, err
	}
	return made.Tools(), nil
}

// item is one that an agent does, unless told otherwise.
func (s *crewStage) item(prompt string, outputs ...Output) Attempt {
	return Attempt{ID: "r1:draft:1:intro", RunID: "r1", Worker: "draft", Scope: "intro", Number: 1, Agent: string(s.run.ID),
		Task: Task{Prompt: prompt, Outputs: outputs}}
}

// input adds a file.
func (s *crewStage) input(it *Attempt, path string, data []byte) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	s.orchestrator.mu.Lock()
	s.orchestrator.inputs[name] = data
	s.orchestrator.mu.Unlock()
	it.Inputs = append(it.Inputs, Input{Path: path, SHA256: name})
}

func (s *crewStage) do(it Attempt) (Result, error) {
	return s.crew.Do(s.t.Context(), it, s.orchestrator)
}

// replaceTimer lets the time of items end when the test calls fire, instead of by a timer.
func (s *crewStage) replaceTimer() (fire func()) {
	fired := make(chan struct{})
	s.crew.withTimeout = func(ctx context.Context, _ time.Duration, cause error) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		go func() {
			select {
			case <-fired:
				cancel(cause)
			case <-ctx.Done():
			}
		}()
		return ctx, func() { cancel(nil) }
	}
	return sync.OnceFunc(func() { close(fired) })
}

// clean checks that nothing is left of any item: no folder, no living agent below the
// run, nothing open in the ledger.
func (s *crewStage) clean() {
	s.t.Helper()
	s.crew.ends.Wait()
	if left, _ := filepath.Glob(filepath.Join(s.dir, "*", "items", "*")); len(left) > 0 {
		s.t.Errorf("left of items: %v", left)
	}
	if notes, _ := filepath.Glob(filepath.Join(s.dir, "*", "clones", "*", "worktrees", "*")); len(notes) > 0 {
		s.t.Errorf("left in clones: %v", notes)
	}
	all := testkit.Must(s.store.Agents(context.Background(), agent.Filter{}))(s.t)
	for _, a := range all {
		if !a.IsZero() && a.ID != s.run.ID {
			s.t.Errorf("agent %s lives", a.Label())
		}
	}
	v := testkit.Must(s.book.Read(context.Background()))(s.t)
	for _, e := range v.Entries() {
		if e.Status == ledger.Spawned {
			s.t.Errorf("open in the ledger: %+v", e)
		}
	}
}

func (s *crewStage) fails(err error, code fault.Code, words ...string) {
	s.t.Helper()
	if !fault.Is(err, code) {
		s.t.Fatalf("%v (%s), want %s", err, fault.CodeOf(err), code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			s.t.Errorf("%q does not say %q", err, w)
		}
	}
}

// orchestrator is an orchestrator that only remembers.
type crewDesk struct {
	inputs map[string][]byte
	refuse func(Report) error

	mu      sync.Mutex
	reports []Report
	fetched int
}

func (d *crewDesk) Claim(context.Context, string, string) (Attempt, error) {
	panic("the crew claims nothing")
}

func (d *crewDesk) Deliver(context.Context, string, Result, *Failure) error {
	panic("the crew delivers nothing")
}

func (d *crewDesk) Fetch(_ context.Context, _, sum string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fetched++
	data, ok := d.inputs[sum]
	if !ok {
		return nil, fault.New(fault.NotFound, "no input %s", sum)
	}
	return data, nil
}

func (d *crewDesk) Report(_ context.Context, item string, r Report) error {
	if err := run.CheckPayload(r.Type, r.Payload); err != nil {
		return err
	}
	if d.refuse != nil {
		if err := d.refuse(r); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reports = append(d.reports, r)
	return nil
}

// repository makes a bundle of one commit with these files.
func repository(t testing.TB, files map[string]string) (bundle []byte, commit string) {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) string {
		c := git.Command{Dir: dir, Env: []string{"GIT_AUTHOR_DATE=1970-01-01T00:00:00Z", "GIT_COMMITTER_DATE=1970-01-01T00:00:00Z"}}
		out, err := c.Run(t.Context(), append([]string{"-c", "user.name=ramet", "-c", "user.email=ramet@localhost", "-c", "init.defaultBranch=main"}, args...)...)
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(out)
	}
	git("init", "-q")
	for name, text := range files {
		path := filepath.Join(dir, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	git("add", "-A", "-f")
	git("commit", "-q", "-m", "base")
	git("bundle", "create", "-q", "out.bundle", "HEAD")
	bundle = testkit.Must(os.ReadFile(filepath.Join(dir, "out.bundle")))(t)
	return bundle, git("rev-parse", "HEAD")
}

// A command is in the registry and in the ledger while it runs, below the run's agent; who kills it
// there ends it, and all that it began.
func TestACommandIsAnAgent(t *testing.T) {
	s := newStageCrew(t, ``)
	long := fmt.Sprintf("9%d4321", os.Getpid()) // seconds; nobody else's
	events, enough := s.kernel.Events.Subscribe(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.crew.Do(t.Context(), s.command("setsid sleep "+long+" & sleep "+long, printed), s.orchestrator)
		done <- err
	}()
	for e := range events {
		if e.Type != loop.Forked {
			continue
		}
		enough()
		a, err := s.store.Agent(t.Context(), e.Children[0])
		if err != nil || a.Parent != s.run.ID || a.Status != agent.Running || a.Name == "" {
			t.Errorf("%+v %v", a, err)
		}
		book := testkit.Must(s.book.Read(t.Context()))(t)
		if list := book.Entries(); len(list) != 1 || list[0].ID != string(a.ID) || list[0].Status != ledger.Spawned {
			t.Errorf("%+v", list)
		}
		if _, err := s.kernel.Kill(t.Context(), registry.Kill{Agent: a.ID, Cascade: true}); err != nil {
			t.Error(err)
		}
	}
	s.fails(<-done, fault.Killed)
	s.clean()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, _ := os.ReadFile(path); strings.Contains(string(line), long) {
			t.Errorf("%s: %q", path, line)
		}
	}
	testkit.Must(s.do(s.command("echo well", printed)))(t)
	s.clean()
	book := testkit.Must(s.book.Read(t.Context()))(t)
	if list := book.Entries(); len(list) != 2 || list[0].Status != ledger.Failed || list[1].Status != ledger.Completed || list[1].Type != "draft" {
		t.Errorf("%+v", list)
	}
}
