package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/base/text"
)

// Start describes the process of the kernel, which is started by this program, with these arguments and this
// whole environment. The environment must lead FindPlace to the same home.
type Start struct {
	Args, Env []string
	plain     bool // not through systemd-run
}

// limitStart ends the wait for a kernel to become ready. Tests replace it.
var limitStart = func(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, readyWait)
}

const (
	readyWait = 5 * time.Second
	dialEvery = 10 * time.Millisecond
	maxStarts = 3 // of one Ensure

	// How much of the log an error shows.
	maxTail      = 16 << 10
	maxLines     = 10
	maxLineWidth = 200
)

// child is a started process. ready is closed when it answers, exited when it has ended.
type child struct {
	ready, exited chan struct{}
	scoped        bool             // started through systemd-run
	state         *os.ProcessState // once exited
}

// Ensure connects to the kernel and starts one if none runs. Concurrent callers may each start a process;
// the one that takes the lock becomes the kernel, the others exit and their callers connect to it. TIMEOUT:
// it was not ready within 5 s; the hint shows the end of the log. After three deaths within a minute Ensure
// starts nothing, and IsCrashLoop(err) is true.
func (p Place) Ensure(ctx context.Context, start Start) (net.Conn, error) {
	limit, cancel := limitStart(ctx)
	defer cancel()
	logged, _ := os.Stat(p.Log()) // nil if there is none yet
	crashed, end := false, ""
	for starts := 0; ; {
		conn, err := p.Dial(limit)
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, fault.New(fault.Cancelled, "start the background kernel: %w", context.Cause(ctx))
		case limit.Err() != nil:
			return nil, p.withLog(fault.New(fault.TimedOut, "the background kernel was not ready within %s", readyWait), logged)
		case !IsAbsent(err) && !errors.Is(err, syscall.EAGAIN):
			return nil, err
		}
		if p.Alive() { // it starts or stops
			select {
			case <-limit.Done():
			case <-time.After(dialEvery):
			}
			continue
		}
		if crashed || starts == maxStarts {
			return nil, p.withLog(fault.New(fault.Failed, "the background kernel ended while it started (%s)", end), logged)
		}
		if err := p.refuseCrashLoop(); err != nil {
			return nil, err
		}
		starts++
		c, err := p.spawn(ctx, start)
		if err != nil {
			return nil, err
		}
		select {
		case <-limit.Done():
		case <-c.ready:
		case <-c.exited:
			end = c.state.String()
			lostRace := c.state.ExitCode() == 0 || c.state.ExitCode() == fault.Exit(p.refuseSecond())
			crashed = !lostRace && !c.scoped
			start.plain = start.plain || !lostRace // systemd-run itself may have failed
		}
	}
}

// withLog adds what was logged since the file was as in before, or its last lines.
func (p Place) withLog(err *fault.Error, before os.FileInfo) error {
	text := p.readLog(before)
	if text == "" {
		return err.WithHint("it wrote nothing to %s", p.Log())
	}
	lines := strings.Split(text, "\n")
	return err.WithHint("the end of %s:\n%s", p.Log(), strings.Join(lines[max(0, len(lines)-maxLines):], "\n"))
}

// readLog reads the end of what was logged since the file was as in before; nil: ever.
func (p Place) readLog(before os.FileInfo) string {
	f, err := os.Open(p.Log())
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-maxTail)
	if before != nil && os.SameFile(before, info) { // else it was rotated
		from = max(from, before.Size())
	}
	tail, err := io.ReadAll(io.NewSectionReader(f, from, maxTail))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(tail), "\n"), "\n")
	for i, line := range lines {
		lines[i] = text.Line(line, maxLineWidth)
	}
	return strings.Join(lines, "\n")
}

// kept is the second name of a kernel's program; nil: it has none.
var kept atomic.Pointer[string]

// keepProgram gives the program of this kernel a second name, which stays when a newer file replaces the first. Linux has one
// in /proc, and Windows replaces no program that runs.
func (p Place) keepProgram() error {
	if runtime.GOOS == "linux" || runtime.GOOS == "windows" {
		return nil
	}
	from, err := os.Executable()
	if err == nil {
		to := filepath.Join(p.home, "program-"+filepath.Base(p.folder.path))
		if err = keepFile(from, to); err == nil {
			kept.Store(&to)
		}
	}
	return err
}

// keepFile links a file to another name, or copies it.
func keepFile(from, to string) error {
	if err := step.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if step.Link(from, to) == nil {
		return nil
	}
	program, err := os.ReadFile(from)
	if err == nil {
		err = durable.WriteFile(to, program, 0o700)
	}
	return err
}

// OwnProgram returns a path of this program. It leads to the running one even if its file was replaced. On Linux it also works
// for systemd-run as long as this process waits.
func OwnProgram() string {
	if path := kept.Load(); path != nil {
		return *path
	}
	if runtime.GOOS == "linux" {
		path := fmt.Sprintf("/proc/%d/exe", os.Getpid())
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
