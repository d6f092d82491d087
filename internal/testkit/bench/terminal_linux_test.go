package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
)

// The size of the terminal, and where the prompt stands on an empty draft.
const (
	columns, rows = 120, 40
	promptRow     = rows - 2
	promptSign    = "❯"
)

// The keys as a terminal sends them.
const (
	enterKey     = "\r"
	backspaceKey = "\x7f"
	ctrlDownKey  = "\x1b[1;5B"
	ctrlRightKey = "\x1b[1;5C"
	ctrlHomeKey  = "\x1b[1;5H"
	ctrlEndKey   = "\x1b[1;5F"
)

// terminal is the real binary on a real pty, and the screen that its output makes.
type terminal struct {
	b       *testing.B
	cmd     *exec.Cmd
	file    *os.File // our side
	begun   time.Time
	changed chan struct{} // something was written
	over    chan struct{} // nothing will be any more

	mu     sync.Mutex
	screen *vt.Emulator // guarded by mu
}

// terminal starts the terminal UI in the shell's project.
func (s *shell) terminal(b *testing.B, env ...string) *terminal {
	b.Helper()
	cmd := exec.Command(s.binary)
	cmd.Dir = s.project
	cmd.Env = append([]string{"HOME=" + s.home, "RAMET_HOME=" + s.home, "PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh", "RAMET_START=last"}, env...)
	return onTerminal(b, cmd)
}

// onTerminal starts a command.
func onTerminal(b *testing.B, cmd *exec.Cmd) *terminal {
	b.Helper()
	t := &terminal{b: b, cmd: cmd, changed: make(chan struct{}, 1), over: make(chan struct{}),
		screen: vt.NewEmulator(columns, rows), begun: time.Now()}
	t.file = must[*os.File](b)(pty.StartWithSize(t.cmd, &pty.Winsize{Cols: columns, Rows: rows}))
	go io.Copy(t.file, t.screen) // what a terminal is asked it answers
	go t.read()
	b.Cleanup(func() { t.cmd.Process.Kill() }) // where end was not reached
	return t
}

