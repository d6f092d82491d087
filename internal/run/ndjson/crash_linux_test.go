package ndjson

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
	"ramet/internal/testkit/probe"
	"ramet/internal/testkit/runtest"
)

// helper makes this test binary append events to the log that it names, and say
// after each what was acknowledged. Tests kill it, or fail its disk, at its steps.
const helper = "RAMET_TEST_APPEND_TO"

func TestMain(m *testing.M) {
	if path := os.Getenv(helper); path != "" {
		probe.PointFromEnvironment()
		os.Exit(appendAll(path))
	}
	os.Exit(m.Run())
}

// appendAll writes "ack N" for each event that is durable, "failed CODE" for each
// that is not, and tries on.
func appendAll(path string) int {
	ctx := context.Background()
	w, err := OpenWriter(ctx, path)
	if err != nil {
		fmt.Println("failed", fault.CodeOf(err))
		return fault.Exit(err)
	}
	code, first := 0, int(w.Count())
	for n := first; n < first+4; n++ {
		if _, err := w.Append(ctx, runtest.LogDraft(n)); err != nil {
			code = fault.Exit(err)
			fmt.Println("failed", fault.CodeOf(err))
			continue
		}
		fmt.Println("ack", n)
	}
	if err := w.Close(); err != nil {
		fmt.Println("failed", fault.CodeOf(err))
	}
	return code
}

// runHelper runs the helper with a variable in its environment, and returns what it said and its exit code, which is
// -1 if it was killed.
func runHelper(t *testing.T, path, variable string) (said []string, code int) {
	t.Helper()
	exe := testkit.Must(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), helper+"="+path, variable)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(&out); s.Scan(); {
		said = append(said, s.Text())
	}
	return said, cmd.ProcessState.ExitCode()
}

// A process that is killed at any of its writes, syncs, links and cuts leaves a
// log that holds what it acknowledged, and that goes on.
func TestKilledAtEveryStep(t *testing.T) {
	// Two logs to begin with: none, and one with a torn tail.
	all := runtest.LogLines(runtest.LogDrafts(0, 6)...)
	for name, begin := range map[string][]byte{"new": nil, "torn": all[:len(all)-40]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := probe.RecordSteps(t, 1, func(variable string) {
				if _, code := runHelper(t, start(t, begin), variable); code != 0 {
					t.Fatalf("exit %d", code)
				}
			})
			for _, p := range points {
				var path string
				var said []string
				probe.KillAtStep(t, p, func(variable string) bool {
					path = start(t, begin)
					var code int
					said, code = runHelper(t, path, variable)
					return code < 0
				})
				survives(t, fmt.Sprintf("killed at %s", p), path, said)
			}
			t.Logf("%d kills: %v", len(points), points)
		})
	}
}

func start(t *testing.T, begin []byte) string {
	path := filepath.Join(t.TempDir(), "events.ndjson")
	if begin != nil {
		testkit.OK(t, os.WriteFile(path, begin, 0o644))
	}
	return path
}

// survives opens the log as the next process would.
func survives(t *testing.T, what, path string, said []string) {
	t.Helper()
	w, err := OpenWriter(t.Context(), path)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer w.Close()
	count := int(w.Count())
	for _, line := range said {
		if n, ok := strings.CutPrefix(line, "ack "); ok {
			if n, _ := strconv.Atoi(n); n >= count {
				t.Errorf("%s: event %d was acknowledged, the log has %d", what, n, count)
			}
		}
	}
	if _, err := w.Append(t.Context(), runtest.LogDraft(count)); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if got := runtest.ExportLog(t, w); !bytes.Equal(got, runtest.LogLines(runtest.LogDrafts(0, count+1)...)) {
		t.Errorf("%s: the log holds something else", what)
	}
}

// The steps of the log itself.
const (
	logWrite    = "run/ndjson/write"
	logSync     = "run/ndjson/sync"
	logTruncate = "run/ndjson/truncate"
)

// writes returns the points at which the helper writes its four events into a new log; each is followed by a sync.
func writes(t *testing.T) (writes, syncs []probe.Point) {
	t.Helper()
	made := probe.RecordSteps(t, 1, func(variable string) { runHelper(t, start(t, nil), variable) })
	for i, p := range made[1:] {
		if made[i].Label == logWrite && p.Label == logSync {
			writes, syncs = append(writes, made[i]), append(syncs, p)
		}
	}
	n := len(syncs) - 4 // the first is that of the empty file
	if n != 1 {
		t.Fatalf("these are not four events: %v", made)
	}
	return writes[n:], syncs[n:]
}

// When a sync fails, nothing is acknowledged any more, nothing is synced again,
// and the exit code says so.
func TestFailedSyncIsTheEnd(t *testing.T) {
	_, syncs := writes(t)
	for n := range 3 {
		path, steps := start(t, nil), filepath.Join(t.TempDir(), "steps")
		fail := probe.FailAt + "=" + syncs[n].String() + "=EIO"
		t.Setenv(probe.Steps, steps)
		said, code := runHelper(t, path, fail)
		if code != 6 || len(said) != 4 {
			t.Fatalf("sync %d: exit %d, said %q", n, code, said)
		}
		for i, line := range said {
			if want := "failed STORAGE_IO"; i >= n && line != want || i < n && line != fmt.Sprint("ack ", i) {
				t.Errorf("sync %d: event %d: %s", n, i, line)
			}
		}
		points := testkit.Must(probe.ReadPoints(steps))(t)
		for _, p := range points {
			if p.Label == logSync && p.N > syncs[n].N {
				t.Errorf("sync %d: it was synced again: %v", n, points)
			}
		}
		survives(t, fmt.Sprintf("sync %d", n), path, said)
	}
}

// A write that fails is taken back, and the next one is as if it had not been.
func TestFailedWriteIsTakenBack(t *testing.T) {
	events, _ := writes(t)
	second := events[1].String()
	for _, c := range []struct{ errno, code string }{{"ENOSPC", "STORAGE_FULL"}, {"EIO", "STORAGE_IO"}} {
		path := start(t, nil)
		said, _ := runHelper(t, path, probe.FailAt+"="+second+"="+c.errno)
		if len(said) != 4 || said[0] != "ack 0" || said[1] != "failed "+c.code || said[2] != "ack 2" || said[3] != "ack 3" {
			t.Errorf("%s: said %q", c.errno, said)
		}
		got, err := read(t, path)
		if want := runtest.LogLines(runtest.LogDraft(0), runtest.LogDraft(2), runtest.LogDraft(3)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the log holds something else: %v", c.errno, err)
		}
		// If it cannot be taken back either, it is the end.
		path = start(t, nil)
		said, code := runHelper(t, path, probe.FailAt+"="+second+"="+c.errno+","+logTruncate+":1+=EIO")
		if code != 6 || len(said) != 4 || said[0] != "ack 0" || said[1] != "failed STORAGE_IO" || said[3] != "failed STORAGE_IO" {
			t.Errorf("%s: exit %d, said %q", c.errno, code, said)
		}
	}
}
