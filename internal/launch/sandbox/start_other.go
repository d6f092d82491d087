//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"ramet/internal/base/fault"
)

// Main does nothing: there is no helper on this system.
func Main() {}

// Available reports whether commands can be confined here: nil, or a DENIED fault that
// names what is missing.
func Available() error {
	return fault.New(fault.Denied, "commands cannot be confined on this system: there is no sandbox on %s", runtime.GOOS).
		WithHint("ramet asks before each command; Linux would change that")
}

// CheckOverlay returns why commands have no overlay.
func CheckOverlay(folder, dir string) error { return Available() }

// Process is a command that was started.
type Process struct {
	cmd    *exec.Cmd
	kill   sync.Once
	killed atomic.Bool
	done   chan struct{}
	result Result
	err    error
}

// Start runs a command. When ctx ends it is killed. A nil error means that the
// command's program was started; Wait must then be called.
func Start(ctx context.Context, c Command) (*Process, error) {
	defer c.Speaks.close()
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Confine != nil {
		return nil, Available()
	}
	path, err := c.file()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.New(fault.Cancelled, "start command: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fault.New(fault.Failed, "start command: %w", err)
	}
	if c.Umask != "" { // as no thread of this process can have one of its own
		path, c.Args = "/bin/sh", append([]string{"sh", "-c", `umask "$0" && exec "$@"`, c.Umask, path}, c.Args[1:]...)
	}
	cmd := &exec.Cmd{Path: path, Args: c.Args, Dir: c.Dir, Env: append([]string{}, c.Env...), Stdout: w, Stderr: w, SysProcAttr: groupOfItsOwn()}
	if c.Speaks != nil {
		cmd.Stdin, cmd.Stdout = c.Speaks.In, c.Speaks.Out
	}
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, fault.New(fault.Failed, "start %s in %s: %w", path, c.Dir, err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	output := newDrain(r, c.Output)
	stop := context.AfterFunc(ctx, p.Kill)
	go func() {
		defer close(p.done)
		err := cmd.Wait()
		stop()
		killGroup(cmd.Process) // what the command left behind
		output.finish()
		r.Close()
		p.result = resultOf(cmd.ProcessState)
		p.result.Killed = p.killed.Load()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.err = fault.New(fault.Failed, "run command: %w", err)
		}
	}()
	return p, nil
}

// Kill ends the command and its process group. It returns at once; Wait returns when
// the command is dead.
func (p *Process) Kill() {
	p.kill.Do(func() {
		select {
		case <-p.done:
		default:
			p.killed.Store(true)
			killGroup(p.cmd.Process)
		}
	})
}

// Wait returns when the command is dead, and all output was handed on.
func (p *Process) Wait() (Result, error) {
	<-p.done
	return p.result, p.err
}

func resultOf(state *os.ProcessState) Result {
	r := Result{ExitCode: state.ExitCode()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = status.Signal()
		r.ExitCode = 128 + int(r.Signal)
	}
	return r
}

// limitsHow returns nothing: there are no confined commands here.
func limitsHow() string { return "" }

func machineMemory() int64 { return 0 }

// Mark is for whom a command is started: the bytes of an agent's id. Only Linux has a way
// to make it last.
type Mark [16]byte

// CallerOf returns false: nothing is known.
func CallerOf(int) (Caller, bool) { return Caller{}, false }

// Marked returns the mark that this process bears; false: none.
func Marked() (Mark, bool) { return Mark{}, false }

// Terminate asks the command to end, and returns at once. Here it does nothing: Kill ends it.
func (p *Process) Terminate() {
	select {
	case <-p.done:
	default:
		p.cmd.Process.Signal(syscall.SIGTERM)
	}
}
