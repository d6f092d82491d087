package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"ramet/internal/testkit"
)

// terminal is the real binary on a real terminal, and the screen that its output
// makes.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	file *os.File // our side of the terminal
	exit chan error

	mu      sync.Mutex
	screen  *vt.Emulator
	raw     bytes.Buffer // everything that was written
	changed chan struct{}
	w, h    int
}

// world is where terminals are opened: a project, a home.
type world struct {
	t             *testing.T
	exe           string
	home, project string
	env           []string
}

func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	exe := testkit.Must(built())(t)
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	w := &world{t: t, exe: exe, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	for _, folder := range []string{w.home, w.project, filepath.Join(w.project, ".ramet")} {
		testkit.OK(t, os.MkdirAll(folder, 0o700))
	}
	w.env = append([]string{"HOME=" + w.home, "RAMET_HOME=" + filepath.Join(w.home, "ramet"), "PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh", "RAMET_TEST_LEASE=" + testLease, "RAMET_TEST_PULSE=600ms", "RAMET_START=last"}, env...)
	t.Cleanup(w.stopServer)
	return w
}

// stopServer ends the background kernel that terminals started.
func (w *world) stopServer() {
	cmd := w.start("server", "stop", "--force")
	if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out), "NOT_FOUND") {
		w.t.Errorf("stop the background kernel: %v\n%s", err, out)
	}
}

// killServer kills the background kernel, and waits until it is gone.
func (w *world) killServer() {
	w.t.Helper()
	var status struct{ PID int }
	if err := json.Unmarshal([]byte(w.ramet("server", "status", "--json")), &status); err != nil || status.PID == 0 {
		w.t.Fatalf("no background kernel runs: %v", err)
	}
	syscall.Kill(status.PID, syscall.SIGKILL)
	eventually(w.t, "the background kernel is gone", func() bool { return syscall.Kill(status.PID, 0) != nil })
}

// ramet runs a command line beside the terminal.
func (w *world) ramet(args ...string) string {
	w.t.Helper()
	if looks(args) {
		out := runInside(w.project, w.env, args...)
		if out.code != 0 {
			w.t.Fatalf("ramet %v: exit code %d\n%s%s", args, out.code, out.stdout, out.stderr)
		}
		return out.stdout + out.stderr
	}
	cmd := w.start(args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("ramet %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// script is a model that says what it is told to.
func (w *world) script(lines ...string) {
	w.t.Helper()
	path := filepath.Join(w.home, "script")
	w.write(path, strings.Join(lines, "\n")+"\n")
	w.env = append(w.env, "RAMET_TEST_SCRIPTS=1", "RAMET_MODEL=script/"+path)
}

func (w *world) write(path, content string) {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.project, path)
	}
	testkit.OK(w.t, os.WriteFile(path, []byte(content), 0o600))
}

// open starts the terminal UI.
func (w *world) open(columns, rows int, args ...string) *terminal {
	w.t.Helper()
	cmd := w.start(args...)
	file := testkit.Must(pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}))(w.t)
	t := &terminal{t: w.t, cmd: cmd, file: file, exit: make(chan error, 1), screen: vt.NewEmulator(columns, rows), changed: make(chan struct{}, 1), w: columns, h: rows}
	go io.Copy(file, answers{t.screen}) // what a terminal is asked it answers
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		t.read()
	}()
	go func() { t.exit <- cmd.Wait() }()
	w.t.Cleanup(func() {
		cmd.Process.Kill()
		file.Close()
		<-reading
		t.screen.InputPipe().(io.Closer).Close() // Close of the emulator itself races with its Read
	})
	return t
}

// answers are those of the emulator.
type answers struct{ *vt.Emulator }

func (t *terminal) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := t.file.Read(buf)
		t.mu.Lock()
		t.raw.Write(buf[:n])
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

