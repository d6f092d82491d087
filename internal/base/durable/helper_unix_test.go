//go:build unix

package durable

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// bequeath takes a lock, dies, and leaves it to a child.
func bequeath(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), writeOwner(path))
	}
	if err != nil {
		return err
	}
	child := exec.Command("cat")
	child.Stdin, child.ExtraFiles = os.Stdin, []*os.File{f}
	if err := child.Start(); err != nil {
		return err
	}
	fmt.Println("held")
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// tooLarge writes a file that is larger than files may be.
func tooLarge(path string) error {
	signal.Ignore(syscall.SIGXFSZ) // the write then fails with EFBIG
	limit := syscall.Rlimit{Cur: 4096, Max: 4096}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return WriteFile(path, make([]byte, 8192), 0o600)
}
