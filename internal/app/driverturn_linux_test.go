package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// straight speaks with the program of these tests as nobody stands between.
type straight struct {
	b       *testing.B
	in      io.Writer
	out     *bufio.Reader
	n       int
	session string
}

func newStraight(b *testing.B) *straight {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(b.TempDir(), "acpagent")
	if err := os.Symlink(self, program); err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), program)
	cmd.Env = append(os.Environ(), "ACPAGENT_CAN=resume fork", "ACPAGENT_STATE="+b.TempDir())
	s := &straight{b: b}
	if s.in, err = cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	s.out = bufio.NewReader(out)
	s.ask("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	var made struct{ SessionID string }
	if err := json.Unmarshal(s.ask("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, b.TempDir())), &made); err != nil || made.SessionID == "" {
		b.Fatalf("no session: %v", err)
	}
	s.session = made.SessionID
	return s
}

// ask asks for something and reads until it is answered.
func (s *straight) ask(method, params string) json.RawMessage {
	s.b.Helper()
	s.n++
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.n, method, params)
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			s.b.Fatalf("%s: %v", method, err)
		}
		var m acpMessage
		if json.Unmarshal(line, &m) == nil && m.Method == "" && string(m.ID) == fmt.Sprint(s.n) {
			return m.Result
		}
	}
}

func (s *straight) prompt() {
	s.b.Helper()
	s.ask("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"say hello there"}]}`, s.session))
}

// What ramet adds to a turn of a program: the turn through a running ramet, with all that is durable of it, less the same turn asked
// for straight, in turns; and with twenty programs that rest beside it.
func BenchmarkDrivenTurn(b *testing.B) {
	const beside, limit = 20, 5.0
	s := driven(b)
	if err := os.RemoveAll(filepath.Join(s.dir, ".git")); err != nil { // what a repository costs is measured elsewhere
		b.Fatal(err)
	}
	direct := newStraight(b)
	through := connect(b, s.over())
	prompt := func(name string) {
		b.Helper()
		got, err := through.session.CallTool(b.Context(), &sdk.CallToolParams{Name: "prompt", Arguments: map[string]any{"agent": name, "text": "say hello there"}})
		if err != nil || got.IsError {
			b.Fatalf("%v %+v", err, got)
		}
	}
	for i := range beside {
		name := fmt.Sprintf("kid%d", i)
		s.must(b, "fork", "--name", name, "--driver", "fake")
		prompt(name)
	}
	var with, without []time.Duration
	measure := func(into *[]time.Duration, f func()) {
		began := time.Now()
		f()
		*into = append(*into, time.Since(began))
	}
	for b.Loop() {
		measure(&without, direct.prompt)
		measure(&with, func() { prompt("kid0") })
	}
	slices.Sort(with)
	slices.Sort(without)
	added := func(i int) float64 { return float64(with[i]-without[i]) / float64(time.Millisecond) }
	b.ReportMetric(added(len(with)/2), "ms-added")
	b.ReportMetric(limit, "ms-added-limit")
	b.ReportMetric(added(0), "ms-added-fastest")
	b.ReportMetric(float64(without[len(without)/2])/float64(time.Millisecond), "ms-straight")
}
