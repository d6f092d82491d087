//go:build unix

package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"ramet/internal/base/fault"
	"ramet/internal/operation/control"
)

// detached is the variable that tells a process that it works in the background
// for another, and where that one waits for its exit code.
const detached = "RAMET_DETACHED"

// answerFD is the pipe for the exit code: the first behind the standard ones.
const answerFD = 3

// detach starts the same command line in a session of its own. Until it gives its
// exit code it is as if it were us: it writes to our output, and what interrupts us
// interrupts it.
func detach(args []string, stdio Stdio) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		fail := func(err error) (int, error) {
			return 0, fault.New(fault.Failed, "continue in the background: %w", err)
		}
		answer, give, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		defer answer.Close()
		c := exec.Command(control.OwnProgram(), args...)
		c.Args[0] = "ramet" // for ps
		c.Stdin, c.Stdout, c.Stderr = stdio.In, stdio.Out, stdio.Err
		c.Env = append(os.Environ(), detached+"="+strconv.Itoa(answerFD))
		c.ExtraFiles = []*os.File{give}
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = c.Start()
		give.Close()
		if err != nil {
			return fail(err)
		}
		defer context.AfterFunc(ctx, func() { c.Process.Signal(syscall.SIGINT) })()
		code := make([]byte, 1)
		if _, err := io.ReadFull(answer, code); err == nil {
			return int(code[0]), nil
		}
		// It ended before it had an answer, and has said why.
		if err := c.Wait(); err != nil && c.ProcessState == nil {
			return fail(err)
		}
		if exit := c.ProcessState.ExitCode(); exit >= 0 {
			return exit, nil
		}
		return fail(fmt.Errorf("%s", c.ProcessState))
	}
}

// leave returns a function that releases a background process from its user: it reports the exit code and discards all
// later output.
func leave(env func(string) string) func(int) {
	if env(detached) == "" {
		return nil
	}
	syscall.CloseOnExec(answerFD) // no tool holds the user
	os.Unsetenv(detached)         // and no other ramet that we start takes itself for the one in the background
	return func(code int) {
		answer := os.NewFile(answerFD, "answer")
		if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
			for fd := range 3 {
				redirect(int(null.Fd()), fd)
			}
			null.Close()
		}
		answer.Write([]byte{byte(code)}) // a user who is gone needs none
		answer.Close()
	}
}
