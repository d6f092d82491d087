package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	testkit.WaitUntil(w.t, "the background kernel is gone", func() bool { return syscall.Kill(status.PID, 0) != nil })
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

// cursor returns the selected row of Home.
func cursor(screen string) string {
	for l := range strings.Lines(screen) {
		if strings.HasPrefix(l, "▌ ") {
			return l
		}
	}
	return ""
}

// TestHomeOnTheScreen works in Home on a real terminal: an agent that needs you is first, is answered in place, and the rows follow
// what happens; a filter, a fork, mail and a kill from there.
func TestHomeOnTheScreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "COLORTERM=truecolor")
	w.write("server.go", "package main\n\nimport \"net/http\"\n\nfunc main() {\n\thttp.ListenAndServe(\":8080\", nil)\n}\n")
	x := w.open(120, 26)
	x.see("offline/offline")
	for _, child := range []struct{ line, ends string }{
		{`/fork --name docs "search for 8080 in ."`, "done"},
		{`/fork --name tests "run wc -l server.go"`, "wants to run"},
	} {
		x.say(child.line)
		x.see(child.ends)
		x.press(ctrlUp)
		x.see("[0]", "↓")
	}
	to := func(name string) {
		t.Helper()
		for range 6 {
			if strings.Contains(cursor(x.text()), name) {
				return
			}
			before := cursor(x.text())
			x.press("\x1b[A")
			x.until("another row than "+before, func(s string) bool { return cursor(s) != before })
		}
		t.Fatalf("no row of %s\n%s", name, x.text())
	}

	x.press("\x1b[D") // Left at an empty prompt
	x.see("needs you", "tests", "asks", "done", "docs", "idle", "Enter open")
	if now := cursor(x.text()); !strings.Contains(now, " 0 ") {
		t.Errorf("the cursor is on %q, not on who was current", now)
	}
	to("tests")
	x.see("? bash wc -l server.go", "waiting for your approval") // what it asks, at the right
	album(x, "home", "needs you", "asks", "done", "idle", "Space answer")
	albumPage(w)
	x.press(" ")
	x.see("tests wants to run", "❯ No", "Allow once", "Enter answer", "↑↓ select")
	for range 2 {
		before := highlight(x.text())
		x.press(down)
		x.until("another highlight", func(s string) bool { return highlight(s) != before })
	}
	x.see("❯ Allow once")
	album(x, "answer", "tests wants to run", "❯ Allow once", "Enter answer")
	x.press(enter)
	x.see("tests done", "│ 7 server.go", "Ran wc -l server.go") // the row stays where the cursor is

	x.press("/")
	x.press("docs")
	x.until("only docs", func(s string) bool { return strings.Contains(s, "docs") && !strings.Contains(s, "tests ") })
	x.press(escape)
	x.gone("Esc show all") // a key that came with the Esc would be another key
	x.see("tests", "docs")
	x.gone("needs you")
	to("docs")
	x.press("k")
	x.see("Kill docs?")
	album(x, "kill", "Kill docs?", "tests")
	x.press("y")
	x.gone("› docs")
	x.press(enter)
	x.leave()
	x = w.open(100, 14, "resume") // another day, from any folder
	x.see("project", "2 agents", "Enter open")
	album(x, "resume", "type to search", "2 agents", "Enter open")
	x.press(enter)
	x.see("[0]", "forked tests", "offline/offline")
	x.leave()
}

// albumFolder holds the pictures of docs/walkthrough.md, each a screen of a test.
const albumFolder = "../../docs/walkthrough"

// album keeps the screen that stands there as a picture of the walk-through, with -update; without, it
// demands that the picture kept says the same things.
func album(x *terminal, name string, says ...string) {
	x.t.Helper()
	x.see(says...)
	path := filepath.Join(albumFolder, name+".svg")
	if *update {
		testkit.OK(x.t, os.WriteFile(path, []byte(anywhere(picture(x))), 0o644))
	}
	kept := testkit.Must(os.ReadFile(path))(x.t)
	for _, s := range says {
		if !strings.Contains(words(string(kept)), s) {
			x.t.Errorf("%s does not say %q: go test ./internal/app -run '%s' -update", path, s, x.t.Name())
		}
	}
}

var (
	folders = regexp.MustCompile(`/[^\s<]*/Test\w+/\d+/project`)
	days    = regexp.MustCompile(`\b20\d\d-\d\d-\d\d \d\d:\d\d\b`)
)

// anywhere is a picture without the folder in which the test stood, and the time.
func anywhere(svg string) string {
	svg = days.ReplaceAllString(svg, "2026-11-01 09:30")
	return folders.ReplaceAllStringFunc(svg, func(s string) string { return fmt.Sprintf("%-*s", len(s), "/home/you/cart") })
}

// albumPage keeps the page of a world as it is now, with -update: only Chromium can draw it, and what it
// shows its own tests hold against the page. Without, a picture must be there.
func albumPage(w *world) {
	w.t.Helper()
	path := filepath.Join(albumFolder, "page.png")
	if *update {
		node, chromium := browser(w.t)
		w.serve()
		to := testkit.Must(filepath.Abs(path))(w.t)
		cmd := exec.CommandContext(w.t.Context(), node, "test/picture.mjs", chromium, linkIn(w.ramet("web")), to)
		cmd.Dir = webSources
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("%v\n%s", err, out)
		}
	}
	data := testkit.Must(os.ReadFile(path))(w.t)
	if _, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || len(data) > 200<<10 {
		w.t.Errorf("%s has %d bytes: %v", path, len(data), err)
	}
}

// Every picture of the album stands in the walk-through, and the walk-through has no others.
func TestTheWalkThroughHasItsPictures(t *testing.T) {
	text := testkit.Must(os.ReadFile(filepath.Join(albumFolder, "..", "walkthrough.md")))(t)
	kept := testkit.Must(os.ReadDir(albumFolder))(t)
	for _, k := range kept {
		if !strings.Contains(string(text), "](walkthrough/"+k.Name()+")") {
			t.Errorf("%s stands in no part of the walk-through", k.Name())
		}
	}
	if shown := strings.Count(string(text), "](walkthrough/"); shown != len(kept) {
		t.Errorf("the walk-through shows %d pictures, of %d that there are", shown, len(kept))
	}
}
