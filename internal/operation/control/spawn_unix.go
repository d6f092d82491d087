//go:build unix

package control

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"ramet/internal/base/fault"
)

// errRefused is the error of a connection to a socket on which no process listens.
const errRefused = syscall.ECONNREFUSED

// readyVariable tells a kernel which descriptor its starter reads, and the process ID of the starter.
const readyVariable = "RAMET_READY"

// readyDescriptor is the first one after the standard ones.
const readyDescriptor = 3

// spawn starts the kernel's process in a session of its own. A goroutine waits for it, so that no zombie
// is left.
func (p Place) spawn(ctx context.Context, start Start) (*child, error) {
	fail := func(err error) (*child, error) {
		return nil, fault.New(fault.Failed, "start the background kernel: %w", err)
	}
	log, err := openLogFile(p.Log())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	pipe, give, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer give.Close()
	keepDescriptors()
	args := append([]string{OwnProgram()}, start.Args...)
	run, _ := CheckLogout(ctx, lookUp(start.Env))
	scoped := run != "" && !start.plain
	if scoped {
		args = append([]string{run, "--user", "--scope", "--quiet", "--"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	if !scoped {
		cmd.Args[0] = "ramet" // for ps
	}
	cmd.Dir = "/"
	cmd.Env = slices.DeleteFunc(slices.Clone(start.Env), func(v string) bool { return strings.HasPrefix(v, readyVariable+"=") })
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d:%d", readyVariable, readyDescriptor, os.Getpid()))
	cmd.Stdout, cmd.Stderr = log.File, log.File
	cmd.ExtraFiles = []*os.File{give}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		pipe.Close()
		return fail(err)
	}
	c := &child{ready: make(chan struct{}), exited: make(chan struct{}), scoped: scoped}
	go func() {
		if n, _ := pipe.Read(make([]byte, 1)); n == 1 {
			close(c.ready)
		}
		pipe.Close()
		cmd.Wait() // the state says how it ended
		c.state = cmd.ProcessState
		close(c.exited)
	}()
	return c, nil
}

// keepDescriptors makes descriptors that this process inherited end with it: a script that holds a lock on
// one must not find it locked for as long as the kernel lives.
func keepDescriptors() {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

var readyOnce sync.Once

// Ready tells the process that started this kernel that it answers. Without a starter it does nothing. The
// variable stays in the environment, so it counts only if the parent is the process that it names.
func Ready(getenv func(string) string) {
	var fd, parent int
	n, _ := fmt.Sscanf(getenv(readyVariable), "%d:%d", &fd, &parent)
	if n != 2 || parent != os.Getppid() {
		return
	}
	readyOnce.Do(func() {
		var stat syscall.Stat_t
		if syscall.Fstat(fd, &stat) == nil && stat.Mode&syscall.S_IFMT == syscall.S_IFIFO {
			syscall.Write(fd, []byte{1}) // a starter that is gone needs no answer
			syscall.Close(fd)
		}
	})
}

// isOwn reports whether the user of this process owns a file.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// isSameUser reports whether the process at the other end of a socket has the user of this one.
func isSameUser(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	same := false
	err = raw.Control(func(fd uintptr) {
		uid, err := peerUser(int(fd))
		same = err == nil && int(uid) == os.Geteuid() && !isFiltered(int(fd))
	})
	return err == nil && same
}

// redirectOutput sends what the process prints to a file.
func redirectOutput(file *os.File) {
	for fd := 1; fd <= 2; fd++ {
		duplicate(int(file.Fd()), fd)
	}
}

// lookUp returns a getenv for an environment. The last value of a variable counts.
func lookUp(env []string) func(string) string {
	return func(name string) (value string) {
		for _, v := range env {
			if rest, ok := strings.CutPrefix(v, name+"="); ok {
				value = rest
			}
		}
		return value
	}
}
