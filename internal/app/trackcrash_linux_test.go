package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The ledger is killed as the agents' workspace is: at every call that changes a file.
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

var trackCalls = []string{"write", "fsync", "renameat", "linkat", "unlinkat", "mkdirat"}

func TestAKilledLedgerIsWholeSoak(t *testing.T) {
	exe, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for verb := range trackVerbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			kills := 0
			for _, call := range trackCalls {
				// strace counts for each thread, so one call may survive; that does not end
				// the search.
				for n, misses := 1, 0; misses < 3; n++ {
					s := newTrackScene(t, exe, verb)
					out := s.strace(call, fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n))
					s.check(out.stdout != "", fmt.Sprintf("killed at %s %d", call, n))
					if misses++; out.killed {
						kills, misses = kills+1, 0
					}
				}
			}
			if kills < 5 {
				t.Fatalf("only %d kills", kills)
			}
			t.Logf("%d kills", kills)
		})
	}
}

// trackDone is trackBefore with the command carried out.
const trackDone = "a:completed b:interrupted c:completed"

func TestALedgerOnAFailingDiskTriesThreeTimesSoak(t *testing.T) {
	exe, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		call, errno, code string
		when              string
		exit              int
	}{
		{"fsync", "EIO", "", "1", 0},
		{"fsync", "EIO", "", "1..2", 0},
		{"fsync", "EIO", "STORAGE_IO", "1..3", 6},
		{"renameat", "EIO", "", "1", 0},
		{"renameat", "EIO", "STORAGE_IO", "1+", 6},
		{"fsync", "ENOSPC", "STORAGE_FULL", "1+", 6},
		{"write", "ENOSPC", "STORAGE_FULL", "1+", 6},
	} {
		t.Run(c.call+c.errno+c.when, func(t *testing.T) {
			t.Parallel()
			s := newTrackScene(t, exe, "complete")
			inject := fmt.Sprintf("inject=%s:error=%s:when=%s", c.call, c.errno, c.when)
			out := s.strace(c.call, inject)
			// strace counts the calls of each thread: where the tries are on different
			// ones, each is the first, and all fail. That is no success to be had then.
			for range 20 {
				if c.exit == 6 || out.code != 6 {
					break
				}
				// If it was the folder's sync that failed last, the new file had its name
				// already: the command says that it does not know, and the file is whole.
				if got := s.entries(); got != trackBefore && got != trackDone {
					t.Errorf("a refused command left it as %s", got)
				}
				s = newTrackScene(t, exe, "complete")
				out = s.strace(c.call, inject)
			}
			if c.call == "write" && c.exit == 6 {
				// Not even the error can be printed on such a disk.
				if out.code != 6 || out.stdout != "" {
					t.Fatalf("exit code %d, printed %q", out.code, out.stdout)
				}
			} else if out.code != c.exit || c.exit == 6 && !strings.HasPrefix(out.stderr, "error["+c.code+"]: ") {
				t.Fatalf("exit code %d, %q", out.code, out.stderr)
			}
			if got := s.entries(); c.exit == 6 && got != trackBefore {
				t.Errorf("a refused command changed it: %s", got)
			}
			s.check(out.stdout != "", "failed "+c.when)
		})
	}
}

// trackScene is one verb on a ledger of its own.
type trackScene struct {
	t               *testing.T
	exe, verb, home string
	dir             string
}

func newTrackScene(t *testing.T, exe, verb string) *trackScene {
	t.Helper()
	s := &trackScene{t: t, exe: exe, verb: verb, home: t.TempDir()}
	s.dir = filepath.Join(s.home, "project")
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
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *trackScene) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "GOMAXPROCS=1"} // most calls on one thread
	return cmd
}

func (s *trackScene) strace(call, tamper string) outcome {
	args := append([]string{"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + call, "-e", tamper, s.exe}, trackVerbs[s.verb].args...)
	cmd := s.command("strace", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), !cmd.ProcessState.Exited()}
}

// state is the flag that says which folder the verb works on.
func (s *trackScene) state() []string {
	if args := trackVerbs[s.verb].args; args[1] == "--state" {
		return args[1:3]
	}
	return nil
}

func (s *trackScene) must(args ...string) []byte {
	s.t.Helper()
	cmd := s.command(s.exe, append(append([]string{"track"}, s.state()...), args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("ramet track %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out
}

// entries draws the ledger.
func (s *trackScene) entries() string {
	s.t.Helper()
	var list struct {
		Entries []struct{ Agent_id, Status string }
	}
	if err := json.Unmarshal(s.must("list", "--json"), &list); err != nil {
		s.t.Fatal(err)
	}
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
	s.must("spawn", "--type", "t", "--plan", "2", "--group", "g", "--id", "next")
	if got := string(s.must("active")); got != "next spawned\n" {
		s.t.Fatalf("%s: active is %q", what, got)
	}
	s.must("complete", "next")
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
