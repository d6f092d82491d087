package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/seal"
	"ramet/internal/run"
	"ramet/internal/run/ndjson"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
	"ramet/internal/testkit"
)

// logs opens real logs in files.
type logs struct{}

func (logs) Open(ctx context.Context, _ rundir.Kind, dir, _ string) (run.Log, error) {
	return ndjson.Open(ctx, filepath.Join(dir, "events.ndjson"))
}

func (logs) OpenWriter(ctx context.Context, _ rundir.Kind, dir, _ string) (run.Writer, string, error) {
	w, err := ndjson.OpenWriter(ctx, filepath.Join(dir, "events.ndjson"))
	return w, "", err
}

// site is a run with everything real but its workers.
type site struct {
	window int64 // of every model; 0: nobody knows
	t      *testing.T
	store  *rundir.Store
	recipe *recipe.Recipe
	params map[string]string
	staff  func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error)
	gate   func(ctx context.Context, g recipe.Gate, s runner.Site) ([]runner.Issue, error)
	wishes run.Wishes
	// crash ends everything after that many appended events; 0: never.
	crash int
	seen  func(...run.Event)
	far   func(*runner.MemoryQueue) runner.Queue // for other hosts; nil: there are none

	mu    sync.Mutex
	items []string // that were done, in order
}

const runID = "r1"

func newSite(t *testing.T, text string) *site {
	t.Helper()
	r := testkit.Must(recipe.Parse([]byte(text)))(t)
	s := &site{t: t, recipe: r, gate: func(context.Context, recipe.Gate, runner.Site) ([]runner.Issue, error) { return nil, nil }}
	s.params = testkit.Must(r.Bind(nil))(t)
	s.staff = s.echo
	s.again(t)
	return s
}

// again gives the site an empty folder of runs.
// fits holds data against the recipe's own forms, or those of the tests.
func (s *site) fits(schema string, data []byte) error {
	if _, own := s.recipe.Schemas[schema]; own {
		return s.recipe.Fits(schema, data)
	}
	return form(schema, data)
}

func (s *site) again(t *testing.T) {
	t.Helper()
	key := testkit.Must(seal.LoadKey(filepath.Join(t.TempDir(), "key")))(t)
	s.store = &rundir.Store{Root: filepath.Join(t.TempDir(), "runs"), Logs: logs{}, Key: func() (*seal.Key, error) { return key, nil }, Now: time.Now}
	x := testkit.Must(s.store.Begin(t.Context(), runID, rundir.NDJSON, []byte("{}\n"), map[string]any{"run_id": runID, "config_sha256": strings.Repeat("0", 64)}))(t)
	testkit.OK(t, x.Close())
}

// echo makes every output of what the item is.
func (s *site) echo(_ context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
	var res runner.Result
	for _, o := range it.Task.Outputs {
		text := it.Worker + " " + it.Scope + " " + it.Task.Prompt + "\n"
		for _, in := range it.Inputs {
			text += in.Path + " " + in.SHA256 + "\n"
		}
		res.Files = append(res.Files, runner.Blob{Path: o.Path, Data: []byte(text)})
	}
	return res, nil
}

// Do is the executor of the site.
func (s *site) Do(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
	s.mu.Lock()
	s.items = append(s.items, it.ID)
	s.mu.Unlock()
	return s.staff(ctx, it, d)
}

func (s *site) Inspect(ctx context.Context, g recipe.Gate, at runner.Site) ([]runner.Issue, error) {
	return s.gate(ctx, g, at)
}

func (s *site) did() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.items
	s.items = nil
	return out
}

var errCrash = errors.New("the machine died")

// log is the log of an open session that dies when it is told to.
type log struct {
	*rundir.Session
	left *int // appends until the crash; nil: never
	dead bool
}

func (l *log) Append(ctx context.Context, requests ...run.Request) ([]run.Event, error) {
	if l.dead {
		return nil, errCrash
	}
	if l.left != nil {
		if *l.left < len(requests) {
			// Of a batch only the first are on the disk, as after a torn write.
			requests, l.dead = requests[:*l.left], true
			if len(requests) == 0 {
				return nil, errCrash
			}
		}
		*l.left -= len(requests)
	}
	events, err := l.Session.Append(ctx, requests...)
	if l.dead {
		return nil, errors.Join(err, errCrash)
	}
	return events, err
}

