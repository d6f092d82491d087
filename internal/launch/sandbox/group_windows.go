package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup ends the command only: a group cannot be killed here.
func killGroup(p *os.Process) { p.Kill() }

func executable(fs.FileInfo) bool { return true }
