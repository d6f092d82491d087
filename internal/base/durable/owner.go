package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"ramet/internal/base/step"
)

// owner is the line a holder leaves in its lock file. It is for humans: it may
// be missing (just taken), or old (the holder was killed, and the next one has
// not written yet).
type owner struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"` // when the lock was taken
}

// String quotes the host because the text comes from a file.
func (o owner) String() string {
	return fmt.Sprintf("process %d on %q since %s", o.PID, o.Host, o.Since.UTC().Format(time.RFC3339))
}

// writeOwner writes this process as the owner. Nothing is fsynced: after a power cut
// no process holds the lock.
func writeOwner(path string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	line, err := json.Marshal(owner{Host: host, PID: os.Getpid(), Since: time.Now().UTC()})
	if err != nil {
		return Failure("lock", path, err)
	}
	return Failure("lock", path, overwriteInPlace(path, append(line, '\n')))
}

// clearOwner empties the owner line.
func clearOwner(path string) error {
	return Failure("unlock", path, overwriteInPlace(path, []byte("\n")))
}

// overwriteInPlace works on the file in place: the lock belongs to the inode, so the
// file must never be replaced. What an older, longer line leaves behind the new one
// stays: only the first line counts, and cutting a file costs more than all the rest,
// because some file systems write it out at once then.
func overwriteInPlace(path string, line []byte) error {
	f, err := step.OpenFile(path, os.O_WRONLY|noFollow, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// isOrphaned reports whether the owner was a process of this machine that is no more.
func isOrphaned(path string) bool {
	o, ok := ownerOf(path)
	if host, err := os.Hostname(); !ok || err != nil || o.Host != host {
		return false
	}
	p, err := os.FindProcess(o.PID)
	if err != nil {
		return true
	}
	defer p.Release()
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// ownerOf reads the line; ok is false when there is none that makes sense.
func ownerOf(path string) (o owner, ok bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return owner{}, false
	}
	defer f.Close()
	line, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return owner{}, false
	}
	line, _, whole := bytes.Cut(line, []byte("\n"))
	if !whole || json.Unmarshal(line, &o) != nil || o.PID <= 0 {
		return owner{}, false
	}
	return o, true
}
