// Package durable writes whole files so that a crash never leaves half of one, locks files
// against other processes, and watches folders for changes.
//
//   - When WriteFile or CreateFile returns nil, the content and its name in the folder are on
//     disk: the file is synced before it gets its name, and the folder after.
//   - A reader sees the old content or the new content, never a mixture and never a missing file.
//   - A write that fails leaves the old file unchanged and no temporary file. The exception is a
//     folder whose sync fails after the rename: then the new content is visible but may not survive
//     a power cut, and an error is returned.
//   - A process killed during a write may leave a temporary file named ".<name><digits>" in the
//     same folder. Nothing reads it.
//   - A lock is the kernel's: it ends with the process that holds it. The text in the lock file
//     only tells a person which process that is.
//   - WatchFolder reports every change in a folder after it returned, several changes as one. It
//     does not see subfolders or memory-mapped writes. It returns false where the system cannot
//     watch; the caller then has to poll.
//
// Every error is a fault that names the path: STORAGE_FULL, STORAGE_READONLY, STORAGE_IO,
// CONFLICT, LOCKED or CANCELLED.
package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// WriteFile puts data at path, replacing what was there. The mode is exactly
// perm, whatever the umask. A symbolic link at path is replaced, not followed.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return Write(path, perm, writeWhole(data))
}

// Write does what WriteFile does for what is not in memory as a whole: content writes it.
func Write(path string, perm fs.FileMode, content func(io.Writer) error) error {
	const verb = "write file"
	t, err := preparePending(path, content, perm)
	if err != nil {
		return Failure(verb, path, err)
	}
	defer t.drop()
	if err := t.replace(); err != nil { // fsync, close, rename
		return Failure(verb, path, err)
	}
	return Failure(verb, path, syncFolder(filepath.Dir(path)))
}

// PutFile does what WriteFile does for what can be made again, such as an answer in a cache: no process waits for the
// disk. Other processes see the old content or the new one; after a power cut it may be neither,
// and a caller that reads it must be able to tell.
func PutFile(path string, data []byte, perm fs.FileMode) error {
	const verb = "write file"
	t, err := preparePending(path, writeWhole(data), perm)
	if err != nil {
		return Failure(verb, path, err)
	}
	defer t.drop()
	return Failure(verb, path, t.rename())
}

// CreateFile does what WriteFile does for something that is made once: when path exists,
// even as a dangling link, it is left alone and the error is fault.Conflict
// (errors.Is fs.ErrExist). Of any number of racing processes exactly one
// succeeds, and the others can read its whole content at once.
func CreateFile(path string, data []byte, perm fs.FileMode) error {
	return Create(path, perm, writeWhole(data))
}

// Create does what CreateFile does for what is not in memory as a whole: content writes it. A fault of content
// is the error.
func Create(path string, perm fs.FileMode, content func(io.Writer) error) error {
	const verb = "create file"
	t, err := preparePending(path, content, perm)
	if _, told := fault.Of(err); told {
		return err
	}
	if err != nil {
		return Failure(verb, path, err)
	}
	defer t.drop()
	if err := t.Sync(); err != nil {
		return Failure(verb, path, err)
	}
	// link(2) refuses an existing name, and the name appears with its content;
	// O_EXCL on path itself would show an empty file first.
	if err := step.Link(t.Name(), path); errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Conflict, "%s %s: %w", verb, path, dropPath(err))
	} else if err != nil {
		return Failure(verb, path, err)
	}
	if err := t.drop(); err != nil {
		return Failure(verb, path, err)
	}
	return Failure(verb, path, syncFolder(filepath.Dir(path)))
}

// ReadPlain reads a plain file of at most so many bytes; a pipe is not waited for. What is no plain file, or has more bytes,
// is INVALID_CONFIG; what the system says comes back as it is. check, if it is not nil, refuses the file that was opened.
func ReadPlain(path string, most int64, check func(fs.FileInfo) error) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && check != nil {
		err = check(info)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.InvalidConfig, "%s is not a plain file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fault.New(fault.InvalidConfig, "%s has more than %d bytes", path, most)
	}
	return data, err
}

// OpenFile calls os.OpenFile for a file of our own: where the name is a link, it is not
// followed, and the error is fault.Denied.
func OpenFile(path string, flag int, perm fs.FileMode) (*step.File, error) {
	f, err := step.OpenFile(path, flag|noFollow, perm)
	return f, Failure("open", path, err)
}