// execute carries the run on until it ends or crashes.
func (s *site) execute(ctx context.Context) error {
	s.t.Helper()
	x := testkit.Must(s.store.OpenSession(ctx, runID, rundir.NDJSON))(s.t)
	defer x.Close()
	files := testkit.Must(s.store.OpenFiles(runID))(s.t)
	defer files.Close()
	plan, err := run.PlanResume(x.Now(), s.store.Disk(runID), s.wishes)
	if err != nil {
		return err
	}
	q := runner.NewMemoryQueue()
	defer q.Close()
	l := &log{Session: x}
	if s.crash > 0 {
		n := s.crash
		l.left = &n
	}
	o := runner.Options{RunID: runID, Recipe: s.recipe, Params: s.params, Log: l, Folder: files, Near: q,
		Gates: s, Site: runner.Site{Dir: s.store.Dir(runID), Params: s.params}, Form: s.fits, Window: func(string) int64 { return s.window }, Watch: s.seen}
	if s.far != nil {
		o.Far, o.Lease, o.Here = s.far(q), 50*time.Millisecond, []string{q.Host()}
		o.Hosts = func(context.Context) (map[string]bool, error) { return map[string]bool{q.Host(): true}, nil }
		o.Forget = func(context.Context, string) error { return nil }
	}
	r, err := runner.New(ctx, o)
	if err != nil {
		return err
	}
	return r.Execute(ctx, plan, func(ctx context.Context) error {
		return q.Serve(ctx, []string{runner.Local, runner.Work, runner.ExternalQueue(runner.Work)}, 4, func(ctx context.Context, j runner.Enqueued) error {
			return runner.ServeAttempt(ctx, j, q.Host(), r, s, nil)
		})
	})
}

func form(name string, data []byte) error {
	s, ok := recipe.FindForm(name)
	if !ok {
		return fmt.Errorf("no form %s", name)
	}
	return s.Check(data)
}

// artifacts are all files that the run made.
func (s *site) artifacts() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, folder := range []string{"artifacts", "drafts"} {
		testkit.OK(s.t, filepath.WalkDir(filepath.Join(s.store.Dir(runID), folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".staged-") {
				return nil
			}
			data, err := os.ReadFile(path)
			rel, _ := filepath.Rel(s.store.Dir(runID), path)
			out[rel] = string(data)
			return err
		}))
	}
	return out
}

// now is the state of the run, read from the disk and verified.
// events are all events of the log.
func (s *site) events() []run.Entry {
	s.t.Helper()
	r := testkit.Must(s.store.Open(s.t.Context(), runID, rundir.NDJSON))(s.t)
	defer r.Close()
	var out []run.Entry
	for e, err := range r.Events(s.t.Context(), 0) {
		testkit.OK(s.t, err)
		out = append(out, e)
	}
	return out
}

func (s *site) now() run.Snapshot {
	s.t.Helper()
	r := testkit.Must(s.store.Open(s.t.Context(), runID, rundir.NDJSON))(s.t)
	defer r.Close()
	n := testkit.Must(r.Replay(s.t.Context()))(s.t)
	testkit.Must(r.Verify(s.t.Context()))(s.t)
	return n
}

const small = `
name: small
description: for tests
sections:
  one: {title: One}
  two: {title: Two}
states:
  INGESTED: [list]
  DRAFTING: [draft]
  LINKING: [join]
  PR_OPENED: [tell]
workers:
  list:
    prompt: say what there is
    outputs: [{path: artifacts/list.txt, answer: true}]
  draft:
    each: sections
    prompt: 'write {{section.Title}}{{if failure}} (before: {{failure}}){{end}}'
    inputs: [artifacts/list.txt]
    outputs: [{path: 'drafts/{scope}/page.md', answer: true}]
  join:
    prompt: put it together
    inputs: [drafts/**]
    outputs: [{path: artifacts/all.md, answer: true}]
  tell:
    command: tell
    effect: external
    key: 'tell-{scope}'
    lookup: look
    inputs: [artifacts/all.md]
    outputs: [{path: artifacts/told.txt, answer: true}]
gates:
  look: {command: look}
`

