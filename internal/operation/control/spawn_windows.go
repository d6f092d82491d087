package control

import (
	"context"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"ramet/internal/base/fault"
)

// errRefused is the error of a connection to a socket on which no process listens.
const errRefused = windows.WSAECONNREFUSED

// peerProcess returns 0: only Linux marks the commands of agents.
func peerProcess(net.Conn) int { return 0 }

// spawn starts the kernel's process without a console. It counts as ready once its socket answers.
func (p Place) spawn(_ context.Context, start Start) (*child, error) {
	log, err := openLogFile(p.Log())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(OwnProgram(), start.Args...)
	cmd.Dir, cmd.Env = p.home, start.Env
	cmd.Stdout, cmd.Stderr = log.File, log.File
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		return nil, fault.New(fault.Failed, "start the background kernel: %w", err)
	}
	c := &child{ready: make(chan struct{}), exited: make(chan struct{})}
	go func() {
		cmd.Wait() // the state says how it ended
		c.state = cmd.ProcessState
		close(c.exited)
	}()
	go p.awaitAnswer(c)
	return c, nil
}

// awaitAnswer closes c.ready when the socket answers, and gives up when the process ends.
func (p Place) awaitAnswer(c *child) {
	for {
		if conn, err := p.Dial(context.Background()); err == nil {
			conn.Close()
			close(c.ready)
			return
		}
		select {
		case <-c.exited:
			return
		case <-time.After(dialEvery):
		}
	}
}

// Ready does nothing: the process that starts a kernel connects to its socket.
func Ready(func(string) string) {}

// CheckLogout returns nothing: no manager of sessions is asked here.
func CheckLogout(context.Context, func(string) string) (program, note string) { return "", "" }

func isOwn(fs.FileInfo) bool        { return true } // modes say nothing here
func isSameUser(*net.UnixConn) bool { return true } // the folder is in the user's own
func redirectOutput(*os.File)       {}
