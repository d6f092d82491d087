package app_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// contender is a program that does the work of an agent, beside others: where it comes from, and with which words it is asked.
type contender struct {
	name, pack string
	// settle writes what it needs in its home, so that it asks nobody anything at its first start.
	settle func(*testing.T, *abroad)
	// turn is a prompt without a terminal: what it reads, and its command line.
	turn func(a *abroad, prompt string) (stdin string, line []string)
	ui   func(a *abroad) []string
	// shell is the call with which its model runs a command.
	shell string
	// long makes a session of so many messages, and says how a prompt goes on with it, and with a fork of it; nil: nobody here
	// can make one.
	long func(t *testing.T, a *abroad, messages int) (resume, fork func(n int, prompt string) [][]string)
}

// measure is one line of the table: what was measured of a program, in its unit; an error says why there is none.
type measure struct {
	what string
	unit string
	take func(*testing.T, *beside) (float64, error)
	tell func(*testing.T, *beside) string // instead of take: words
}

// beside is a contender on its stage.
type beside struct {
	contender
	*abroad
	version      string
	resume, fork func(n int, prompt string) [][]string
	forks        int
	screen       *atPrompt // of this round; nil: it was not opened
	figures      map[string][]float64
	words        map[string]string
}

var besideMeasures = []measure{
	{what: "headless turn", unit: "ms", take: headless},
	{what: "start until a key is shown", unit: "ms", take: startToKey},
	{what: "key to echo, median of 20", unit: "ms", take: keyToEcho},
	{what: "idle: memory of all its processes (PSS)", unit: "MB", take: idleMemory},
	{what: "idle: processor, of one core", unit: "%", take: idleProcessor},
	{what: "a turn that goes on with 10,000 messages", unit: "ms", take: func(t *testing.T, b *beside) (float64, error) { return b.goes(b.resume) }},
	{what: "a fork of them, and a turn", unit: "ms", take: func(t *testing.T, b *beside) (float64, error) { return b.goes(b.fork) }},
	{what: "SIGKILL in the middle of a command: what is left after 3 s", tell: leftAlive},
}

// Each program beside the others: the same model server, the same machine, in turns. RAMET_TEST_PEERS_BESIDE names the file that is
// written; RAMET_TEST_PEERS_ROUNDS says how often each measure is taken (5).
func peersBeside(t *testing.T) {
	file := testkit.AskedFor(t, "RAMET_TEST_PEERS_BESIDE", "make peers")
	rounds, messages := 5, 10_000
	if n, err := strconv.Atoi(os.Getenv("RAMET_TEST_PEERS_ROUNDS")); err == nil {
		rounds = n
	}
	var all []*beside
	for _, c := range contenders {
		t.Run(c.name, func(here *testing.T) { // who cannot be had is left out
			if c.pack != "" {
				nodePeers(here, "import", c.pack+"@latest")
			}
			all = append(all, newBeside(t, c, messages))
		})
	}
	for range rounds {
		for _, b := range all {
			for _, m := range besideMeasures {
				b.note(t, m)
			}
			b.close()
		}
	}
	text := besideTable(all, rounds)
	t.Log(text)
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o644))
	for _, b := range all {
		if b.name == "ramet" && len(b.figures) < 6 {
			t.Errorf("ramet itself was not measured: %v", b.words)
		}
	}
}

// newBeside puts a program on its stage.
func newBeside(t *testing.T, c contender, messages int) *beside {
	t.Helper()
	b := &beside{contender: c, figures: map[string][]float64{}, words: map[string]string{}}
	if c.pack == "" {
		b.abroad = abroadWith(t, "/usr/bin")
		b.version = strings.Fields(b.must(t, "version"))[1]
	} else {
		node, modules := nodePeers(t, "import", c.pack+"@latest")
		b.abroad = abroadWith(t, filepath.Dir(node)+":"+filepath.Join(modules, ".bin"))
		_, b.version, _ = strings.Cut(packageVersion(t, modules, c.pack), " ")
	}
	b.env = append(b.env, "TERM=xterm-256color", "LANG=C.UTF-8", b.mark)
	testkit.OK(t, os.MkdirAll(b.home, 0o700))
	if c.settle != nil {
		c.settle(t, b.abroad)
	}
	if c.long != nil {
		b.resume, b.fork = c.long(t, b.abroad, messages)
	}
	return b
}