func TestARunGoesThroughAllItsStates(t *testing.T) {
	s := newSite(t, small)
	testkit.OK(t, s.execute(t.Context()))
	n := s.now()
	if n.RunState != run.Done || len(n.WorkItems) != 5 {
		t.Fatalf("%s %+v", n.RunState, n.WorkItems)
	}
	for _, w := range n.WorkItems {
		if w.Status != run.Completed || len(w.Outputs) != 1 || w.Outputs[0].SHA256 == nil {
			t.Errorf("%+v", w)
		}
	}
	if !maps.Equal(n.SectionStates, map[string]run.SectionState{"one": run.Validated, "two": run.Validated}) {
		t.Error(n.SectionStates)
	}
	if len(n.Artifacts) != 5 || len(s.artifacts()) != 5 {
		t.Error(n.Artifacts)
	}
	// What is over does not go on.
	if err := s.execute(t.Context()); !fault.Is(err, fault.IllegalTransition) {
		t.Error(err)
	}
}

// world is what external effects happen in: it survives every crash, and counts.
type world struct {
	mu   sync.Mutex
	told map[string]int
}

// executor does items like echo; external ones look first, act, and can die in between.
func (w *world) staff(s *site) func(context.Context, runner.Attempt, runner.Orchestrator) (runner.Result, error) {
	return func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		if it.Task.External {
			w.mu.Lock()
			if it.Task.Lookup == "" || w.told[it.Task.Key] == 0 {
				w.told[it.Task.Key]++
			}
			w.mu.Unlock()
		}
		return s.echo(ctx, it, d)
	}
}

func TestKilledAfterEveryEventAndResumed(t *testing.T) {
	s := newSite(t, small)
	w := &world{told: map[string]int{}}
	s.staff = w.staff(s)
	testkit.OK(t, s.execute(t.Context()))
	want, events := s.artifacts(), int(s.now().EventCount)
	for n := 1; n < events-1; n++ { // the first was there before
		w.told = map[string]int{}
		s.again(t)
		s.did()
		s.crash = n
		if err := s.execute(t.Context()); !errors.Is(err, errCrash) {
			t.Fatalf("after %d events: %v", n, err)
		}
		finished := completed(s.now())
		s.did()
		s.crash = 0
		if err := s.execute(t.Context()); err != nil {
			t.Fatalf("resumed after %d events: %v", n, err)
		}
		for _, id := range s.did() {
			if finished[unitOf(id)] {
				t.Errorf("after %d events: %s was done again", n, id)
			}
		}
		if got := s.artifacts(); !maps.Equal(got, want) {
			t.Fatalf("after %d events: %v, not %v", n, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
		if w.told["tell-all"] != 1 {
			t.Errorf("after %d events: told %d times", n, w.told["tell-all"])
		}
	}
}

func completed(n run.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, w := range n.WorkItems {
		if w.Status == run.Completed {
			out[unitOf(w.WorkItemID)] = true
		}
	}
	return out
}

func unitOf(id string) string {
	p := strings.SplitN(id, ":", 4)
	return p[1] + ":" + p[3]
}

// A lookup that never knows is not asked for ever: the run stops and says so, and a resume looks again.
func TestALookupThatDoesNotKnowEndsTheRun(t *testing.T) {
	s := newSite(t, small)
	w := &world{told: map[string]int{}}
	asked := 0
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		if !it.Task.External {
			return w.staff(s)(ctx, it, d)
		}
		if asked++; asked > 50 {
			t.Error("it is asked without end")
			return w.staff(s)(ctx, it, d)
		}
		return runner.Result{}, fault.New(fault.UnknownOutcome, "the lookup is broken")
	}
	for range 2 { // a resume looks again, as often
		asked = 0
		if err := s.execute(t.Context()); !fault.Is(err, fault.UnknownOutcome) || !strings.Contains(err.Error(), "the lookup is broken") || asked != 3 {
			t.Fatalf("asked %d times: %v", asked, err)
		}
	}
	s.staff = w.staff(s)
	if err := s.execute(t.Context()); err != nil || w.told["tell-all"] != 1 {
		t.Fatal(err, w.told)
	}
}

func TestAnEffectThatCannotBeLookedUpIsListedAndNotRepeated(t *testing.T) {
	s := newSite(t, strings.Replace(small, "    lookup: look\n", "", 1))
	w := &world{told: map[string]int{}}
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		res, err := w.staff(s)(ctx, it, d)
		if it.Task.External {
			err = fault.New(fault.UnknownOutcome, "the line was cut")
		}
		return res, err
	}
	if err := s.execute(t.Context()); !fault.Is(err, fault.UnknownOutcome) {
		t.Fatal(err)
	}
	// Resumed without a word about it, nothing happens.
	if err := s.execute(t.Context()); !fault.Is(err, fault.UnknownOutcome) || w.told["tell-all"] != 1 {
		t.Fatal(err, w.told)
	}
	s.staff = w.staff(s)
	s.wishes.Redo = []string{run.ItemID(runID, "tell", 1, "all")}
	if err := s.execute(t.Context()); err != nil || w.told["tell-all"] != 2 {
		t.Fatal(err, w.told)
	}
}

