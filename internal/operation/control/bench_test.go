package control

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramet/internal/base/bus"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/model/offline"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// patience bounds every wait for a fact.
const patience = 2 * time.Minute

// otherProcess says what this process is to be instead of a test.
const otherProcess = "RAMET_CONTROL_TEST"

func TestMain(m *testing.M) {
	if role := os.Getenv(otherProcess); role != "" {
		if err := other(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// orders are what another process is told.
type orders struct {
	Home, DB string
	Replies  string // of its scripted model; gates are named pipes
}

// other is a kernel in a process of its own, which runs until its input ends.
func other(role string) error {
	var o orders
	if err := json.Unmarshal([]byte(role), &o); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, o.DB, sqlite.Options{Cwd: "/"})
	if err != nil {
		return err
	}
	server, err := Listen(At(o.Home, o.DB))
	if err != nil {
		return err
	}
	k, err := newKernel(ctx, s, server.Owner, o.Replies, offline.PipeScript)
	if err != nil {
		return err
	}
	server.Serve(k, &k.Events, nil)
	fmt.Println(server.Owner)
	io.Copy(io.Discard, os.Stdin)
	server.Finish(ctx)
	k.Stop()
	server.Close()
	return s.Close()
}

// allow permits everything.
type allow struct{}

func (allow) Decide(context.Context, tool.Spec, tool.Call) (tool.Grant, *history.Permission, error) {
	return tool.Free, nil, nil
}

func newKernel(ctx context.Context, s *store.Store, owner, replies string, gate offline.ScriptGate) (*kernel.Kernel, error) {
	model, err := offline.ParseScript(replies, gate)
	if err != nil {
		return nil, err
	}
	return kernel.Start(ctx, kernel.Options{
		Store: s, Owner: owner,
		Mail: kernel.Mail{Wake: kernel.WakeNever},
		Parts: kernel.Parts{
			Models: kernel.Models{Model: func(agent.Agent, llm.Ref) (kernel.Model, error) {
				return kernel.Model{Ref: llm.Ref{Vendor: "script", Name: "test"}, Info: llm.Model{Name: "test"}, Provider: model}, nil
			}},
			Toolbox: kernel.Toolbox{Tools: func(agent.Agent) (tool.Box, error) { return nil, nil }, Guard: allow{}},
			Prompts: kernel.Prompts{System: func(agent.Agent) ([]llm.Message, error) { return []llm.Message{llm.Say(llm.System, "Work.")}, nil }},
		},
		Peers: kernel.Peers{Gone: func(string) bool { return false }, Tell: func(context.Context, ...registry.Ring) {}},
	})
}

// bench is a workspace where kernels meet.
type bench struct {
	t     *testing.T
	home  string
	db    string
	place Folder
	store *store.Store
	zero  agent.Agent
	gates llmtest.ScriptGates
}

func newBench(t *testing.T) *bench { return newBenchAt(t, t.TempDir()) }

func newBenchAt(t *testing.T, home string) *bench {
	t.Helper()
	b := &bench{t: t, home: home, db: filepath.Join(t.TempDir(), "ramet.db")}
	s, err := sqlite.Open(t.Context(), b.db, sqlite.Options{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	b.store, b.place = s, At(home, b.db)
	t.Cleanup(func() {
		if _, err := s.Audit(context.Background(), nil); err != nil {
			t.Errorf("verify: %v", err)
		}
		s.Close()
	})
	if b.zero, err = s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// served is a kernel of this process with its socket.
type served struct {
	*kernel.Kernel
	server *Server
}

func (b *bench) serve(replies string) *served {
	b.t.Helper()
	return b.serveAs(replies, func(k *kernel.Kernel) Kernel { return k })
}

// serveAs lets a test stand between the socket and the kernel.
func (b *bench) serveAs(replies string, as func(*kernel.Kernel) Kernel) *served {
	b.t.Helper()
	server, err := Listen(b.place)
	if err != nil {
		b.t.Fatal(err)
	}
	k, err := newKernel(b.t.Context(), b.store, server.Owner, replies, b.gates.Wait)
	if err != nil {
		b.t.Fatal(err)
	}
	server.Serve(as(k), &k.Events, nil)
	b.t.Cleanup(func() {
		k.Stop()
		server.Close()
	})
	return &served{k, server}
}

func (b *bench) dial(owner string) *Client {
	b.t.Helper()
	c, err := b.place.Dial(b.t.Context(), owner)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// process is another process with a kernel.
type process struct {
	owner string
	cmd   *exec.Cmd
	ended chan struct{}
	quit  func()
}

func (b *bench) process(replies string) *process {
	b.t.Helper()
	role, err := json.Marshal(orders{b.home, b.db, replies})
	if err != nil {
		b.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	p := &process{cmd: exec.Command(exe), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), otherProcess+"="+string(role))
	p.cmd.Stderr = os.Stderr
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		b.t.Fatal(err1, err2)
	}
	if err := p.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	p.quit = func() { in.Close() }
	said, err := bufio.NewReader(out).ReadString('\n')
	go func() {
		p.cmd.Wait() // how it ended is no matter
		close(p.ended)
	}()
	b.t.Cleanup(func() { p.kill() })
	if err != nil {
		b.t.Fatalf("the other process said %q: %v", said, err)
	}
	p.owner = strings.TrimSpace(said)
	return p
}

// kill ends it without a word.
func (p *process) kill() {
	p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// child forks one behind everybody's back.
func (b *bench) child(name string) agent.Agent {
	b.t.Helper()
	born, err := b.store.Fork(b.t.Context(), registry.Fork{Parent: b.zero.ID, Claim: agent.Passing(),
		Children: []registry.Child{{ID: id.NewAgent(), Name: name}}})
	if err != nil {
		b.t.Fatal(err)
	}
	return born[0]
}

// kinds are those of an agent's own entries.
func (b *bench) kinds(a id.Agent) []string {
	b.t.Helper()
	var out []string
	for e, err := range b.store.QueryRange(b.t.Context(), history.Range{Agent: a, End: history.NoLimit}, history.Selection{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, string(e.Kind))
	}
	return out
}

func (b *bench) expect(a id.Agent, want ...string) {
	b.t.Helper()
	if got := b.kinds(a); !slices.Equal(got, want) {
		b.t.Errorf("history %q, want %q", got, want)
	}
}

// until returns when an event came.
func until(t *testing.T, events *bus.Bus[loop.Event], want func(loop.Event) bool) (wait func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	seen, enough := events.Subscribe(ctx)
	return func() {
		t.Helper()
		defer cancel()
		defer enough()
		for e := range seen {
			if want(e) {
				return
			}
		}
		t.Fatal("it never happened")
	}
}
