package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// fleet is hosts that do the items of one run and share nothing but a PostgreSQL: each
// has a home, a project and a model of its own. The first carries the run out.
type fleet struct {
	*team
	boss *site
	run  string
}

// site is one of them.
type site struct {
	*host
	name string
	gate *os.File // of its model: see newFleet
}

func newFleet(t *testing.T, recipe string) *fleet {
	t.Helper()
	f := &fleet{team: newTeam(t), run: "r"}
	f.boss = f.site("boss")
	f.write(f.boss.dir, "recipe.yaml", recipe)
	return f
}

// site makes a host. Its model says "page SCOPE" when it is asked to write SCOPE; where
// the prompt says "patiently", it first waits for the host's own gate.
func (f *fleet) site(name string) *site {
	f.t.Helper()
	h := f.host(name)
	own := *f.team
	own.dir = filepath.Join(h.home, "project")
	h.team = &own
	s := &site{host: h, name: name}
	testkit.OK(f.t, os.MkdirAll(filepath.Join(s.dir, ".git"), 0o700))
	testkit.OK(f.t, os.Mkdir(filepath.Join(h.home, "tmp"), 0o700))
	h.env = []string{"TMPDIR=" + filepath.Join(h.home, "tmp")}
	s.gate = pipe(f.t, filepath.Join(s.dir, "gate"))
	var script strings.Builder
	for i := range 40 {
		fmt.Fprintf(&script, `{"when": "write i%02d patiently", "repeat": true, "steps": [{"wait": "gate"}, {"text": "page i%02d"}]}`+"\n", i, i)
		fmt.Fprintf(&script, `{"when": "write i%02d", "repeat": true, "steps": [{"text": "page i%02d"}]}`+"\n", i, i)
	}
	script.WriteString(`{"when": "sign patiently", "repeat": true, "steps": [{"wait": "gate"}, {"text": "signed by ` + name + `"}]}` + "\n")
	script.WriteString(`{"repeat": true, "steps": [{"text": "nothing to say"}]}` + "\n")
	f.write(s.dir, "model.jsonl", script.String())
	return s
}

// onFile is the same host with a database of its own, in a file.
func (s *site) onFile() *host {
	h, own := *s.host, *s.team
	own.db = filepath.Join(s.home, "own.db")
	h.team = &own
	return &h
}

func (m *team) write(dir, name, text string) {
	m.t.Helper()
	testkit.OK(m.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// open lets so many wait no longer at a host's gate.
func (s *site) open(n int) {
	s.t.Helper()
	testkit.Must(s.gate.Write([]byte(strings.Repeat("x", n))))(s.t)
}

// start begins the run; its items are left to workers.
func (f *fleet) start(args ...string) *task {
	f.t.Helper()
	args = append(args, accepting(f.t, filepath.Join(f.boss.dir, "recipe.yaml"))...)
	k := f.boss.begin(append([]string{"run", "start", "--recipe", "recipe.yaml", "--run-id", f.run, "--leave-work", "--model", "script/model.jsonl"}, args...)...)
	k.told(f.boss)
	return k
}

func (f *fleet) resume(args ...string) *task {
	f.t.Helper()
	k := f.boss.begin(append([]string{"run", "resume", f.run, "--leave-work"}, args...)...)
	k.told(f.boss)
	return k
}

// told has a test that fails tell what a process said.
func (k *task) told(s *site) {
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("%s:\n%s", s.name, k.stderr.String())
		}
	})
}

// says returns when a process has said something.
func (k *task) says(t *testing.T, text string) {
	t.Helper()
	testkit.WaitUntil(t, "it says "+text, func() bool { return strings.Contains(k.stderr.String(), text) })
}

// worker is a host at work.
type worker struct {
	*site
	*task
}

// worker starts a host and waits until it is ready for items.
func (f *fleet) worker(name string, args ...string) *worker {
	f.t.Helper()
	return f.site(name).work(args...)
}

func (s *site) work(args ...string) *worker {
	s.t.Helper()
	w := &worker{s, s.begin(append([]string{"worker", "--host", s.name, "--parallel", "1"}, args...)...)}
	w.told(s)
	return w
}

// waits says whether a worker's model waits at the gate.
func (w *worker) waits() bool { return holds(w.cmd.Process.Pid, filepath.Join(w.dir, "gate")) }

// holds says whether a process has a file open.
func holds(pid int, path string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == path {
			return true
		}
	}
	return false
}

// ended is how many items a worker says it ended.
func (w *worker) ended() int { return strings.Count(w.stderr.String(), "\nends ") }

// giveUp ends the lease of a host that is dead, stopped or cut off.
func (f *fleet) giveUp(w *worker) {
	f.t.Helper()
	f.sql(`UPDATE RUNS.hosts SET seen_at = seen_at - interval '1 day' WHERE host LIKE $1 || '#%'`, w.name)
}

// killWorkers kills workers and ends their leases.
func (f *fleet) killWorkers(workers ...*worker) {
	f.t.Helper()
	for _, w := range workers {
		f.killIdle(w.task)
		f.giveUp(w)
	}
}

// killIdle kills a process between two transactions: the server would carry out the last sign of life
// of one that is killed within a transaction, after the test has ended its lease.
func (f *fleet) killIdle(k *task) {
	f.t.Helper()
	f.stop(k)
	k.kill()
}

// kill ends a process as a power failure would.
func (k *task) kill() {
	k.cmd.Process.Kill()
	<-k.over
}

// leaves ends a worker as its user would.
func (w *worker) leaves() {
	w.t.Helper()
	w.signal(w.t, syscall.SIGTERM)
	w.ends(w.t, 0)
}