func TestWhatFailsIsTriedAgainWithTheReason(t *testing.T) {
	s := newSite(t, small)
	var prompts []string
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		if it.Worker == "draft" && it.Scope == "one" {
			prompts = append(prompts, it.Task.Prompt)
			if it.Number == 1 {
				return runner.Result{}, nil // nothing was made
			}
		}
		return s.echo(ctx, it, d)
	}
	testkit.OK(t, s.execute(t.Context()))
	want := []string{"write One", "write One (before: it did not make drafts/one/page.md)"}
	if !slices.Equal(prompts, want) {
		t.Errorf("%q", prompts)
	}
}

// A worker is told what it is, what it must deliver in which form, and what was wrong before.
func TestAWorkerIsToldWhatToDeliver(t *testing.T) {
	s := newSite(t, `
name: judge
schemas:
  verdict: {type: object, properties: {risk: {type: string, enum: [low, high]}, summary: {type: string}}, required: [risk, summary], additionalProperties: false}
states: {DRAFTING: [judge]}
workers:
  judge:
    each: [one]
    prompt: judge it
    timeout: 15m
    outputs: [{path: "drafts/{scope}.json", schema: verdict, answer: true}, {path: "drafts/{scope}/page.md", schema: markdown}, {path: "drafts/more/{scope}/**"}]
limits: {attempts: 3, lines_per_file: 100}
`)
	var told []string
	s.staff = func(_ context.Context, it runner.Attempt, _ runner.Orchestrator) (runner.Result, error) {
		told = append(told, it.Task.Assignment)
		answers := []string{`{"more": 1, "risk": "none"}`, `{"risk": "low"}`, `{"risk": "low", "summary": "fine"}`}
		return runner.Result{Files: []runner.Blob{{Path: "drafts/one.json", Data: []byte(answers[len(told)-1])}, {Path: "drafts/one/page.md", Data: []byte("# P\n")},
			{Path: fmt.Sprintf("drafts/more/one/%d", len(told)), Data: []byte("x")}}}, nil
	}
	testkit.OK(t, s.execute(t.Context()))
	for i, want := range [][]string{
		{"a worker of the recipe judge: item judge one, attempt 1 of 3, at most 15m0s. No person watches, and no questions can be asked.", "You have no tools",
			"as your last message nothing but one JSON value", "<schema>\n{", `"required":["risk","summary"]`, "the file drafts/one/page.md in your folder, in Markdown", "files below drafts/more/one/"},
		{"attempt 2 of 3", "refused: drafts/one.json: not of the form verdict: /summary: is missing; /more: no such field here; /risk: must be one of", "<answer>\n{\"more\": 1, \"risk\": \"none\"}\n</answer>"},
		{"attempt 3 of 3", "refused: drafts/one.json: not of the form verdict: /summary: is missing\n", "<answer>\n{\"risk\": \"low\"}\n</answer>"},
	} {
		for _, words := range want {
			if !strings.Contains(told[i], words) {
				t.Errorf("attempt %d is not told %q:\n%s", i+1, words, told[i])
			}
		}
		if strings.Contains(told[i], runID) {
			t.Errorf("it holds the id of the run:\n%s", told[i])
		}
	}
}

