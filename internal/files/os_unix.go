//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"ramet/internal/base/step"
)

// alive reports whether there is a process of that number.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

const nonblock = syscall.O_NONBLOCK

// rename moves a name from one open folder to another.
func rename(from *step.Root, name string, to *step.Root, as string) error {
	return renameBetween(from, to, func(src, dst int) error { return unix.Renameat(src, name, dst, as) })
}

// renameBetween calls do with the descriptors of two open folders, as one step.
func renameBetween(from, to *step.Root, do func(src, dst int) error) error {
	src, err := from.Open(".")
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.Open(".")
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := step.At("rename"); err != nil {
		return err
	}
	return do(int(src.Fd()), int(dst.Fd()))
}

// ownedByUser reports whether a file belongs to the user of this process.
func ownedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// folder is a folder of this machine.
type folder struct{ *os.File }

// open opens the folder where a walk begins.
func open(path string) (ScanPlace, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return folder{os.NewFile(uintptr(fd), path)}, nil
}

func retry(do func() (int, error)) (int, error) {
	for {
		fd, err := do()
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (f folder) fd() int { return int(f.Fd()) }

func (f folder) Names() ([]string, error) { return f.Readdirnames(-1) }

func (f folder) Stat(name string) (ScanStat, error) {
	var st unix.Stat_t
	err := unix.Fstatat(f.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return statOf(&st), err
}

func (f folder) Self() (ScanStat, error) { return self(f.File) }

func (f folder) Enter(name string) (ScanPlace, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(f.fd(), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return folder{os.NewFile(uintptr(fd), name)}, nil
}

func (f folder) Open(name string) (ScanFile, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(f.fd(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return scanFile{os.NewFile(uintptr(fd), name)}, nil
}

func (f folder) Target(name string) (string, error) {
	for size := 256; ; size *= 2 {
		b := make([]byte, size)
		n, err := retry(func() (int, error) { return unix.Readlinkat(f.fd(), name, b) })
		if err != nil || n < size {
			return string(b[:max(0, n)]), err
		}
	}
}

type scanFile struct{ *os.File }

func (f scanFile) Self() (ScanStat, error) { return self(f.File) }

func self(f *os.File) (ScanStat, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return statOf(&st), err
}

// lookAt returns what is at a path, and follows no link.
func lookAt(path string) (ScanStat, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return statOf(&st), err
}

func statOf(st *unix.Stat_t) ScanStat {
	s := ScanStat{Size: st.Size, Device: uint64(st.Dev), Inode: st.Ino, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind = File
	case unix.S_IFDIR:
		s.Kind, s.Size = Dir, 0
	case unix.S_IFLNK:
		s.Kind = Link
	default:
		s.Kind, s.Size = Other, 0
	}
	if s.Kind == File || s.Kind == Dir {
		s.Mode = uint16(st.Mode & 0o7777)
	}
	return s
}
