package app_test

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// atPrompt is a program on a terminal that shows what is typed.
type atPrompt struct {
	*terminal
	tty   *os.File
	shown time.Duration // from its start until a key was shown
	typed string
}

// rareKey is what is typed until it is shown: nothing says it by itself.
const rareKey = "ж"

// on starts a program on a terminal that echoes nothing by itself, and types until that is shown.
func (b *beside) on(t *testing.T) (*atPrompt, error) {
	t.Helper()
	const columns, rows = 120, 40
	file, tty, err := pty.Open()
	if err != nil {
		return nil, err
	}
	raw, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err == nil {
		raw.Lflag &^= unix.ECHO | unix.ICANON
		err = unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, raw)
	}
	if err == nil {
		err = pty.Setsize(file, &pty.Winsize{Cols: columns, Rows: rows})
	}
	if err != nil {
		return nil, err
	}
	line := b.ui(b.abroad)
	cmd := b.program("", line...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &atPrompt{tty: tty, terminal: &terminal{t: t, cmd: cmd, file: file, exit: make(chan error, 1), screen: vt.NewEmulator(columns, rows), changed: make(chan struct{}, 1), w: columns, h: rows}}
	go io.Copy(file, answers{p.screen})
	go p.read()
	go func() { p.exit <- cmd.Wait() }()
	for end := began.Add(90 * time.Second); ; {
		if strings.Contains(p.text(), rareKey) {
			p.shown = time.Since(began)
			break
		}
		if time.Now().After(end) {
			screen := p.text()
			b.screen = p
			b.close()
			return nil, fmt.Errorf("no key is shown:\n%s", screen)
		}
		if p.typed == "" || time.Since(began) > time.Duration(len(p.typed)/len(rareKey))*50*time.Millisecond {
			io.WriteString(file, rareKey)
			p.typed += rareKey
		}
		p.wait(5 * time.Millisecond)
	}
	return p, nil
}

// wait waits for something that is written, but not long.
func (p *atPrompt) wait(most time.Duration) {
	select {
	case <-p.changed:
	case <-time.After(most):
	}
}

// close ends what is on the terminal, and all that it started.
func (b *beside) close() {
	if b.screen == nil {
		return
	}
	p := b.screen
	b.screen = nil
	p.cmd.Process.Kill()
	for pid := range b.survivors() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.exit
	p.tty.Close()
	p.file.Close()
	p.screen.InputPipe().(io.Closer).Close()
}

func startToKey(t *testing.T, b *beside) (float64, error) {
	p, err := b.on(t)
	if err != nil {
		return 0, err
	}
	b.screen = p
	return milliseconds(p.shown), nil
}

func keyToEcho(_ *testing.T, b *beside) (float64, error) {
	if b.screen == nil {
		return 0, fmt.Errorf("it has no prompt")
	}
	p := b.screen
	time.Sleep(2 * time.Second) // what its start still does is over, and all probes are shown
	var took []float64
	for i := range 20 {
		key := string(rune('ა' + i)) // each once: what shows it is its echo
		began := time.Now()
		io.WriteString(p.file, key)
		for !strings.Contains(p.text(), key) {
			if time.Since(began) > 20*time.Second {
				return 0, fmt.Errorf("key %d is not shown:\n%s", i, p.text())
			}
			p.wait(time.Millisecond)
		}
		took = append(took, milliseconds(time.Since(began)))
		time.Sleep(60 * time.Millisecond) // as fast as people type
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func idleMemory(_ *testing.T, b *beside) (float64, error) {
	if b.screen == nil {
		return 0, fmt.Errorf("it has no prompt")
	}
	sum := 0.0
	for pid := range b.survivors() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue // it ended meanwhile
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == "Pss:" {
				kb, _ := strconv.ParseFloat(words[1], 64)
				sum += kb / 1024
			}
		}
	}
	if sum == 0 {
		return 0, fmt.Errorf("nothing of it is found")
	}
	return sum, nil
}

func idleProcessor(_ *testing.T, b *beside) (float64, error) {
	if b.screen == nil {
		return 0, fmt.Errorf("it has no prompt")
	}
	const watch = 5 * time.Second
	before := b.ticks()
	time.Sleep(watch)
	const hertz = 100 // of /proc
	return float64(b.ticks()-before) / hertz / watch.Seconds() * 100, nil
}

// ticks is the processor's time that its processes took so far.
func (b *beside) ticks() (sum int64) {
	for pid := range b.survivors() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, at := range []int{11, 12, 13, 14} { // its own, and that of children that ended
			n, _ := strconv.ParseInt(fields[at], 10, 64)
			sum += n
		}
	}
	return sum
}