// What an earlier attempt left in a folder that an item fills is not of the one that counts.
func TestAFolderHoldsWhatTheNewestAttemptGave(t *testing.T) {
	s := newSite(t, `
name: fill
states: {DRAFTING: [fill], LINKING: [count]}
workers:
  fill: {command: fill, outputs: [artifacts/all/**]}
  count: {command: count, inputs: [artifacts/all/**], outputs: [{path: artifacts/count.txt, answer: true}]}
gates: {look: {command: look}}
`)
	names := []string{"a", "b"}
	var counted []string
	s.staff = func(_ context.Context, it runner.Attempt, _ runner.Orchestrator) (runner.Result, error) {
		if it.Worker == "count" {
			counted = nil
			for _, in := range it.Inputs {
				counted = append(counted, in.Path)
			}
			return runner.Result{Files: []runner.Blob{{Path: "artifacts/count.txt", Data: []byte(fmt.Sprint(len(counted)))}}}, nil
		}
		var res runner.Result
		for _, n := range names {
			res.Files = append(res.Files, runner.Blob{Path: "artifacts/all/" + n, Data: []byte(n)})
		}
		return res, nil
	}
	issues := []runner.Issue{{Severity: runner.Blocker, Code: "B", Message: "no"}}
	s.gate = func(context.Context, recipe.Gate, runner.Site) ([]runner.Issue, error) { return issues, nil }
	if err := s.execute(t.Context()); !fault.Is(err, fault.GateFailed) || !slices.Equal(counted, []string{"artifacts/all/a", "artifacts/all/b"}) {
		t.Fatal(err, counted)
	}
	names, issues = []string{"b", "c"}, nil
	s.wishes = run.Wishes{Force: true, FromFailed: true}
	if err := s.execute(t.Context()); err != nil || !slices.Equal(counted, []string{"artifacts/all/b", "artifacts/all/c"}) {
		t.Error(counted)
	}
}

// No item gets more than half of what its model can read; that is told before it begins.
func TestAnInputThatFillsTheWindowIsRefusedFirst(t *testing.T) {
	s := newSite(t, `
name: much
states: {INGESTED: [make], FACTS_READY: [other], DRAFTING: [read]}
workers:
  make: {command: make, outputs: [{path: artifacts/a.txt, answer: true}]}
  other: {command: make, inputs: [artifacts/a.txt], outputs: [{path: artifacts/c.txt, answer: true}]}
  read: {prompt: 'read {{input "artifacts/a.txt"}}', inputs: [artifacts/a.txt], outputs: [{path: artifacts/b.txt, answer: true}]}
`)
	s.staff = func(_ context.Context, it runner.Attempt, _ runner.Orchestrator) (runner.Result, error) {
		return runner.Result{Files: []runner.Blob{{Path: it.Task.Outputs[0].Path, Data: []byte(strings.Repeat("word ", 4000))}}}, nil
	}
	s.window = 10_000
	if err := s.execute(t.Context()); !fault.Is(err, fault.ProviderContext) || !strings.Contains(err.Error(), "read all would be given about 67") || !strings.Contains(err.Error(), "more than half of the 10000 that the configured model can read") {
		t.Fatal(err)
	}
	if did := s.did(); len(did) != 1 { // nothing that would be in vain
		t.Error(did)
	}
	s.window = 100_000
	testkit.OK(t, s.execute(t.Context()))
}

