package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"ramet/internal/base/fault"
)

// Failure turns an error of the operating system into the fault that a user can act on, which
// names the verb and the path; nil stays nil.
func Failure(verb, path string, err error) error {
	if err == nil {
		return nil
	}
	err = dropPath(err)
	says := func(code fault.Code) *fault.Error {
		return fault.New(code, "%s %s: %w", verb, path, err)
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return says(fault.StorageFull).WithHint("free some space and repeat")
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return says(fault.StorageReadOnly).WithHint("check the owner and the mode of the folder")
	case Crowded(err):
		return says(fault.StorageIO).WithHint(CrowdedHint)
	case errors.Is(err, syscall.ELOOP):
		return fault.New(fault.Denied, "%s is a link, where ramet keeps a file of its own", path).
			WithHint("nothing was touched; look where it leads, and remove it")
	default:
		return says(fault.StorageIO)
	}
}

// CrowdedHint is the hint for when too many files are open.
const CrowdedHint = "too many files are open: close the programs that use them, or raise the limit (`ulimit -n`)"

// Crowded reports whether something failed because too many files are open, here or in
// the whole system: then neither the path nor its owner is to blame.
func Crowded(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// dropPath drops the path that the os package adds: it is often the temporary
// file's, which means nothing to the user.
func dropPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}
