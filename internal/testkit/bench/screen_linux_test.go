package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
)

// workspace makes the shell's workspace anew; f fills it.
func (s *shell) workspace(b *testing.B, f func(db *store.Store, zero id.Agent)) {
	b.Helper()
	s.stopKernel(b)
	path := s.db(b)
	check(b, os.RemoveAll(filepath.Dir(path)))
	check(b, os.MkdirAll(filepath.Dir(path), 0o700))
	db := must[*store.Store](b)(sqlite.Open(b.Context(), path, sqlite.Options{Cwd: s.project}))
	f(db, must[agent.Agent](b)(db.Zero(b.Context())).ID)
	check(b, db.Close())
	settle(b, path)
}

// tell ends a conversation with words that can be looked for.
func tell(b *testing.B, s *store.Store, a id.Agent, words string) {
	b.Helper()
	_, err := s.Append(b.Context(), a, agent.Passing(),
		must[history.Draft](b)(history.Say(history.User, "Go on.")),
		must[history.Draft](b)(history.Say(history.Assistant, words)))
	check(b, err)
}

// start opens a terminal, and measures until the prompt took a key.
func (s *shell) start(b *testing.B, env ...string) (*terminal, time.Duration) {
	b.Helper()
	t := s.terminal(b, env...)
	t.typed("")
	t.press("x")
	t.typed("x")
	return t, time.Since(t.begun)
}

// The prompt is there at once, whatever the size of the workspace.
func BenchmarkScreenStart(b *testing.B) {
	sh := newShell(b)
	const starts = 3 // a round
	b.Run("Fresh", func(b *testing.B) {
		var usable, complete times
		var memory []float64
		for b.Loop() {
			for range starts {
				sh.stopKernel(b)
				check(b, os.RemoveAll(sh.home))
				t, took := sh.start(b)
				usable = append(usable, took)
				t.see("offline/offline") // the workspace is open
				t.see("Three things to try")
				complete = append(complete, time.Since(t.begun))
				memory = append(memory, t.peak())
				t.end()
			}
		}
		atMost(b, "`ramet`, fresh workspace: start to usable prompt", "ms", usable.at(0)/1e6, 80)
		shown(b, "`ramet`, fresh workspace: start to the workspace on the screen", "ms", complete.at(0.5)/1e6)
		atMost(b, "`ramet`, fresh workspace: peak RSS", "MB", middle(memory)/1e6, 40)
	})
	b.Run("Large", func(b *testing.B) {
		const newest = "These are the newest words of all."
		sh.workspace(b, func(db *store.Store, zero id.Agent) {
			many := fork(b, db, zero, 1, func(int) string { return "many" })[0].ID
			fork(b, db, zero, scaled(1000), func(i int) string { return fmt.Sprintf("worker-%d", i) })
			fill(b, db, many, max(1000, scaled(1_000_000)))
			tell(b, db, many, newest)
		})
		t := sh.terminal(b)
		t.see("offline/offline")
		t.say("/switch many")
		t.see(newest)
		t.end() // and the next start comes back to many
		var usable, complete times
		var memory []float64
		for b.Loop() {
			for range starts {
				t, took := sh.start(b)
				usable = append(usable, took)
				t.see(newest)
				complete = append(complete, time.Since(t.begun))
				memory = append(memory, t.peak())
				t.press(backspaceKey) // a draft would be kept
				t.typed("")
				t.end()
			}
		}
		atMost(b, "`ramet`, 1,000,000 messages and 1,000 agents: start to usable prompt", "ms", usable.at(0.5)/1e6, 300)
		atMost(b, "`ramet`, 1,000,000 messages and 1,000 agents: start to the newest words on the screen", "ms", complete.at(0.5)/1e6, 300)
		shown(b, "`ramet`, 1,000,000 messages and 1,000 agents: peak RSS", "MB", middle(memory)/1e6)
	})
}

// BenchmarkIdleTerminal measures the processor time of a terminal in which nothing happens.
func BenchmarkIdleTerminal(b *testing.B) {
	sh := newShell(b)
	watch := time.Duration(scale * float64(30*time.Second)) // the system counts hundredths of a second
	var busy []float64
	for b.Loop() {
		t, _ := sh.start(b)
		t.see("offline/offline")
		time.Sleep(watch / 10)
		before := t.cpu()
		time.Sleep(watch)
		busy = append(busy, 100*float64(t.cpu()-before)/float64(watch))
		t.press(backspaceKey) // a draft would be kept
		t.typed("")
		t.end()
	}
	atMost(b, "an idle terminal: share of one core", "%", middle(busy), 0.1)
}