// note takes a measure once.
func (b *beside) note(t *testing.T, m measure) {
	t.Helper()
	if b.words[m.what] != "" { // told, or it cannot be had
		return
	}
	if m.tell != nil {
		b.words[m.what] = m.tell(t, b)
		return
	}
	got, err := m.take(t, b)
	if err != nil {
		b.words[m.what] = "–"
		t.Logf("%s: %s: %v", b.name, m.what, err)
		return
	}
	b.figures[m.what] = append(b.figures[m.what], got)
	t.Logf("%s: %s: %.1f %s", b.name, m.what, got, m.unit)
}

// besideTable is what was measured.
func besideTable(all []*beside, rounds int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "# Beside others\n\n`make peers`, %s, %s/%s, %d processors: each program beside the same model server on loopback, in turns; median of each, rounds: %d.\n"+
		"–: it could not be measured. A headless turn is a process that is started, answers one prompt and ends.\n"+
		"Sessions of 10,000 messages are written by `ramet export` in the program's own format.\n\n|", time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), rounds)
	for _, b := range all {
		fmt.Fprintf(&s, " | %s %s", b.name, b.version)
	}
	s.WriteString(" |\n|---" + strings.Repeat("|---", len(all)) + "|\n")
	for _, m := range besideMeasures {
		s.WriteString("| " + m.what)
		if m.unit != "" {
			s.WriteString(", " + m.unit)
		}
		for _, b := range all {
			cell := b.words[m.what]
			if f := b.figures[m.what]; len(f) > 0 && cell == "" {
				slices.Sort(f)
				cell = strconv.FormatFloat(f[len(f)/2], 'f', 1, 64)
			}
			s.WriteString(" | " + cell)
		}
		s.WriteString(" |\n")
	}
	return s.String()
}

// runs lets a command line go to its end, and says how long it took.
func (b *beside) runs(stdin string, line []string) (time.Duration, error) {
	c := b.program(stdin, line...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	began := time.Now()
	if err := c.Start(); err != nil {
		return 0, err
	}
	late := time.AfterFunc(3*time.Minute, func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	err := c.Wait()
	took := time.Since(began)
	late.Stop()
	if err == nil && !strings.Contains(out.String(), "answer") {
		err = fmt.Errorf("it answered nothing")
	}
	if err != nil {
		return took, fmt.Errorf("%s: %w: %.2000s", strings.Join(line, " "), err, out.String())
	}
	return took, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func headless(_ *testing.T, b *beside) (float64, error) {
	took, err := b.runs(b.turn(b.abroad, "hello"))
	return milliseconds(took), err
}

// goes is a turn in the long session.
func (b *beside) goes(how func(n int, prompt string) [][]string) (float64, error) {
	if how == nil {
		return 0, fmt.Errorf("nobody makes such a session")
	}
	b.forks++
	sum := time.Duration(0)
	lines := how(b.forks, "hello again")
	for i, line := range lines {
		took, err := b.runs("", line)
		if err != nil && i == len(lines)-1 { // only a turn answers
			return 0, err
		}
		sum += took
	}
	if asked := b.model.asked(); !strings.Contains(asked, "the word of message 9990 ") {
		return 0, fmt.Errorf("its model did not hear of the session: %.300s", asked)
	}
	return milliseconds(sum), nil
}

// leftAlive kills the program while a command of it runs.
func leftAlive(t *testing.T, b *beside) string {
	b.close() // its terminal is none of what is left
	long := fmt.Sprintf("7%d%d", os.Getpid(), stages.Add(1))
	stdin, line := b.turn(b.abroad, "call "+fmt.Sprintf(b.shell, "true; sleep "+long))
	c := b.program(stdin, line...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		return "–"
	}
	for end := time.Now().Add(90 * time.Second); len(tools("sleep\x00"+long)) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
			c.Wait()
			t.Logf("%s: its command did not begin: %.2000s", b.name, out.String())
			return "–"
		}
	}
	c.Process.Kill()
	time.Sleep(3 * time.Second) // what dies by itself has died
	var names []string
	for pid, line := range b.survivors() {
		if words := strings.Fields(line); len(words) > 0 {
			names = append(names, filepath.Base(words[0]))
		}
		syscall.Kill(pid, syscall.SIGKILL)
	}
	c.Wait()
	if len(names) == 0 {
		return "nothing"
	}
	slices.Sort(names)
	return fmt.Sprintf("%d processes (%s)", len(names), strings.Join(slices.Compact(names), ", "))
}
