package cli

import (
	"os"
	"os/exec"
)

func forwarded() []os.Signal { return []os.Signal{os.Interrupt} }

// fromKeyboard is always so: the console sends Ctrl-C to both.
func fromKeyboard(os.Signal) bool { return true }

func prepare(*exec.Cmd, bool) {}

func pass(cmd *exec.Cmd, _ os.Signal, _ bool) { cmd.Process.Kill() }

func terminate(cmd *exec.Cmd, _ bool) { cmd.Process.Kill() }

func kill(cmd *exec.Cmd, _ bool) { cmd.Process.Kill() }

func howEnded(state *os.ProcessState) (code int, by string) { return state.ExitCode(), "" }
