//go:build extern

package mcp

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/launch/sandbox"
	"ramet/internal/testkit"
)

// The servers that everybody knows, from npm, and the one with which the SDK shows that it
// conforms. `make peers` asks for them; where they cannot be had, that is said and no more.

func TestPeers(t *testing.T) {
	testkit.AskedFor(t, "RAMET_TEST_PEERS", "make peers")
	t.Run("TwentyAgentsShareThreeProcesses", testTwentyAgentsShareThreeProcesses)
	t.Run("KillInCallIsUnknown", testKillInCallIsUnknown)
	t.Run("OverHTTP", testPeersOverHTTP)
	t.Run("ConformanceServer", testConformanceServer)
}

// peers installs the servers and returns the folder of their programs.
func peers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("RAMET_TEST_PEERS")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", "mcp-server-memory")); err == nil {
		return filepath.Join(dir, "node_modules", ".bin")
	}
	testkit.OK(t, os.MkdirAll(dir, 0o755))
	install := exec.CommandContext(t.Context(), "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir,
		"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm does not give them: %v\n%s", err, out)
	}
	return filepath.Join(dir, "node_modules", ".bin")
}

// known is a pool with the three, which note their starts in a file.
func known(t *testing.T) (p *Pool, notes, log string) {
	t.Helper()
	bin := peers(t)
	notes = t.TempDir()
	log = filepath.Join(notes, "starts")
	var box *sandbox.Box
	if sandbox.Available() == nil {
		box = &sandbox.Box{Write: []string{notes}, Network: true}
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "MEMORY_FILE_PATH=" + filepath.Join(notes, "memory.json")}
	p = &Pool{Cache: t.TempDir(), Version: "test"}
	for name, args := range map[string]string{"everything": "", "filesystem": notes, "memory": ""} {
		line := fmt.Sprintf("echo %s >> %s; exec %s %s", name, log, filepath.Join(bin, "mcp-server-"+name), args)
		p.Servers = append(p.Servers, Server{Name: name, Command: []string{"sh", "-c", line}, Dir: notes, Env: env, Box: box})
	}
	t.Cleanup(p.Close)
	return p, notes, log
}

func must(t *testing.T, p *Pool, server, tool, args, want string) Result {
	t.Helper()
	r, err := p.Call(t.Context(), server, tool, json.RawMessage(args))
	if err != nil || r.Outcome != Done || !strings.Contains(r.Text, want) {
		t.Errorf("%s %s: %+v %v", server, tool, r, err)
	}
	return r
}

func testTwentyAgentsShareThreeProcesses(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-hunter2")
	p, notes, log := known(t)
	lists, why := p.Lists(t.Context(), 2*time.Minute)
	if len(lists) != 3 || len(why) > 0 {
		t.Fatalf("%d lists, %q", len(lists), why)
	}
	for _, l := range lists {
		t.Logf("%s has %d tools; notes %q", l.Server, len(l.Tools), l.Notes)
		if len(l.Tools) < 5 {
			t.Errorf("%s has %d tools", l.Server, len(l.Tools))
		}
	}
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			must(t, p, "everything", "get-sum", fmt.Sprintf(`{"a": %d, "b": 1}`, i), fmt.Sprint(i+1))
			file := filepath.Join(notes, fmt.Sprintf("%d.txt", i))
			must(t, p, "filesystem", "write_file", fmt.Sprintf(`{"path": %q, "content": "note %d"}`, file, i), "")
			must(t, p, "filesystem", "read_text_file", fmt.Sprintf(`{"path": %q}`, file), fmt.Sprintf("note %d", i))
		})
	}
	work.Wait()
	must(t, p, "memory", "create_entities", `{"entities": [{"name": "ramet", "entityType": "program", "observations": ["forks"]}]}`, "ramet")
	must(t, p, "memory", "search_nodes", `{"query": "forks"}`, "ramet")
	if r := must(t, p, "everything", "get-tiny-image", `{}`, "[image image/png"); r.Image == nil {
		t.Error("there is no image")
	}
	if r := must(t, p, "everything", "get-env", `{}`, "PATH"); strings.Contains(r.Text, "hunter2") {
		t.Error("it has a key")
	}
	must(t, p, "everything", "get-structured-content", `{"location": "New York"}`, "")
	if said, _ := os.ReadFile(log); strings.Count(string(said), "\n") != 3 {
		t.Errorf("started: %q", said)
	}
}

func testKillInCallIsUnknown(t *testing.T) {
	p, notes, _ := known(t)
	testkit.Must(p.Ask(t.Context(), "everything"))(t)
	begun := make(chan Result, 1)
	go func() {
		r, err := p.Call(t.Context(), "everything", "trigger-long-running-operation", json.RawMessage(`{"duration": 600, "steps": 2}`))
		if err != nil {
			r.Text = err.Error()
		}
		begun <- r
	}()
	h := p.held["everything"]
	testkit.WaitUntil(t, "the call has begun", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.calls == 1
	})
	h.mu.Lock()
	process := h.now.process
	h.mu.Unlock()
	process.Kill()
	if r := <-begun; r.Outcome != Unknown || !strings.Contains(r.Text, "outcome is unknown") {
		t.Errorf("%+v", r)
	}
	must(t, p, "everything", "echo", `{"message": "again"}`, "again")
	_ = notes
}

// served starts a program that serves HTTP on a port, which ends with the test.
func overHTTP(t *testing.T, path string, command func(port string) *exec.Cmd) *Pool {
	t.Helper()
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	cmd := command(port)
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	testkit.WaitUntil(t, "the server listens", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	p := &Pool{Servers: []Server{{Name: "far", URL: "http://127.0.0.1:" + port + path}}, Cache: t.TempDir()}
	t.Cleanup(p.Close)
	return p
}

func testPeersOverHTTP(t *testing.T) {
	bin := peers(t)
	p := overHTTP(t, "/mcp", func(port string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "mcp-server-everything"), "streamableHttp")
		cmd.Env = append(os.Environ(), "PORT="+port)
		return cmd
	})
	if l, err := p.Ask(t.Context(), "far"); err != nil || len(l.Tools) < 5 {
		t.Fatalf("%+v %v", l, err)
	}
	must(t, p, "far", "get-sum", `{"a": 2, "b": 3}`, "5")
}

func testConformanceServer(t *testing.T) {
	peers(t)
	exe := filepath.Join(t.TempDir(), "everything-server")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	p := overHTTP(t, "", func(port string) *exec.Cmd { return exec.Command(exe, "-http", "127.0.0.1:"+port) })
	l, err := p.Ask(t.Context(), "far")
	if err != nil || len(l.Tools) < 5 {
		t.Fatalf("%+v %v", l, err)
	}
	t.Logf("%d tools; notes %q", len(l.Tools), l.Notes)
	must(t, p, "far", "test_simple_text", `{}`, "")
	if r, err := p.Call(t.Context(), "far", "test_error_handling", nil); err != nil || r.Outcome != Failed {
		t.Errorf("%+v %v", r, err)
	}
}