// What is typed is seen at once, also while agents speak.
func BenchmarkKeyToScreen(b *testing.B) {
	sh, n := newShell(b), newNarrator(b, 0, 10*time.Millisecond)
	sh.workspace(b, func(db *store.Store, zero id.Agent) {
		fork(b, db, zero, 3, func(i int) string { return fmt.Sprintf("speaker-%d", i) })
	})
	t := sh.terminal(b, n.env()...)
	t.see("anthropic/bench")
	t.press(ctrlDownKey)
	t.see("[speaker-2]")
	for _, next := range []string{"[speaker-0]", "[speaker-1]", "[speaker-2]"} {
		t.say("speak")
		t.see("word9") // it does
		t.press(ctrlRightKey)
		t.see(next)
	}
	bare := newEcho(b)
	var took times
	hand := time.NewTicker(37 * time.Millisecond) // no multiple of any frame
	defer hand.Stop()
	for b.Loop() {
		for range max(10, scaled(200)) {
			for _, key := range []struct{ press, want string }{{"x", "x"}, {backspaceKey, ""}} {
				<-hand.C
				took.of(func() {
					t.press(key.press)
					t.typed(key.want)
				})
				<-hand.C
				bare.key()
			}
		}
	}
	t.end()
	atMost(b, "key to screen while three agents stream, p99", "ms", took.at(0.99)/1e6, 12)
	shown(b, "key to screen while three agents stream, p95", "ms", took.at(0.95)/1e6)
	atMost(b, "key to screen while three agents stream, p50", "ms", took.at(0.5)/1e6, 4)
	bare.show("three agents that stream")
}

// An echo is the least that a terminal and this machine can do with a key: `cat` writes it back. Its figure
// says how much of a program's is the machine's.
type echo struct {
	*terminal
	took times
}

func newEcho(b *testing.B) *echo {
	e := &echo{terminal: onTerminal(b, exec.CommandContext(b.Context(), "sh", "-c", "stty raw -echo; echo ready; exec cat"))}
	e.see("ready")
	return e
}

// key is typed and seen once, and timed.
func (e *echo) key() {
	mark := fmt.Sprint("mark-", len(e.took), ".")
	e.took.of(func() {
		e.press("\x1b[H" + mark)
		e.until(mark, func() bool { return strings.HasPrefix(e.row(0), mark) })
	})
}

// show ends it, with its figure.
func (e *echo) show(beside string) {
	e.end()
	shown(e.b, "key to screen through `cat`, beside "+beside+", in the same moments, p99", "ms", e.took.at(0.99)/1e6)
}

// Going to an agent does not read its whole history.
func BenchmarkSwitch(b *testing.B) {
	sh := newShell(b)
	const agents = 8
	newest := func(i int) string { return fmt.Sprintf("These are the newest words of number %d.", i) }
	sh.workspace(b, func(db *store.Store, zero id.Agent) {
		for i, a := range fork(b, db, zero, agents, func(i int) string { return fmt.Sprintf("number-%d", i) }) {
			discuss(b, db, a.ID, max(200, scaled(10_000)))
			tell(b, db, a.ID, newest(i))
		}
	})
	var first, again times
	for b.Loop() {
		t := sh.terminal(b)
		t.see("offline/offline")
		t.say("/switch 0")
		t.see("[0]")
		t.press(ctrlDownKey)
		t.see(newest(agents - 1))
		for i := range 3 * agents {
			side := &again
			if i < agents-1 {
				side = &first
			}
			side.of(func() {
				t.press(ctrlRightKey)
				t.see(newest(i % agents))
			})
		}
		t.end()
	}
	atMost(b, "switching to an agent with 10,000 messages, not seen before, p50", "ms", first.at(0.5)/1e6, 50)
	shown(b, "switching to an agent with 10,000 messages, not seen before, slowest", "ms", first.at(1)/1e6)
	atMost(b, "switching to an agent with 10,000 messages, seen before, p50", "ms", again.at(0.5)/1e6, 50)
}
