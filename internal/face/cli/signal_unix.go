//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"
)

func forwarded() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
}

// fromKeyboard reports whether a terminal sends a signal to all processes in the foreground.
func fromKeyboard(sig os.Signal) bool { return sig == syscall.SIGINT || sig == syscall.SIGQUIT }

// prepare gives the command a process group, so that what it starts is reached too. On
// a terminal it must stay in ours, or it could not read.
func prepare(cmd *exec.Cmd, terminal bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !terminal}
	dieWithUs(cmd.SysProcAttr)
}

func pass(cmd *exec.Cmd, sig os.Signal, terminal bool) {
	pid := cmd.Process.Pid
	if !terminal {
		pid = -pid
	}
	syscall.Kill(pid, sig.(syscall.Signal)) // if not: it has just ended
}

func terminate(cmd *exec.Cmd, terminal bool) { pass(cmd, syscall.SIGTERM, terminal) }

// kill ends the group. A command that has been waited for has no number any more, its
// group still has.
func kill(cmd *exec.Cmd, terminal bool) {
	if !terminal || cmd.ProcessState == nil {
		pass(cmd, syscall.SIGKILL, terminal)
	}
}

// howEnded is the exit code, 128 and more for a signal.
func howEnded(state *os.ProcessState) (code int, by string) {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), w.Signal().String()
	}
	return state.ExitCode(), ""
}
