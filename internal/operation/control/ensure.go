package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// kernelEndWait limits the end of a kernel: agents that work get time to write what they did.
const kernelEndWait = 30 * time.Second

// AwaitEnd returns when no kernel holds the lock. TIMEOUT: it did not end within 30 s.
func (p Place) AwaitEnd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, kernelEndWait)
	defer cancel()
	for p.Alive() {
		select {
		case <-time.After(dialEvery):
		case <-ctx.Done():
			return fault.New(fault.TimedOut, "the background kernel did not end within %s", kernelEndWait)
		}
	}
	return nil
}

// Death describes a kernel that ended without Lived, however it died.
type Death struct {
	Noticed    time.Time `json:"noticed,omitzero"`     // by the next kernel
	Workspaces []string  `json:"workspaces,omitempty"` // that it was opening
}

const (
	maxDeaths   = 3
	deathWindow = time.Minute
)

// readKernels returns the kernels that began and did not end in good order. The last one may be alive.
func (p Place) readKernels() (out []Death) {
	text, err := os.ReadFile(p.folder.kernels())
	if err != nil || json.Unmarshal(text, &out) != nil {
		return nil
	}
	return out
}

// writeKernels replaces the list of kernels, or removes it if it is empty. The caller holds the lock. If it
// fails, deaths are not counted.
func (p Place) writeKernels(kernels []Death) {
	if len(kernels) == 0 {
		step.Remove(p.folder.kernels())
		return
	}
	text, err := json.Marshal(kernels)
	if err == nil && step.WriteFile(p.folder.kernels()+".new", text, 0o600) == nil {
		step.Rename(p.folder.kernels()+".new", p.folder.kernels())
	}
}

// recordBegin adds the kernel that has just taken the lock.
func (p Place) recordBegin() { p.writeKernels(append(recentDeaths(p.readKernels()), Death{})) }

// recentDeaths returns the deaths of the last minute. The last kernel, if no one has noticed its death yet,
// died now.
func recentDeaths(kernels []Death) []Death {
	now := time.Now()
	for i, d := range kernels {
		if d.Noticed.IsZero() {
			kernels[i].Noticed = now
		}
	}
	return slices.DeleteFunc(kernels, func(d Death) bool { return now.Sub(d.Noticed).Abs() > deathWindow })
}

// updateOwn changes the record of this kernel, which is the last one; nil removes it.
func (l *Listener) updateOwn(own []Death) {
	if kernels := l.place.readKernels(); len(kernels) > 0 && !l.lived {
		l.place.writeKernels(append(kernels[:len(kernels)-1], own...))
	}
}

// Working notes that the kernel opens a workspace, until done is called: if the kernel dies meanwhile, the
// message about a crash loop names the workspace.
func (l *Listener) Working(workspace string) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opening = append(l.opening, workspace)
	l.updateOwn([]Death{{Workspaces: l.opening}})
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.opening, workspace); i >= 0 {
			l.opening = slices.Delete(l.opening, i, i+1)
		}
		l.updateOwn([]Death{{Workspaces: l.opening}})
	}
}

// Lived records an orderly end. The kernel calls it before Close.
func (l *Listener) Lived() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.updateOwn(nil)
	l.lived = true
}

// Died returns the deaths of the last minute, oldest first.
func (p Place) Died() []Death {
	if p.chooseFolder() != nil {
		return nil
	}
	kernels := p.readKernels()
	if len(kernels) > 0 && isLocked(p.folder.lock()) {
		kernels = kernels[:len(kernels)-1]
	}
	return recentDeaths(kernels)
}

// ForgetDeaths lets Ensure start a kernel again after a crash loop.
func (p Place) ForgetDeaths() {
	if !p.Alive() {
		step.Remove(p.folder.kernels())
	}
}

var errCrashLoop = errors.New("the background kernel keeps dying")

// IsCrashLoop reports whether Ensure refused to start a kernel because the last ones died. A client that
// reconnects by itself stops then.
func IsCrashLoop(err error) bool { return errors.Is(err, errCrashLoop) }

func (p Place) refuseCrashLoop() error {
	deaths := p.Died()
	if len(deaths) < maxDeaths {
		return nil
	}
	while := ""
	if last := deaths[len(deaths)-1]; len(last.Workspaces) > 0 {
		while = " while it opened " + strings.Join(last.Workspaces, " or ")
	}
	return fault.New(fault.Failed, "%w: it died %d times within a minute%s", errCrashLoop, len(deaths), while).
		WithHint("read %s, then run `ramet server restart`", p.Log())
}

const (
	maxLogSize  = 10 << 20
	maxLogFiles = 3
)

// Log is the log file of the kernel: private to the user, rotated at 10 MB, with three files kept. It is
// safe for concurrent use.
type Log struct {
	path     string
	maxSize  int64
	redirect func(*os.File) // sends the output of the process to a file

	mu   sync.Mutex
	file *step.File
}

// OpenLog opens the log for the kernel that holds the place. From now on the output of the process goes
// there too, panics included.
func (p Place) OpenLog() (*Log, error) {
	l := &Log{path: p.Log(), maxSize: maxLogSize, redirect: redirectOutput}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Log) open() error {
	file, err := openLogFile(l.path)
	if err != nil {
		return err
	}
	l.redirect(file.File)
	if l.file != nil {
		l.file.Close()
	}
	l.file = file
	return nil
}

// openLogFile opens a log for appending. It creates the file, readable only by the user, and its folder.
func openLogFile(path string) (*step.File, error) {
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := step.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		err = file.Chmod(0o600) // it may be older than we are
	}
	return file, durable.Failure("open log", path, err)
}

// Write appends to the log. It rotates first if b does not fit.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The size is not counted here, because the process's output goes to the same file.
	if info, err := l.file.Stat(); err == nil && info.Size() > 0 && info.Size()+int64(len(b)) > l.maxSize {
		l.rotate() // a log that cannot be rotated grows
	}
	return l.file.Write(b)
}

// rotate renames server.log to server.log.1, that to server.log.2, and opens a new one.
func (l *Log) rotate() error {
	for i := maxLogFiles - 1; i > 0; i-- {
		from := l.path
		if i > 1 {
			from = fmt.Sprintf("%s.%d", l.path, i-1)
		}
		if err := step.Rename(from, fmt.Sprintf("%s.%d", l.path, i)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return l.open()
}

// What the kernel logs first and last.
const (
	LogStarted = "started, version "
	LogEnds    = "ends: "
)

// LastEnd returns the line of the log that says why the kernel ended last, or how it died; empty if it never ended.
func (p Place) LastEnd() string {
	end, last, runs := "", "", false
	for line := range strings.Lines(p.readLog(nil)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(line, " "+LogStarted):
			if runs {
				end = "it died; before that: " + last
			}
			runs = true
		case strings.Contains(line, " "+LogEnds):
			end, runs = line, false
		}
		last = line
	}
	if runs && !p.Alive() {
		end = "it died; before that: " + last
	}
	return end
}

// Close closes the log. The output of the process still goes to its file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