// What a crash left open is closed before anything else: model calls and looks of gates.
func TestAResumeClosesWhatACrashLeftOpen(t *testing.T) {
	s := newSite(t, small)
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		call := it.Worker + "." + it.Scope + ".1"
		payload, _ := json.Marshal(map[string]any{"call_id": call, "model": "m", "provider_base_url": "", "prompt_hash": "x", "temperature": 1, "max_tokens": 1})
		if it.Worker == "join" {
			if err := d.Report(ctx, it.ID, runner.Report{ID: it.ID + call, Type: run.LLMCallStarted, Payload: payload}); err != nil {
				return runner.Result{}, err
			}
			if it.Number == 1 {
				return runner.Result{}, fault.New(fault.StorageIO, "the disk is gone")
			}
			payload, _ = json.Marshal(run.CallEnd{CallID: call, FinishReason: "stop", OutputHash: "x"})
			if err := d.Report(ctx, it.ID, runner.Report{ID: it.ID + call + "end", Type: run.LLMCallFinished, Payload: payload}); err != nil {
				return runner.Result{}, err
			}
		}
		return s.echo(ctx, it, d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.gate = func(context.Context, recipe.Gate, runner.Site) ([]runner.Issue, error) { cancel(); return nil, nil }
	if err := s.execute(t.Context()); !fault.Is(err, fault.StorageIO) {
		t.Fatal(err)
	}
	if err := s.execute(ctx); !fault.Is(err, fault.Interrupted) {
		t.Fatal(err)
	}
	s.gate = func(context.Context, recipe.Gate, runner.Site) ([]runner.Issue, error) { return nil, nil }
	testkit.OK(t, s.execute(t.Context()))
	spans := map[string][]string{}
	for _, e := range s.events() {
		switch e.Type {
		case run.LLMCallStarted, run.LLMCallFinished, run.GateRunStarted, run.GateRunFinished:
			spans[e.SpanID] = append(spans[e.SpanID], string(e.Type))
		case run.LLMCallFailed:
			if p := run.ReadPayload[run.CallFailure](e.Payload); p.Class != string(fault.Interrupted) {
				t.Errorf("%+v", p)
			}
			spans[e.SpanID] = append(spans[e.SpanID], string(e.Type))
		}
	}
	var got []string
	for _, types := range spans {
		got = append(got, strings.Join(types, " "))
	}
	slices.Sort(got)
	want := []string{"GATE_RUN_STARTED GATE_RUN_FINISHED", "GATE_RUN_STARTED GATE_RUN_FINISHED", "LLM_CALL_STARTED LLM_CALL_FAILED", "LLM_CALL_STARTED LLM_CALL_FINISHED"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// An answer that led to nothing is not asked for again: not by the next attempt, not by who
// mends, not after a failed run was reopened.
func TestWhatLedToNothingIsAskedAnew(t *testing.T) {
	s := newSite(t, withFix(small))
	var mu sync.Mutex // items are done side by side
	fresh := map[string]bool{}
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		mu.Lock()
		fresh[fmt.Sprintf("%s %d", it.Worker, it.Number)] = it.Task.Fresh
		mu.Unlock()
		if it.Worker == "draft" && it.Number == 1 {
			return runner.Result{}, nil
		}
		return s.echo(ctx, it, d)
	}
	s.gate = func(context.Context, recipe.Gate, runner.Site) ([]runner.Issue, error) {
		return []runner.Issue{{Severity: runner.Error, Code: "E", Message: "stays", Files: []string{"x.md"}}}, nil
	}
	if err := s.execute(t.Context()); !fault.Is(err, fault.NoProgress) {
		t.Fatal(err)
	}
	s.wishes = run.Wishes{FromFailed: true, Redo: []string{"draft:1:one"}}
	if err := s.execute(t.Context()); !fault.Is(err, fault.NoProgress) {
		t.Fatal(err)
	}
	for item, want := range map[string]bool{"draft 1": false, "draft 2": true, "draft 3": true, "join 1": false, "fix 1": true} {
		if got, did := fresh[item]; !did || got != want {
			t.Errorf("%s: %t, %t", item, got, did)
		}
	}
}

// Its section is BLOCKED meanwhile, and no other; afterwards it goes the way of the others.
func TestAnItemThatFailsForGoodEndsTheRunAndCanBeReopened(t *testing.T) {
	s := newSite(t, small)
	broken := true
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		if broken && it.Worker == "draft" && it.Scope == "two" {
			return runner.Result{}, fault.New(fault.Denied, "not allowed")
		}
		return s.echo(ctx, it, d)
	}
	if err := s.execute(t.Context()); !fault.Is(err, fault.Denied) {
		t.Fatal(err)
	}
	if n := s.now(); n.RunState != run.Failed || n.SectionStates["two"] != run.Blocked || n.SectionStates["one"] != run.Drafted {
		t.Fatal(n.RunState, n.SectionStates)
	}
	if err := s.execute(t.Context()); !fault.Is(err, fault.IllegalTransition) {
		t.Fatal(err)
	}
	broken, s.wishes.FromFailed = false, true
	s.did()
	testkit.OK(t, s.execute(t.Context()))
	if did := s.did(); slices.Contains(did, run.ItemID(runID, "draft", 1, "one")) || !slices.Contains(did, run.ItemID(runID, "draft", 2, "two")) {
		t.Error(did)
	}
	if n := s.now(); n.SectionStates["two"] != run.Validated || n.SectionStates["one"] != run.Validated {
		t.Error(n.SectionStates)
	}
}

func TestForceDoesEverythingAgain(t *testing.T) {
	s := newSite(t, small)
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		if it.Worker == "join" {
			return runner.Result{}, fault.New(fault.ProviderAuth, "no key") // not the run's fault: it can go on
		}
		return s.echo(ctx, it, d)
	}
	if err := s.execute(t.Context()); !fault.Is(err, fault.ProviderAuth) || s.now().RunState != run.Linking {
		t.Fatal(err, s.now().RunState)
	}
	s.staff, s.wishes.Force = s.echo, true
	s.did()
	testkit.OK(t, s.execute(t.Context()))
	if did := s.did(); len(did) != 5 {
		t.Error(did)
	}
}

