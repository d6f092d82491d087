package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// role makes the test binary play another program.
const role = "SANDBOX_TEST_ROLE"

func TestMain(m *testing.M) {
	Main()
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "ramet":
		playRamet(os.Args[1:])
	case "poor":
		runtime.LockOSThread()
		playPoor()
	case "dial": // network address: says whether somebody answers
		conn, err := net.DialTimeout(os.Args[1], os.Args[2], 5*time.Second)
		if err != nil {
			fmt.Println("no:", err)
			os.Exit(1)
		}
		conn.Close()
		fmt.Println("connected")
	case "marked":
		playMarked()
	case "share": // eight processes see the same 150 MiB of a file
		playShare(os.Args[1:])
	case "eat": // half a gigabyte, and waits for somebody to mind
		much := make([]byte, 500<<20)
		for i := 0; i < len(much); i += 4096 {
			much[i] = 1
		}
		fmt.Println("eaten", len(much))
		time.Sleep(time.Hour)
		runtime.KeepAlive(much)
	case "boxed":
		playBoxed(os.Args[1:])
	case "calls":
		playCalls()
	case "listen": // at a path, until it is killed
		l, err := net.Listen("unix", os.Args[1])
		fmt.Println("listening", err)
		for err == nil {
			_, err = l.Accept()
		}
	case "loopback": // whether it can talk to itself
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			_, err = net.Dial("tcp", l.Addr().String())
		}
		fmt.Println("loopback:", err)
	}
	os.Exit(0)
}

// screen collects output, and lets a test wait for a text in it.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newScreen() *screen { return &screen{more: make(chan struct{}, 1)} }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) await(t *testing.T, want string) {
	t.Helper()
	for !strings.Contains(s.String(), want) {
		select {
		case <-s.more:
		case <-time.After(2 * time.Minute):
			t.Fatalf("no %q in %q", want, s)
		}
	}
}

// eventually waits for something that nobody tells us of.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	testkit.WaitUntil(t, what, is)
}

var sandboxPath = "PATH=" + os.Getenv("PATH")

// sh is a command for the shell.
func sh(dir, script string, env ...string) Command {
	return Command{Args: []string{"sh", "-c", script}, Dir: dir, Env: append([]string{sandboxPath}, env...)}
}

// start starts a command in one of the ways.
func start(t *testing.T, w way, c Command) *Process {
	t.Helper()
	p := testkit.Must(startIn(t.Context(), w, c))(t)
	t.Cleanup(func() { p.Kill(); p.Wait() })
	return p
}

func startIn(ctx context.Context, w way, c Command) (*Process, error) {
	file, err := LookPath(c.Args[0], c.Dir, c.Env)
	if err != nil {
		return nil, err
	}
	return startHelper(ctx, order{Way: w, Path: file, Args: c.Args, Dir: c.Dir, Env: c.Env}, nil, c.Output)
}

// run runs a command to its end, in the way that Start chooses.
func run(t *testing.T, c Command) (Result, string) {
	t.Helper()
	out := newScreen()
	c.Output = out
	p := testkit.Must(Start(t.Context(), c))(t)
	r := testkit.Must(p.Wait())(t)
	return r, out.String()
}

// usable are the ways that this user has: all of them for root, but for one that
// is not allowed to make user namespaces.
func usable() []way {
	if os.Geteuid() == 0 {
		return ways
	}
	return ways[1:]
}
