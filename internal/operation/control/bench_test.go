package control

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/testkit"
)

// patience bounds every wait for a fact.
const patience = 2 * time.Minute

// otherProcess names the home and the database of a kernel that this process is to be instead of a test.
const otherProcess = "RAMET_CONTROL_TEST"

func TestMain(m *testing.M) {
	if home, db, ok := strings.Cut(os.Getenv(otherProcess), "\n"); ok {
		if err := runOther(home, db); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// runOther serves a kernel until the input of this process ends.
func runOther(home, db string) error {
	server, err := Listen(At(home, db))
	if err != nil {
		return err
	}
	server.Serve(newFake(), nil)
	fmt.Println(server.Owner)
	io.Copy(io.Discard, os.Stdin)
	server.Close()
	return nil
}

// fake is a kernel that notes what it is asked.
type fake struct {
	rings   chan registry.Ring
	actors  chan *history.Actor
	forgot  chan struct{}
	states  map[id.Agent]state.State
	brittle bool
}

func newFake() *fake {
	return &fake{rings: make(chan registry.Ring, 100), actors: make(chan *history.Actor, 100), forgot: make(chan struct{}, 100)}
}

func (f *fake) States() map[id.Agent]state.State {
	if f.brittle {
		panic("brittle")
	}
	return f.states
}

func (f *fake) Forget() { f.forgot <- struct{}{} }

func (f *fake) Ring(ctx context.Context, r registry.Ring) {
	f.actors <- history.ActorOf(ctx)
	f.rings <- r
}

// bench is a folder where kernels meet.
type bench struct {
	t        *testing.T
	home, db string
	place    Folder
}

func newBench(t *testing.T) *bench { return newBenchAt(t, t.TempDir()) }

func newBenchAt(t *testing.T, home string) *bench {
	t.Helper()
	b := &bench{t: t, home: home, db: "/ramet.db"}
	b.place = At(home, b.db)
	return b
}

// served is a kernel of this process with its socket.
type served struct {
	*fake
	server *Server
}

func (b *bench) serve() served {
	b.t.Helper()
	server := testkit.Must(Listen(b.place))(b.t)
	k := newFake()
	server.Serve(k, nil)
	b.t.Cleanup(server.Close)
	return served{k, server}
}

// rung returns the next ring of a kernel.
func (k served) rung(t *testing.T) registry.Ring {
	t.Helper()
	return testkit.Receive(t, "it rings", k.rings)
}

// answers demands that the kernel of a name answers.
func (b *bench) answers(owner string) {
	b.t.Helper()
	testkit.OK(b.t, b.place.Answers(b.t.Context(), owner))
}

// process is another process with a kernel.
type process struct {
	owner string
	cmd   *exec.Cmd
	ended chan struct{}
	quit  func() // ends it in good order
}

func (b *bench) process() *process {
	b.t.Helper()
	exe := testkit.Must(os.Executable())(b.t)
	p := &process{cmd: exec.Command(exe), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), otherProcess+"="+b.home+"\n"+b.db)
	p.cmd.Stderr = os.Stderr
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		b.t.Fatal(err1, err2)
	}
	testkit.OK(b.t, p.cmd.Start())
	p.quit = func() { in.Close() }
	said, err := bufio.NewReader(out).ReadString('\n')
	go func() {
		p.cmd.Wait() // how it ended does not matter
		close(p.ended)
	}()
	b.t.Cleanup(p.kill)
	if err != nil {
		b.t.Fatalf("the other process said %q: %v", said, err)
	}
	p.owner = strings.TrimSpace(said)
	return p
}

// kill ends the process without a word.
func (p *process) kill() {
	p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
}
