//go:build !linux

package sandbox

import "syscall"

// Terminate asks the command to end, and returns at once. Where nobody can be asked, nothing
// happens: Kill sees to it.
func (p *Process) Terminate() {
	select {
	case <-p.done:
	default:
		p.cmd.Process.Signal(syscall.SIGTERM)
	}
}