// text is the screen, line by line.
func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for y := range t.h {
		var line strings.Builder
		for x := 0; x < t.w; x++ {
			c := t.screen.CellAt(x, y)
			if c == nil || c.Width == 0 && c.Content == "" {
				continue
			}
			line.WriteString(c.Content)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// screenPatience is how long a fact may take on a busy machine.
const screenPatience = patience

// until waits until the screen is as it should be.
func (t *terminal) until(what string, ok func(screen string) bool) {
	t.t.Helper()
	late := time.After(screenPatience)
	for {
		if ok(t.text()) {
			return
		}
		select {
		case <-t.changed:
		case <-late:
			t.t.Fatalf("the screen never was: %s\n%s", what, t.text())
		}
	}
}

// see waits for texts, all on the screen at once.
func (t *terminal) see(texts ...string) {
	t.t.Helper()
	t.until(strings.Join(texts, " and "), func(s string) bool {
		for _, want := range texts {
			if !strings.Contains(s, want) {
				return false
			}
		}
		return true
	})
}

// gone waits until a text is not on the screen.
func (t *terminal) gone(text string) {
	t.t.Helper()
	t.until("without "+text, func(s string) bool { return !strings.Contains(s, text) })
}

// press types keys.
func (t *terminal) press(keys ...string) {
	t.t.Helper()
	for _, k := range keys {
		testkit.Must(io.WriteString(t.file, k))(t.t)
	}
}

// say types a line, waits until it stands in the prompt, and sends it.
func (t *terminal) say(line string) {
	t.t.Helper()
	t.press(line)
	t.see(line)
	t.press(enter)
}

// decide answers the question that stands: it goes down to the choice, as soon as keys
// are its own.
func (t *terminal) decide(choice string) {
	t.t.Helper()
	t.see("↑↓ select")
	for range 5 {
		if strings.Contains(t.text(), "❯ "+choice) {
			break
		}
		before := highlight(t.text())
		t.press(down)
		t.until("another highlight", func(s string) bool { return highlight(s) != before })
	}
	t.see("❯ " + choice)
	t.press(enter)
}

// highlight is the choice of a question that Enter takes: other parts of a screen change by
// themselves.
func highlight(screen string) string {
	for l := range strings.Lines(screen) {
		if _, choice, ok := strings.Cut(l, "▌ ❯"); ok {
			return choice
		}
	}
	return ""
}

// The keys as a terminal sends them.
const (
	enter    = "\r"
	escape   = "\x1b"
	down     = "\x1b[B"
	ctrlC    = "\x03"
	ctrlUp   = "\x1b[1;5A"
	ctrlDown = "\x1b[1;5B"
	ctrlT    = "\x14"
	ctrlO    = "\x0f"
)

// ends waits for the end of the process and returns its exit code.
func (t *terminal) ends() int {
	t.t.Helper()
	select {
	case err := <-t.exit:
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			t.t.Fatal(err)
		}
		return t.cmd.ProcessState.ExitCode()
	case <-time.After(screenPatience):
		t.t.Fatalf("it does not end\n%s", t.text())
	}
	return -1
}

// leave leaves, and holds the terminal against how it was found.
func (t *terminal) leave() {
	t.t.Helper()
	t.press("/exit", enter)
	if code := t.ends(); code != 0 {
		t.t.Errorf("it ended with %d\n%s", code, t.text())
	}
	t.restored()
}

// restored fails where the terminal was not left as it was found.
func (t *terminal) restored() {
	t.t.Helper()
	t.until("restored", func(string) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		out := t.raw.String()
		for _, mode := range []string{"\x1b[?1049", "\x1b[?2004", "\x1b[?1002"} {
			if on, off := strings.LastIndex(out, mode+"h"), strings.LastIndex(out, mode+"l"); on < 0 || off < on {
				return false
			}
		}
		return strings.LastIndex(out, "\x1b[?25h") >= strings.LastIndex(out, "\x1b[?25l")
	})
}

func (t *terminal) signal(s syscall.Signal) {
	t.t.Helper()
	testkit.OK(t.t, t.cmd.Process.Signal(s))
}
