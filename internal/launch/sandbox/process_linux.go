package sandbox

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
)

// patience limits how long a helper without namespaces may take to end its descendants.
const patience = 10 * time.Second

// Process is a command that was started.
type Process struct {
	cmd      *exec.Cmd
	way      way
	space    *os.File    // its PID namespace, held so that no other gets its number; may be nil
	mark     string      // in its environment, without namespaces
	temp     *tempFolder // nil: it is not confined
	watch    *GuardWatch // nil: names are not looked after
	overlay  *overlay    // nil: it writes at once
	group    *group      // nil: the helper alone looks after limits
	control  *os.File
	listener net.Listener // of Box.Listen; may be nil

	kill   sync.Once
	killed atomic.Bool

	done   chan struct{} // closed when the two below are final
	result Result
	err    error
}

// Kill ends the command and everything that it started. It returns at once; Wait
// returns when they are dead. It may be called at any time, and more than once.
func (p *Process) Kill() {
	p.kill.Do(func() {
		select {
		case <-p.done:
			return
		default:
		}
		p.killed.Store(true)
		if p.way.Spaces {
			p.cmd.Process.Kill() // and the kernel ends the namespace with its init
		} else {
			p.cmd.Process.Signal(syscall.SIGCONT) // should the command have stopped it
			time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
		}
		p.control.Close()
	})
}

// Wait returns when the command and everything that it started are dead, and all
// output was handed on. An error says that something survived, or that the helper
// failed; how the command ended is in the result.
func (p *Process) Wait() (Result, error) {
	<-p.done
	return p.result, p.err
}

// follow sees a process to its end.
func (p *Process) follow(stop func() bool, reports *bufio.Reader, output *drain, files []*os.File) {
	defer close(p.done)
	patrolled := p.patrol()
	var last report
	ended := readReport(reports, &last)
	callers.Delete(p.cmd.Process.Pid) // before the number is free
	waited := p.cmd.Wait()
	stop()
	if p.listener != nil {
		p.listener.Close() // and the command's network goes with it
	}
	p.result.Killed = p.killed.Load()
	p.control.Close()
	left := p.leftOver()
	output.finish()
	for _, f := range files {
		f.Close()
	}
	p.space.Close()
	if p.temp != nil {
		p.temp.remove()
	}
	patrolled()
	p.look()
	wall := p.group.hit()
	p.group.remove()
	switch {
	case ended == nil:
		p.result.ExitCode, p.result.Signal = last.Code, syscall.Signal(last.Signal)
		if limit := cmp.Or(last.Limit, wall); limit != "" {
			p.note("limit hit: %s", limit)
		}
	case p.result.Killed:
		p.result.ExitCode, p.result.Signal = 128+int(syscall.SIGKILL), syscall.SIGKILL
	default:
		p.err = fault.New(fault.Failed, "run command: its helper ended early: %v", waited)
		p.result.ExitCode = -1
	}
	if len(left) > 0 {
		p.err = reportSurvivors(left)
	}
}

// patrol looks at names while the command runs; the function that it returns ends that.
func (p *Process) patrol() (end func()) {
	if p.watch == nil {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.watch.Patrol(stop, patrolEvery)
	}()
	return func() { close(stop); <-ended }
}

// patrolEvery is the interval. A look at a large workspace takes a fiftieth of it.
const patrolEvery = time.Second

// look sees what the command left under names that others execute.
func (p *Process) look() {
	var moved []GuardMoved
	var err error
	switch {
	case p.overlay != nil:
		moved, err = p.overlay.apply()
		p.overlay.temp.remove()
	case p.watch != nil:
		moved, err = p.watch.End()
	}
	for i, m := range moved {
		if i == mostMoved {
			p.note("and %d more were moved there", len(moved)-i)
			break
		}
		p.note("%s", m)
	}
	if err != nil {
		p.note("not everything that it left could be checked or written: %v", err)
	}
}

// mostMoved limits how many things are reported one by one.
const mostMoved = 10

func (p *Process) note(format string, args ...any) {
	if p.result.Notes != "" {
		p.result.Notes += "\n"
	}
	p.result.Notes += fmt.Sprintf(format, args...)
}