// happening is one of the run's events.
type happening struct {
	ID      string `json:"event_id"`
	Type    string `json:"type"`
	Payload struct {
		ID      string `json:"work_item_id"`
		Attempt int    `json:"attempt"`
		Error   struct {
			Code string `json:"code"`
		} `json:"error"`
	} `json:"payload"`
}

func (f *fleet) events() []happening {
	f.t.Helper()
	var all []happening
	for d := json.NewDecoder(strings.NewReader(f.boss.ramet(0, "run", "events", f.run, "--json"))); d.More(); {
		var e happening
		testkit.OK(f.t, d.Decode(&e))
		all = append(all, e)
	}
	return all
}

// count is how many events of a type there are of an item; of all items if id is empty.
func count(all []happening, kind, id string) (n int) {
	for _, e := range all {
		if e.Type == kind && (id == "" || e.Payload.ID == id) {
			n++
		}
	}
	return n
}

// done demands that the run ends well, and that its log is whole: every item was finished
// once, by its last attempt.
func (f *fleet) done(k *task) []happening {
	f.t.Helper()
	k.ends(f.t, 0, "run "+f.run+" is DONE")
	f.boss.ramet(0, "run", "verify", f.run)
	all := f.events()
	finished := map[string]int{}
	for _, e := range all {
		if e.Type == "WORK_ITEM_FINISHED" {
			part := strings.SplitN(e.Payload.ID, ":", 4)
			finished[part[1]+":"+part[3]]++
		}
	}
	for unit, n := range finished {
		if n != 1 {
			f.t.Errorf("%s was finished %d times", unit, n)
		}
	}
	return all
}

// file is one of the run's folder.
func (f *fleet) file(path string) string {
	f.t.Helper()
	text := testkit.Must(os.ReadFile(filepath.Join(f.boss.dir, ".ramet", "runs", f.run, path)))(f.t)
	return string(text)
}

// still returns when no process of a host runs.
func (s *site) still() {
	s.t.Helper()
	testkit.WaitUntil(s.t, "nothing of "+s.name+" runs", func() bool { return len(tools(s.home)) == 0 })
}

// quiet demands that nothing of a host is left: no process and no folder of an item.
func (s *site) quiet() {
	s.t.Helper()
	s.still()
	left, err := filepath.Glob(filepath.Join(s.home, "tmp", "ramet-items-*", "items", "*"))
	if err != nil || len(left) > 0 {
		s.t.Errorf("left: %q %v", left, err)
	}
}

// anyOf waits until one of several workers is in the middle of an item, and gives it and
// the others.
func anyOf(t *testing.T, workers ...*worker) (at *worker, others []*worker) {
	t.Helper()
	testkit.WaitUntil(t, "somebody works", func() bool {
		at, others = nil, nil
		for _, w := range workers {
			if at == nil && w.waits() {
				at = w
			} else {
				others = append(others, w)
			}
		}
		return at != nil
	})
	return at, others
}

// single has one item.
const single = `
name: single
description: for tests
states:
  DRAFTING: [draft]
workers:
  draft:
    each: [i01]
    prompt: 'for {{scope}}: sign patiently'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

// What a killed host was doing is done elsewhere within 20 s, with the times that a user
// has.
func TestAKilledHostIsReplacedInTimeSoak(t *testing.T) {
	testkit.SoakOnly(t)
	const promised = 20 * time.Second
	f := newFleet(t, single)
	work := func(name string) *worker {
		s := f.site(name)
		s.lease, s.pulse = "15s", ""
		return s.work()
	}
	f.boss.lease, f.boss.pulse = "15s", ""
	doomed := work("doomed")
	k := f.start()
	testkit.WaitUntil(t, "it works", doomed.waits)
	heir := work("heir")
	heir.says(t, "waits for items")
	killed := time.Now()
	doomed.kill()
	testkit.WaitUntil(t, "another one has its item", heir.waits)
	took := time.Since(killed)
	t.Logf("after %s", took)
	if took > 3*promised { // more than a busy machine needs: it waited for something else than the lease
		t.Errorf("after %s, promised is %s", took, promised)
	}
	heir.open(1)
	all := f.done(k)
	if count(all, "WORK_ITEM_FINISHED", "r:draft:2:i01") != 1 {
		t.Error("the item was not done as a second attempt")
	}
	heir.leaves()
}

// Whoever can write the database has nothing run on a host outside the sandbox, unless the
// host's user said so.
func TestExternalEffectsWaitForAHostThatMay(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	f := newFleet(t, `
name: outside
description: for tests
states:
  DRAFTING: [push, draft]
workers:
  push:
    effect: external
    key: push
    with: {OUTSIDE: `+outside+`}
    command: 'echo "$RAMET_KEY" >> "$OUTSIDE"; echo pushed'
    outputs: [{path: artifacts/pushed.txt, answer: true}]
  draft:
    each: [i03, i04]
    prompt: 'write {{scope}}'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`)
	a := f.worker("a")
	k := f.start()
	testkit.WaitUntil(t, "all else is done", func() bool { return a.ended() == 2 })
	show := f.boss.ramet(0, "run", "show", f.run)
	if !strings.Contains(show, "r:push:1:all waits for a host that may act outside of runs: ramet worker --external") {
		t.Errorf("it is shown as\n%s", show)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it acted")
	}
	testkit.Attack(t, "external", "an item with effect: external")
	b := f.worker("b", "--external")
	k.ends(t, 0, "run r is DONE")
	if got, err := os.ReadFile(outside); string(got) != "push\n" {
		t.Errorf("outside is %q, %v", got, err)
	}
	if b.ended() != 1 || a.ended() != 2 {
		t.Errorf("a ended %d, b %d", a.ended(), b.ended())
	}
	if show := f.boss.ramet(0, "run", "show", f.run); strings.Contains(show, "waits for a host") {
		t.Errorf("it is shown as\n%s", show)
	}
}