func TestWorkWhoseFilesChangedIsDoneAgain(t *testing.T) {
	s := newSite(t, small)
	s.crash = 30
	if err := s.execute(t.Context()); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	s.crash = 0
	testkit.OK(t, os.WriteFile(filepath.Join(s.store.Dir(runID), "artifacts/list.txt"), []byte("other"), 0o644))
	s.did()
	testkit.OK(t, s.execute(t.Context()))
	did := s.did()
	if !slices.Contains(did, run.ItemID(runID, "list", 2, "all")) {
		t.Error(did)
	}
	// The same bytes came out, so nothing that depends on them was done again.
	if slices.Contains(did, run.ItemID(runID, "draft", 2, "one")) {
		t.Error(did)
	}
}

const mended = small + `
  second: {command: links}
`

func withFix(text string) string {
	text = strings.Replace(text, "  PR_OPENED: [tell]\n", "  FIXING: [fix, join]\n  PR_OPENED: [tell]\n", 1)
	return strings.Replace(text, "  tell:\n", `  fix:
    each: issue
    prompt: 'mend {{issue.Message}}'
    inputs: [drafts/**]
    outputs: [{path: 'drafts/fixes/{scope}.patch', answer: true}]
  tell:
`, 1)
}

func TestIssuesAreMendedOneAtATime(t *testing.T) {
	s := newSite(t, withFix(mended))
	var fixed []string
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		if it.Worker == "fix" {
			fixed = append(fixed, it.Task.Prompt)
		}
		return s.echo(ctx, it, d)
	}
	s.gate = func(_ context.Context, g recipe.Gate, _ runner.Site) ([]runner.Issue, error) {
		all := []runner.Issue{{Severity: runner.Warn, Code: "W", Message: "only a warning"}}
		for _, m := range []string{"a", "b"} {
			if g.Name == "look" && !slices.Contains(fixed, "mend "+m) {
				all = append(all, runner.Issue{Severity: runner.Error, Code: "E", Message: m, Rule: m, Files: []string{"x.md"}})
			}
		}
		if g.Name == "second" && !slices.Contains(fixed, "mend c") {
			all = append(all, runner.Issue{Severity: runner.Blocker, Code: "B", Message: "c", Files: []string{"x.md"}})
		}
		return all, nil
	}
	testkit.OK(t, s.execute(t.Context()))
	if want := []string{"mend c", "mend a", "mend b"}; !slices.Equal(fixed, want) {
		t.Error(fixed)
	}
	n := s.now()
	open := 0
	for _, i := range n.Issues {
		if i.Status != run.IssueDone {
			open++
		}
	}
	if open != 2 || len(n.Issues) != 5 { // the warnings stay
		t.Errorf("%d of %d open", open, len(n.Issues))
	}
}

func TestNoProgressEndsTheRunAlsoOverCrashes(t *testing.T) {
	s := newSite(t, withFix(small))
	s.gate = func(context.Context, recipe.Gate, runner.Site) ([]runner.Issue, error) {
		return []runner.Issue{{Severity: runner.Error, Code: "E", Message: "stays", Files: []string{"x.md"}}}, nil
	}
	fixes := func() (count int) {
		for _, id := range s.did() {
			if strings.Contains(id, ":fix:") {
				count++
			}
		}
		return count
	}
	if err := s.execute(t.Context()); !fault.Is(err, fault.NoProgress) || fixes() != 3 || s.now().RunState != run.Failed {
		t.Fatal(err, s.now().RunState)
	}
	events := int(s.now().EventCount)
	for n := events - 40; n < events; n += 7 {
		s.again(t)
		s.did()
		s.crash = n
		s.execute(t.Context())
		s.crash = 0
		if err := s.execute(t.Context()); !fault.Is(err, fault.NoProgress) {
			t.Fatalf("after %d events: %v", n, err)
		}
		if got := fixes(); got > 4 { // three, and one that was interrupted
			t.Errorf("after %d events: mended %d times", n, got)
		}
	}
	// Reopened, it is tried again.
	s.wishes.FromFailed = true
	if err := s.execute(t.Context()); !fault.Is(err, fault.NoProgress) || fixes() != 3 {
		t.Error(err)
	}
}