func (t *terminal) read() {
	defer close(t.over)
	buf := make([]byte, 64<<10)
	for {
		n, err := t.file.Read(buf)
		t.mu.Lock()
		t.screen.Write(buf[:n])
		t.mu.Unlock()
		select {
		case t.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// row is one line of the screen; the caller holds mu.
func (t *terminal) row(y int) string {
	var out strings.Builder
	for x := range columns {
		if c := t.screen.CellAt(x, y); c != nil {
			out.WriteString(c.Content)
		}
	}
	return strings.TrimRight(out.String(), " ")
}

// text is the whole screen; the caller holds mu.
func (t *terminal) text() string {
	var out strings.Builder
	for y := range rows {
		out.WriteString(t.row(y) + "\n")
	}
	return out.String()
}

// now is the screen at this moment.
func (t *terminal) now() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text()
}

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute

// until waits until something is true of the screen.
func (t *terminal) until(what string, ok func() bool) {
	t.b.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		t.mu.Lock()
		yes := ok()
		t.mu.Unlock()
		if yes {
			return
		}
		select {
		case <-t.changed:
		case <-t.over:
			t.b.Fatalf("it ended before: %s\n%s", what, t.now())
		case <-late.C:
			t.b.Fatalf("the screen never was: %s\n%s", what, t.now())
		}
	}
}

// see waits for a text.
func (t *terminal) see(text string) {
	t.b.Helper()
	t.until(text, func() bool { return strings.Contains(t.text(), text) })
}

// typed waits until the prompt holds a text.
func (t *terminal) typed(text string) {
	t.b.Helper()
	want := strings.TrimSpace(promptSign + " " + text)
	t.until("the prompt "+want, func() bool { return t.row(promptRow) == want })
}

func (t *terminal) press(keys string) {
	t.b.Helper()
	must[int](t.b)(io.WriteString(t.file, keys))
}

// say types a line and sends it.
func (t *terminal) say(text string) {
	t.b.Helper()
	t.press(text)
	t.typed(text)
	t.press(enterKey)
	t.typed("")
}

// end ends the process as a system that shuts down does.
func (t *terminal) end() {
	t.b.Helper()
	check(t.b, t.cmd.Process.Signal(syscall.SIGTERM))
	<-t.over
	t.cmd.Wait() // a signal is no success
	t.file.Close()
	t.screen.Close()
}

// peak is the most memory that the process had so far, in bytes.
func (t *terminal) peak() float64 {
	t.b.Helper()
	status := must[[]byte](t.b)(os.ReadFile(t.proc("status")))
	_, after, ok := bytes.Cut(status, []byte("\nVmHWM:"))
	if !ok {
		t.b.Fatal("no VmHWM in its status")
	}
	kilobytes := must[int64](t.b)(strconv.ParseInt(string(bytes.Fields(after)[0]), 10, 64))
	return float64(kilobytes << 10)
}

// cpu is the processor time that it used so far; the system tells it in hundredths of
// a second.
func (t *terminal) cpu() time.Duration {
	t.b.Helper()
	stat := must[[]byte](t.b)(os.ReadFile(t.proc("stat")))
	_, after, _ := bytes.Cut(stat, []byte(") ")) // its name may hold anything
	fields := strings.Fields(string(after))
	user := must[int64](t.b)(strconv.ParseInt(fields[11], 10, 64))
	system := must[int64](t.b)(strconv.ParseInt(fields[12], 10, 64))
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (t *terminal) proc(file string) string {
	return filepath.Join("/proc", fmt.Sprint(t.cmd.Process.Pid), file)
}

// What a token costs does not depend on what was said before: neither in the
// conversation above, all of it read by scrolling, nor in the same reply.
func BenchmarkScrollback(b *testing.B) {
	long := max(2000, scaled(100_000))
	short := 100
	sh := newShell(b)
	var past, reply struct{ short, long []float64 } // ms of CPU for a token
	for b.Loop() {
		past.short = append(past.short, sh.stream(b, short, 0))
		past.long = append(past.long, sh.stream(b, long, 0))
		reply.short = append(reply.short, sh.stream(b, short, short))
		reply.long = append(reply.long, sh.stream(b, short, long))
	}
	shown(b, "200 tokens/s behind 100 lines: CPU for a token", "ms", middle(past.short))
	atMost(b, "200 tokens/s: CPU for a token behind 100,000 lines / behind 100", "", middle(past.long)/middle(past.short), 1.5)
	shown(b, "200 tokens/s in a reply of 100 lines: CPU for a token", "ms", middle(reply.short))
	atMost(b, "200 tokens/s: CPU for a token in a reply of 100,000 lines / of 100", "", middle(reply.long)/middle(reply.short), 1.5)
}

// stream measures the CPU of one token, in ms, behind so many lines of conversation
// and of the same reply.
func (s *shell) stream(b *testing.B, past, reply int) float64 {
	b.Helper()
	s.workspace(b, func(db *store.Store, zero id.Agent) {
		tell(b, db, zero, "These are the first words.")
		const each = 100
		var all []history.Draft
		for from := 0; from < past; from += each {
			all = append(all, must[history.Draft](b)(history.Say(history.User, "Go on.")),
				must[history.Draft](b)(history.Say(history.Assistant, paragraphs(from, each))))
		}
		_, err := db.Append(b.Context(), zero, agent.Passing(), all...)
		check(b, err)
	})
	n := newNarrator(b, reply, 5*time.Millisecond)
	t := s.terminal(b, n.env()...)
	t.see("anthropic/bench")
	t.see("Paragraph")
	t.climb("These are the first words.")
	t.press(ctrlEndKey)
	t.until("the end", func() bool { return !strings.Contains(t.text(), "PgDn goes on") })
	t.say("speak")
	t.see("word9")
	tokens := max(200, scaled(2000))
	n.after(b, tokens/10) // what was said at once is behind us
	used := t.cpu()
	n.after(b, tokens)
	used = t.cpu() - used
	t.end()
	n.end()
	return float64(used) / 1e6 / float64(tokens)
}

// climb goes to the top until the first words are there: each time a page more is read.
func (t *terminal) climb(first string) {
	t.b.Helper()
	hand := time.NewTicker(20 * time.Millisecond)
	defer hand.Stop()
	for range int(patience / (20 * time.Millisecond)) {
		t.press(ctrlHomeKey)
		<-hand.C
		if strings.Contains(t.now(), first) {
			return
		}
	}
	t.b.Fatalf("the top is never reached\n%s", t.now())
}
