package sandbox

import "syscall"

// Terminate asks the command to end (SIGTERM), and returns at once; what it started is not
// asked. Wait returns when all of it has ended, which Kill sees to.
func (p *Process) Terminate() {
	select {
	case <-p.done:
		return
	default:
	}
	// The helper has one child of its own making, and whoever lost its parent.
	helper := p.cmd.Process.Pid
	for _, pid := range listProcesses() {
		if parent, ok := parentOf(pid); ok && parent == helper {
			syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}