func reportSurvivors(left []int) error {
	return fault.New(fault.Failed, "kill command: these processes of it survived: %v", left).
		WithHint("look at them, and kill them by hand")
}

// leftOver looks for what survived. In a namespace the kernel saw to it that nothing
// did. Without one, the mark finds what got away from the helper, and it is killed.
func (p *Process) leftOver() []int {
	if p.way.Spaces {
		return processesOfNamespace(p.space)
	}
	// One look can miss a process: while it executes another program it has no environment.
	gone := 0
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		left := processesWithMark(p.mark)
		if gone++; len(left) > 0 {
			gone = 0
		}
		if gone == 2 || time.Now().After(end) {
			return left
		}
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

const markName = "RAMET_CONTAINED="

// newMark has 26 random characters.
func newMark() string { return markName + rand.Text() }

func readReport(in *bufio.Reader, r *report) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, r)
}

// pipeSet opens pipes, and remembers them all.
type pipeSet struct {
	files []*os.File
	err   error
}

func (s *pipeSet) open() (r, w *os.File) {
	if s.err != nil {
		return nil, nil
	}
	if r, w, s.err = os.Pipe(); s.err != nil {
		s.err = fmt.Errorf("start command: %w", s.err)
		return nil, nil
	}
	s.files = append(s.files, r, w)
	return r, w
}

func (s *pipeSet) close() {
	for _, f := range s.files {
		f.Close()
	}
}

// Terminate asks the command to end (SIGTERM), and returns at once; what it started is not
// asked. Wait returns when all of it has ended, which Kill sees to.
func (p *Process) Terminate() {
	select {
	case <-p.done:
		return
	default:
	}
	// The helper has one child of its own making, and the processes that lost their parent.
	helper := p.cmd.Process.Pid
	for _, pid := range listProcesses() {
		if parent, ok := parentOf(pid); ok && parent == helper {
			syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}

// A command that is started for an agent or person bears a mark that says for whom. It is a filter of
// system calls, which the kernel hands on to everything that the command starts and lets
// nothing takes off: not another session, not another namespace, not an empty environment.
//
// The filter permits everything. It answers questions that no kernel understands: the call
// asked+markSize fails with the error marked, and the call asked+n with answer plus the n-th
// byte of the mark. Of several filters the newest answers.
const (
	asked    = 0x2a5e0000 // far above every call, and below the second set of numbers of amd64
	marked   = 4000       // the highest errors, which nothing else uses
	answer   = 3000
	markSize = 16
)

// Mark is for whom a command is started: the bytes of an agent's id.
type Mark [markSize]byte

// Marked returns the mark that this process bears; false: none.
func Marked() (m Mark, ok bool) {
	ask := func(n uintptr) uintptr {
		_, _, errno := unix.RawSyscall(asked+n, 0, 0, 0)
		return uintptr(errno)
	}
	if ask(markSize) != marked {
		return m, false
	}
	for n := range m {
		e := ask(uintptr(n))
		if e < answer || e > answer+255 {
			return Mark{}, false
		}
		m[n] = byte(e - answer)
	}
	return m, true
}

// callers are the helpers of marked commands: process ID to Caller.
var callers sync.Map

// CallerOf returns the marked command of this process that another process belongs to: whatever a command starts stays
// below its helper. false: none.
func CallerOf(pid int) (Caller, bool) {
	for pid > 1 {
		if c, ok := callers.Load(pid); ok {
			return c.(Caller), true
		}
		pid, _ = parentOf(pid)
	}
	return Caller{}, false
}

// markProgram returns the filter of a mark.
func markProgram(m Mark) program {
	var p program
	p.load(offsetNumber)
	p.add(least, asked, 1, 0)
	p.allow() // all that programs do ends here
	p.on(asked+markSize, marked)
	for n, b := range m {
		p.on(asked+uint32(n), answer+unix.Errno(b))
	}
	p.allow()
	return p
}

// wear marks this thread and its child processes for good. Without the privilege to set a filter alone, it also
// gives up the means to gain privileges.
func (m Mark) wear() error {
	p := markProgram(m)
	err := p.install()
	if errors.Is(err, unix.EACCES) {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		err = p.install()
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return nil // a kernel without filters
	}
	return err
}
