package sandbox

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Main runs the helper. The binary calls it before anything else: it returns at once
// in every process that is not the helper, and never in the helper.
func Main() {
	if len(os.Args) == 0 || os.Args[0] != marker {
		return
	}
	// What is given up below belongs to one thread, and the command is forked from
	// that thread.
	runtime.LockOSThread()
	unix.Exit(runHelper()) // at once; os.Exit waits a second under the race detector
}

func runHelper() int {
	// Signals are swallowed, not ignored: what is ignored would be so in the command.
	signal.Notify(make(chan os.Signal, 1))
	if err := keepFiles(); err != nil {
		fmt.Fprintln(os.Stderr, "keep files from the command:", err)
		return 125
	}
	control, reports := os.NewFile(controlFD, "control"), os.NewFile(reportFD, "reports")
	in := bufio.NewReader(control)
	var o order
	if err := gob.NewDecoder(in).Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, "this is a part of ramet that only ramet itself can start:", err)
		return 125
	}
	say := func(r report) {
		line, _ := json.Marshal(r) // of texts and numbers
		reports.Write(append(line, '\n'))
	}
	var ending atomic.Bool
	go func() {
		io.Copy(io.Discard, in) // until ramet is gone, or wants an end
		ending.Store(true)
		o.sweep()
		if o.Guarded != nil {
			// By its descriptor: the path is hidden here.
			ResumeGuard(o.Guarded, fmt.Sprintf("/proc/self/fd/%d/%s", guardFD, o.Quarantine)).End()
		}
		if o.Box != nil {
			o.Box.clear()
		}
		unix.Exit(0)
	}()
	if err := o.prepare(); err != nil {
		var s *stepError
		errors.As(err, &s)
		say(report{Step: s.step, Why: s.err.Error(), Denied: isDenied(s.err)})
		return 125
	}
	if o.Dry {
		say(report{}) // it began
		say(report{}) // and ended well
		return 0
	}
	if umask, err := strconv.ParseUint(o.Umask, 8, 9); err == nil {
		unix.Umask(int(umask))
	}
	if o.Box != nil {
		awaitTick(o.Box.Since)
	}
	child, err := syscall.ForkExec(o.Path, o.Args, &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		say(report{Step: "exec", Why: err.Error()})
		return 125
	}
	say(report{})
	var hit atomic.Pointer[string]
	if o.Box != nil {
		go o.Box.Limits.watch(&hit)
	}
	status := reapChildren(child)
	if ending.Load() {
		select {} // the other goroutine has still to clean up
	}
	if !o.Way.Spaces {
		o.sweep()
	}
	last := report{Code: status.ExitStatus()}
	if status.Signaled() {
		last = report{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
	}
	if o.Box != nil {
		last.Limit = o.Box.Limits.hit(&hit, last.Code)
	}
	say(last)
	return 0
}

// keepFiles keeps all files but the three streams from the command: our own, and
// those that the program which started ramet left open. An open folder leads out of every box.
func keepFiles() error {
	if unix.CloseRange(controlFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	files, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, f := range files {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd >= controlFD {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

// stepError says at which step of the preparation something failed.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }

// isDenied reports whether the kernel will give the same answer next time.
func isDenied(err error) bool {
	for _, e := range []syscall.Errno{unix.EPERM, unix.EACCES, unix.EINVAL, unix.ENOSYS, unix.ENOSPC, unix.EUSERS, unix.EOPNOTSUPP, unix.ENODEV} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// prepare makes the surroundings of the command. Its errors are stepErrors.
func (o order) prepare() error {
	step := func(name string, do func() error) func() error {
		return func() error {
			err := do()
			if inner := new(stepError); err != nil && !errors.As(err, &inner) {
				return &stepError{name, err}
			}
			return err
		}
	}
	var steps []func() error
	switch {
	case o.Confined != (o.Box != nil):
		steps = append(steps, step("confine", func() error { return errors.New("the order is garbled") }))
	case !o.Way.Spaces && o.Box != nil:
		steps = append(steps, step("confine", func() error { return errors.New("no namespaces") }))
	case !o.Way.Spaces:
		steps = append(steps, step("subreaper", func() error {
			return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		}))
	case os.Getpid() != 1:
		steps = append(steps, step("namespaces", func() error { return unix.EPERM }))
	case o.Box == nil:
		steps = append(steps, step("mounts", func() error { return shareMounts(o.Replace) }), step("privileges", dropAmbient))
	default:
		var rules int
		steps = append(steps,
			step("mounts", func() error { return o.Box.enclose(o.Replace, o.Dir, o.Path) }),
			step("loopback", o.Box.loopback),
			step("listen", o.sendListener),
			step("landlock", func() (err error) { rules, err = o.Box.rules(); return err }),
			step("limits", o.Box.Limits.bound),
			step("privileges", dropAll),
			step("landlock", func() error { return restrictThread(rules) }),
			step("system calls", restrictCalls))
	}
	if o.For != nil {
		// Before privileges are given up, where they are: it needs one.
		steps = append([]func() error{step("mark", o.For.wear)}, steps...)
	}
	for _, do := range steps {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// needed are the capabilities with which the helper of an ordinary user works, inside
// its own user namespace.
var needed = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP,
	unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN} // with these an overlay copies files that their owner cannot read

// kept are the capabilities that a confined root has still: it owns files, and that
// is all. CAP_DAC_READ_SEARCH is not among them, since it opens files by handle,
// past every mount. Nor is CAP_FSETID: a setuid program that is overwritten must lose the bit.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID

// dropAmbient keeps the helper's own capabilities from the command.
func dropAmbient() error {
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// dropAll gives up, for this thread and what it starts, every privilege and the
// means to regain one.
func dropAll() error {
	// The command lives in this thread's Landlock domain and with its capabilities, so
	// it could trace it, and through it the other threads, which have given up
	// nothing. No process traces one that cannot be dumped.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if err := dropAmbient(); err != nil {
		return err
	}
	for c := range uintptr(64) {
		if kept&(1<<c) != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err == unix.EINVAL {
			break // there are no more
		} else if err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	var left uint32
	if os.Geteuid() == 0 {
		left = kept
	}
	data[0] = unix.CapUserData{Effective: data[0].Effective & left, Permitted: data[0].Permitted & left}
	data[1] = unix.CapUserData{}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
