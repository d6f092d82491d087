package ndjson

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/run/logtest"
)

// helper makes this test binary append events to the log that it names, and say
// after each what was acknowledged. Tests run it under strace.
const helper = "RAMET_TEST_APPEND_TO"

func TestMain(m *testing.M) {
	if path := os.Getenv(helper); path != "" {
		os.Exit(appendAll(path))
	}
	os.Exit(m.Run())
}

// appendAll writes "ack N" for each event that is durable, "failed CODE" for each
// that is not, and tries on.
func appendAll(path string) int {
	runtime.LockOSThread() // strace counts the calls of each thread
	ctx := context.Background()
	w, err := OpenWriter(ctx, path)
	if err != nil {
		fmt.Println("failed", fault.CodeOf(err))
		return fault.Exit(err)
	}
	code, first := 0, int(w.Count())
	for n := first; n < first+4; n++ {
		if _, err := w.Append(ctx, logtest.Draft(n)); err != nil {
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

// traced runs the helper under strace and returns what it said, its exit code
// (137 if it was killed) and the trace.
func traced(t *testing.T, path string, options ...string) (said []string, code int, trace string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "trace")
	cmd := exec.CommandContext(t.Context(), "strace", append(append([]string{"-f", "-qq", "-o", log}, options...), exe)...)
	cmd.Env = append(os.Environ(), helper+"="+path, "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("strace is needed (apt-get install strace): %v", err)
	}
	for s := bufio.NewScanner(&out); s.Scan(); {
		said = append(said, s.Text())
	}
	code = cmd.ProcessState.ExitCode()
	if code < 0 {
		code = 137
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatalf("%v: %s", err, errs.Bytes())
	}
	return said, code, string(text)
}

var syscalls = regexp.MustCompile(`(?m)^\d+ +(pwrite64|write|fdatasync|fsync|renameat|renameat2|rename|linkat|ftruncate)\(`)

// A process that is killed at any of its writes, syncs, links and cuts leaves a
// log that holds what it acknowledged, and that goes on.
func TestKilledAtEveryCall(t *testing.T) {
	// Two logs to begin with: none, and one with a torn tail.
	all := logtest.Lines(logtest.Drafts(0, 6)...)
	for name, begin := range map[string][]byte{"new": nil, "torn": all[:len(all)-40]} {
		counts := map[string]int{}
		_, code, trace := traced(t, start(t, begin))
		if code != 0 {
			t.Fatalf("%s: exit %d", name, code)
		}
		for _, m := range syscalls.FindAllStringSubmatch(trace, -1) {
			counts[m[1]]++
		}
		if counts["pwrite64"] < 4 || counts["fdatasync"] < 4 {
			t.Fatalf("%s: the trace shows %v", name, counts)
		}
		for call, n := range counts {
			killed := 0
			for when := 1; when <= n; when++ {
				path := start(t, begin)
				said, code, _ := traced(t, path, "-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, when))
				if code == 0 {
					continue // one call less on that thread
				}
				killed++
				survives(t, fmt.Sprintf("%s, %s %d", name, call, when), path, said)
			}
			if killed == 0 {
				t.Errorf("%s: nothing was killed at any of %d calls of %s", name, n, call)
			}
			t.Logf("%s: killed at %d of %d calls of %s", name, killed, n, call)
		}
	}
}

func start(t *testing.T, begin []byte) string {
	path := filepath.Join(t.TempDir(), "events.ndjson")
	if begin != nil {
		if err := os.WriteFile(path, begin, 0o644); err != nil {
			t.Fatal(err)
		}
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
	if _, err := w.Append(t.Context(), logtest.Draft(count)); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if got := logtest.Export(t, w); !bytes.Equal(got, logtest.Lines(logtest.Drafts(0, count+1)...)) {
		t.Errorf("%s: the log holds something else", what)
	}
}

// When a sync fails, nothing is acknowledged any more, nothing is synced again,
// and the exit code says so.
func TestFailedSyncIsTheEnd(t *testing.T) {
	for when := 1; when <= 3; when++ {
		path := start(t, nil)
		said, code, trace := traced(t, path, "-e", "trace=fdatasync", "-e", fmt.Sprintf("inject=fdatasync:error=EIO:when=%d", when))
		if code != 6 || len(said) != 4 {
			t.Fatalf("sync %d: exit %d, said %q", when, code, said)
		}
		for n, line := range said {
			if want := "failed STORAGE_IO"; n >= when-1 && line != want || n < when-1 && line != fmt.Sprint("ack ", n) {
				t.Errorf("sync %d: event %d: %s", when, n, line)
			}
		}
		if n := strings.Count(trace, "fdatasync("); n != when {
			t.Errorf("sync %d: %d syncs\n%s", when, n, trace)
		}
		survives(t, fmt.Sprintf("sync %d", when), path, said)
	}
}

// A write that fails is taken back, and the next one is as if it had not been.
func TestFailedWriteIsTakenBack(t *testing.T) {
	for _, c := range []struct{ errno, code string }{{"ENOSPC", "STORAGE_FULL"}, {"EIO", "STORAGE_IO"}} {
		path := start(t, nil)
		said, _, _ := traced(t, path, "-e", "trace=pwrite64", "-e", fmt.Sprintf("inject=pwrite64:error=%s:when=2", c.errno))
		if len(said) != 4 || said[0] != "ack 0" || said[1] != "failed "+c.code || said[2] != "ack 2" || said[3] != "ack 3" {
			t.Errorf("%s: said %q", c.errno, said)
		}
		got, err := read(t, path)
		if want := logtest.Lines(logtest.Draft(0), logtest.Draft(2), logtest.Draft(3)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the log holds something else: %v", c.errno, err)
		}
		// If it cannot be taken back either, it is the end.
		path = start(t, nil)
		said, code, _ := traced(t, path, "-e", "trace=pwrite64,ftruncate", "-e", fmt.Sprintf("inject=pwrite64:error=%s:when=2", c.errno),
			"-e", "inject=ftruncate:error=EIO")
		if code != 6 || len(said) != 4 || said[0] != "ack 0" || said[1] != "failed STORAGE_IO" || said[3] != "failed STORAGE_IO" {
			t.Errorf("%s: exit %d, said %q", c.errno, code, said)
		}
	}
}