// A gate that finds other words, or other files, each time does not keep a run going.
func TestMendingEnds(t *testing.T) {
	for name, c := range map[string]struct {
		issue func(look int) runner.Issue
		fixes int
	}{
		"other words": {func(look int) runner.Issue {
			return runner.Issue{Severity: runner.Error, Code: "E", Message: fmt.Sprintf("took %d ms", look), Line: look, Files: []string{"x.md"}}
		}, 2},
		"all that was made": {func(look int) runner.Issue {
			return runner.Issue{Severity: runner.Error, Code: "E", Message: "x", Rule: runner.Whole, Files: []string{fmt.Sprintf("%d.md", look)}}
		}, 2},
		"other files": {func(look int) runner.Issue {
			return runner.Issue{Severity: runner.Error, Code: "E", Message: "x", Files: []string{fmt.Sprintf("%d.md", look)}}
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, withFix(small)+"limits: {fix_attempts: 2, fix_rounds: 5}\n")
			look, prompts := 0, []string{}
			s.gate = func(context.Context, recipe.Gate, runner.Site) ([]runner.Issue, error) {
				look++
				return []runner.Issue{c.issue(look)}, nil
			}
			s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
				if it.Worker == "fix" {
					prompts = append(prompts, it.Task.Prompt)
				}
				return s.echo(ctx, it, d)
			}
			if err := s.execute(t.Context()); !fault.Is(err, fault.NoProgress) || len(prompts) != c.fixes {
				t.Fatal(err, prompts)
			}
			// Whoever mends is told the newest words.
			if want := "mend " + c.issue(c.fixes).Message; prompts[c.fixes-1] != want {
				t.Errorf("%q, want %q", prompts[c.fixes-1], want)
			}
			// A crash does not make it forget the rounds.
			s.wishes.FromFailed = true
			if err := s.execute(t.Context()); !fault.Is(err, fault.NoProgress) || len(prompts) != 2*c.fixes {
				t.Fatal(err, prompts)
			}
		})
	}
}

func TestAGateThatHangsIsABlocker(t *testing.T) {
	s := newSite(t, strings.Replace(small, "{command: look}", "{command: look, timeout: 10ms}", 1))
	s.gate = func(ctx context.Context, _ recipe.Gate, _ runner.Site) ([]runner.Issue, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	err := s.execute(t.Context())
	n := s.now()
	if !fault.Is(err, fault.GateFailed) || n.RunState != run.Failed || len(n.Issues) != 1 || *n.Issues[0].ErrorCode != "GATE_TIMEOUT" || n.Issues[0].Severity != "blocker" {
		t.Fatal(err, n.RunState, n.Issues)
	}
}

func TestABudgetThatIsUsedUpStopsTheRunAndMoreLetsItGoOn(t *testing.T) {
	s := newSite(t, small+"limits: {calls: 2, parallel: 1}\n")
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		call := it.Worker + "." + it.Scope + ".1"
		payload, _ := json.Marshal(map[string]any{"call_id": call, "model": "m", "provider_base_url": "", "prompt_hash": "x", "temperature": 1, "max_tokens": 1})
		if err := d.Report(ctx, it.ID, runner.Report{ID: it.ID + call, Type: run.LLMCallStarted, Payload: payload}); err != nil {
			return runner.Result{}, err
		}
		return s.echo(ctx, it, d)
	}
	if err := s.execute(t.Context()); !fault.Is(err, fault.BudgetExceeded) {
		t.Fatal(err)
	}
	if n := s.now(); n.RunState.Terminal() {
		t.Fatal(n.RunState)
	}
	// With the same budget nothing more is sent.
	if err := s.execute(t.Context()); !fault.Is(err, fault.BudgetExceeded) {
		t.Fatal(err)
	}
	s.recipe.Limits.Calls = 100
	testkit.OK(t, s.execute(t.Context()))
}

func TestInterruptedItStaysResumable(t *testing.T) {
	s := newSite(t, small)
	ctx, cancel := context.WithCancel(t.Context())
	s.staff = func(ctx context.Context, it runner.Attempt, d runner.Orchestrator) (runner.Result, error) {
		if it.Worker == "draft" {
			cancel()
			<-ctx.Done()
			return runner.Result{}, ctx.Err()
		}
		return s.echo(ctx, it, d)
	}
	if err := s.execute(ctx); !fault.Is(err, fault.Interrupted) {
		t.Fatal(err)
	}
	if n := s.now(); n.RunState != run.Drafting {
		t.Fatal(n.RunState)
	}
	s.staff = s.echo
	testkit.OK(t, s.execute(t.Context()))
}
