package pgtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// processesIn lists the processes that work in a folder or below, as every
// process of a PostgreSQL does in its data folder, even a deleted one.
func processesIn(dir string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir+"/") {
			found = append(found, filepath.Base(filepath.Dir(link)))
		}
	}
	return found
}

func TestStopLeavesNothing(t *testing.T) {
	var log bytes.Buffer
	s := testkit.Must(Start(t.Context(), &log, Volatile...))(t)
	defer s.Stop()
	if got := execute(t, s.URL(), "SELECT current_setting('server_encoding') || ' ' || current_setting('max_connections')"+
		" || '[' || current_setting('listen_addresses') || '] ' || current_setting('fsync')"); got != "UTF8 500[] off" {
		t.Errorf("settings %s", got)
	}
	if len(processesIn(s.dir)) == 0 {
		t.Fatalf("no process works in %s: the check below would prove nothing", s.dir)
	}
	guest, err := connect(t.Context(), s.URL()) // Stop does not wait for guests
	testkit.OK(t, err)
	defer guest.Close(context.Background())

	for range 2 {
		testkit.OK(t, s.Stop())
	}
	if left := processesIn(s.dir); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder %s is left: %v", s.dir, err)
	}
	if !strings.Contains(log.String(), "ready to accept connections") {
		t.Errorf("the log has not been passed on: %s", log.String())
	}
}

// The main thread of a process never ends. It belongs to TestMain, so that no
// test below gets it.
func init() { runtime.LockOSThread() }

func TestTheServerOutlivesTheThreadThatAskedForIt(t *testing.T) {
	type started struct {
		server *Server
		thread int
		err    error
	}
	answer := make(chan started)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		s, err := Start(t.Context(), nil)
		answer <- started{s, syscall.Gettid(), err}
	}()
	got := <-answer
	if got.err != nil {
		t.Fatal(got.err)
	}
	defer got.server.Stop()
	testkit.WaitUntil(t, "end of the thread", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", got.thread))
		return err != nil
	})
	if answer := execute(t, got.server.URL(), "SELECT 'here'"); answer != "here" {
		t.Errorf("got %q", answer)
	}
}

func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	bin := testkit.Must(find(installed))(t)
	user := testkit.Must(serverUser())(t)
	dir := testkit.Must(makeFolder(user))(t)
	s := &Server{dir: dir, log: &tail{}, exited: make(chan struct{})}
	s.cmd = s.command(user, filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "absent"))
	testkit.OK(t, s.launch())
	if err := s.ready(t.Context()); err == nil || !strings.Contains(err.Error(), "ended before it answered") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(s.log.String(), "absent") {
		t.Errorf("the end of the log is %q", s.log)
	}
	testkit.OK(t, s.Stop())
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder %s is left: %v", dir, err)
	}
}

func TestAFolderTheServerCannotReachIsNotUsed(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	testkit.OK(t, os.Mkdir(closed, 0o700))
	other := &account{"other", 65534, 65534}
	if err := usable(closed, other); err == nil || !strings.Contains(err.Error(), "cannot reach") {
		t.Errorf("closed folder: %v", err)
	}
	if err := usable("/"+strings.Repeat("x", 90), nil); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("long path: %v", err)
	}
	testkit.OK(t, usable("/", other))
}

func TestTheServerDiesWithAKilledProcess(t *testing.T) {
	self := testkit.Must(os.Executable())(t)
	child := exec.Command(self)
	child.Env = append(os.Environ(), childEnv+"=1")
	stdin := testkit.Must(child.StdinPipe())(t)
	defer stdin.Close()
	stdout := testkit.Must(child.StdoutPipe())(t)
	testkit.OK(t, child.Start())
	defer child.Process.Kill()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the child says nothing: %v", err)
	}
	dir := strings.TrimSpace(line)
	defer os.RemoveAll(dir)
	if len(processesIn(dir)) == 0 {
		t.Fatalf("no process works in %s", dir)
	}
	testkit.OK(t, child.Process.Kill())
	child.Wait()
	testkit.WaitUntil(t, "end of the server", func() bool { return len(processesIn(dir)) == 0 })
}
