package sandbox

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

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
