package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
	"ramet/internal/testkit/probe"
)

// The ledger is killed as the agents' workspace is: at every step that changes a file.
// Afterwards it is as before the command or as after it, as after it if that was said,
// and the next command works.

// trackVerbs are command lines on a ledger with a (completed), b (interrupted) and c
// (spawned, and named by the pointer), and what they make of it.
var trackVerbs = map[string]struct {
	args  []string
	after string
}{
	"spawn":    {[]string{"track", "spawn", "--type", "t", "--plan", "1", "--group", "g", "--id", "d"}, "a:completed b:interrupted c:spawned d:spawned"},
	"complete": {[]string{"track", "complete", "c"}, "a:completed b:interrupted c:completed"},
	"resume":   {[]string{"track", "resume", "b", "--id", "d"}, "a:completed b:resumed c:spawned d:spawned"},
	"first":    {[]string{"track", "--state", "new", "spawn", "--type", "t", "--plan", "1", "--group", "g", "--id", "d"}, "d:spawned"},
	"recover":  {[]string{"track", "--state", "broken", "recover"}, "x:completed"},
}

const trackBefore = "a:completed b:interrupted c:spawned"

func TestAKilledLedgerIsWhole(t *testing.T) {
	template := ledgers(t)
	for verb, v := range trackVerbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			s := &trackScene{newScene(t, template), verb}
			s.kill(4, v.args, func(printed, what string) { s.check(printed != "", what) })
		})
	}
}

func TestALedgerOnAFailingDiskTriesThreeTimes(t *testing.T) {
	template := ledgers(t)
	for failure, code := range map[string]string{
		"sync:1=EIO":                       "",
		"sync:1=EIO,sync:2=EIO":            "",
		"sync:1=EIO,sync:2=EIO,sync:3=EIO": "STORAGE_IO",
		"rename:1=EIO":                     "",
		"rename:1+=EIO":                    "STORAGE_IO",
		"sync:1+=ENOSPC":                   "STORAGE_FULL",
		"ledger/write:1+=ENOSPC":           "STORAGE_FULL", // not even the lock can be signed
		"ledger/write:2+=ENOSPC":           "STORAGE_FULL",
		"ledger/write:2=EIO":               "",
		"sync:2=EIO,sync:4=EIO,sync:6=EIO": "STORAGE_IO",
	} {
		t.Run(failure, func(t *testing.T) {
			t.Parallel()
			s := &trackScene{newScene(t, template), "complete"}
			out := s.run(probe.FailAt+"="+failure, trackVerbs[s.verb].args...)
			if code == "" && out.code != 0 || code != "" && (out.code != 6 || !strings.HasPrefix(out.stderr, "error["+code+"]: ")) {
				t.Fatalf("exit code %d, %q", out.code, out.stderr)
			}
			// If it was the folder's sync that failed, the file has its name already: the command
			// says that it does not know, and the file is whole.
			if got := s.entries(); code != "" && got != trackBefore && !strings.HasPrefix(failure, "sync:2") {
				t.Errorf("a refused command changed it: %s", got)
			}
			s.check(out.stdout != "", "failed "+failure)
		})
	}
}

// trackScene is one verb on a ledger of its own.
type trackScene struct {
	*scene
	verb string
}

// ledgers makes a project with a ledger, and a folder with a broken one.
func ledgers(t *testing.T) string {
	t.Helper()
	s := newScene(t, "")
	for name, text := range map[string]string{
		".git/HEAD":         "",
		".ramet/.gitignore": "*\n",
		".ramet/agent-history.json": `{"version":"1.0","max_entries":50,"entries":[
			{"agent_id":"a","status":"completed"},{"agent_id":"b","status":"interrupted","plan":"1"},{"agent_id":"c","status":"spawned"}]}`,
		".ramet/current-agent-id.txt":   "c",
		"broken/agent-history.json":     `{"version":`,
		"broken/current-agent-id.txt":   "nobody",
		"broken/summaries/1-SUMMARY.md": "---\nplan: 1\nstatus: completed\nexecuted_by_agent: x\n---\n",
	} {
		path := filepath.Join(s.dir, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return s.dir
}

// state is the flag that says which folder the verb works on.
func (s *trackScene) state() []string {
	if args := trackVerbs[s.verb].args; args[1] == "--state" {
		return args[1:3]
	}
	return nil
}

// track runs a command on the ledger that the verb works on.
func (s *trackScene) track(args ...string) string {
	s.t.Helper()
	return s.must(append(append([]string{"track"}, s.state()...), args...)...)
}

// entries draws the ledger.
func (s *trackScene) entries() string {
	s.t.Helper()
	var list struct {
		Entries []struct{ Agent_id, Status string }
	}
	testkit.OK(s.t, json.Unmarshal([]byte(s.track("list", "--json")), &list))
	var words []string
	for _, e := range list.Entries {
		words = append(words, e.Agent_id+":"+e.Status)
	}
	return strings.Join(words, " ")
}

func (s *trackScene) check(acknowledged bool, what string) {
	s.t.Helper()
	before := trackBefore
	switch s.verb {
	case "first":
		before = ""
	case "recover":
		before = trackVerbs["recover"].after // reading recovers too
	}
	after := trackVerbs[s.verb].after
	got := s.entries()
	if got != after && (got != before || acknowledged) {
		s.t.Fatalf("%s, having printed %t, it left\n%s\nbefore\n%s\nafter\n%s", what, acknowledged, got, before, after)
	}
	s.track("spawn", "--type", "t", "--plan", "2", "--group", "g", "--id", "next")
	if got := s.track("active"); got != "next spawned\n" {
		s.t.Fatalf("%s: active is %q", what, got)
	}
	s.track("complete", "next")
	folder := filepath.Join(s.dir, ".ramet")
	if flags := s.state(); flags != nil {
		folder = filepath.Join(s.dir, flags[1])
	}
	data, err := os.ReadFile(filepath.Join(folder, "agent-history.json"))
	if err != nil || !json.Valid(data) {
		s.t.Fatalf("%s: %v, %s", what, err, data)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".agent-history.json*")); len(left) > 0 {
		s.t.Fatalf("%s: left over are %v", what, left)
	}
}
