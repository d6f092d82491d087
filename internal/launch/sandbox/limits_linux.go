package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
)

// How limits hold. Address space is not bounded: runtimes reserve far more of it than they
// use. So the helper, who is the first process of the command's namespace, looks at what
// there is, and ends everything when it is too much. That is late by a moment; the
// kernel's own limit for processes, which counts those of this user namespace, stops a
// loop that forks before. Where control groups were delegated to us, the command has one
// of its own behind that look.
func limitsHow() string {
	if delegated() != "" && !groupless.Load() {
		return " (kept by a control group of each command, and looked at ten times a second; files by the kernel)"
	}
	return " (looked at ten times a second; files by the kernel; no control groups of version 2 are delegated to this process)"
}

// between is the interval at which the helper looks.
const between = 100 * time.Millisecond

// headroom is the number of processes above the limit that there may be until the helper looks. A
// fork that fails ends a loop of shells before its cause could be reported.
const headroom = 4096

// machineMemory returns what the machine has; 0: not known.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}

// bound sets the limits that the kernel keeps. They are inherited.
func (l Limits) bound() error {
	for what, n := range map[int]uint64{
		unix.RLIMIT_FSIZE: uint64(l.FileSize),
		unix.RLIMIT_NPROC: uint64(l.Processes + headroom), // does not count for root
		unix.RLIMIT_CORE:  0,
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(what, &now); err != nil {
			return err
		}
		n = min(n, now.Max)
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return err
		}
	}
	return nil
}

// watch ends all processes of the namespace when they are too much, and says why in hit.
// It runs for as long as the helper.
func (l Limits) watch(hit *atomic.Pointer[string]) {
	if self, err := os.Readlink("/proc/self"); err != nil || self != "1" || os.Getpid() != 1 {
		return // this /proc is not that of the namespace
	}
	for {
		time.Sleep(between)
		if why := l.exceeded(); why != "" {
			hit.CompareAndSwap(nil, &why)
			syscall.Kill(-1, syscall.SIGKILL) // all but us
		}
	}
}

// exceeded describes which limit is; empty: none.
func (l Limits) exceeded() string {
	threads, pages := 0, int64(0)
	pids := listProcesses()
	for _, pid := range pids {
		if pid == 1 {
			continue
		}
		t, p := usageOf(pid)
		threads += t
		pages += p
	}
	if threads > l.Processes {
		return fmt.Sprintf("more than %d processes and threads", l.Processes)
	}
	page := int64(os.Getpagesize())
	if pages*page <= l.Memory {
		return ""
	}
	// What processes share was counted for each. Who looks closer looks longer.
	used := int64(0)
	for _, pid := range pids {
		if pid != 1 {
			used += proportionalSize(pid, page)
		}
	}
	if used <= l.Memory {
		return ""
	}
	return fmt.Sprintf("more than %s of memory", bytesOf(l.Memory))
}

// usageOf returns how many threads a process has, and how many pages in memory.
func usageOf(pid int) (threads int, pages int64) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the first is the third of the manual
	if len(fields) < 22 {
		return 0, 0
	}
	threads, _ = strconv.Atoi(string(fields[17]))
	pages, _ = strconv.ParseInt(string(fields[21]), 10, 64)
	return threads, pages
}

// proportionalSize returns what a process uses, with its part of what it shares; where that is not
// told, all of it.
func proportionalSize(pid int, page int64) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err == nil {
		if _, rest, ok := bytes.Cut(text, []byte("\nPss:")); ok {
			if f := bytes.Fields(rest); len(f) > 0 {
				if kb, err := strconv.ParseInt(string(f[0]), 10, 64); err == nil {
					return kb << 10
				}
			}
		}
	}
	_, pages := usageOf(pid)
	return pages * page
}

// hit describes which limit a command met that has ended.
func (l Limits) hit(seen *atomic.Pointer[string], code int) string {
	switch why := seen.Load(); {
	case why != nil:
		return *why + "; all that the command had started was killed"
	case code == 128+int(unix.SIGXFSZ): // its own end, or told by a shell
		return "a file larger than " + bytesOf(l.FileSize)
	}
	return ""
}

// resolve makes real paths of a box.
func (b *Box) resolve() (*inside, error) {
	in := &inside{Network: b.Network, Limits: b.Limits.filled(), Same: map[string]identity{}}
	for _, w := range b.Write {
		same, err := identifyFolder(w)
		if err != nil {
			return nil, err
		}
		w = filepath.Clean(w)
		in.Write = append(in.Write, w)
		in.Same[w] = same
	}
	slices.Sort(in.Write) // outer folders first
	if err := b.resolveTemporary(in); err != nil {
		return nil, err
	}
	for _, pair := range []struct {
		from []string
		to   *[]string
	}{{b.Keep, &in.Keep}, {b.Hide, &in.Hide}} {
		for _, path := range pair.from {
			real, err := filepath.EvalSymlinks(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil || !filepath.IsAbs(real) {
				return nil, fault.New(fault.Denied, "confine command: protect %s: %v", path, err)
			}
			*pair.to = append(*pair.to, real)
		}
		slices.Sort(*pair.to)
	}
	in.Fixed = slices.Clone(in.Keep)
	var err error
	if !b.Network {
		if in.Sockets, err = findSockets(); err != nil {
			return nil, fault.New(fault.Denied, "confine command: find sockets: %w", err)
		}
	}
	return in, nil
}

// identity tells a folder from another one that has its path later.
type identity struct{ Dev, Ino uint64 }

// identifyFolder opens a folder to be written without following any symbolic link: one that a command
// put in place of its folder would open the rest of the machine to the next command.
func identifyFolder(path string) (identity, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	switch {
	case errors.Is(err, unix.ELOOP):
		return identity{}, fault.New(fault.Denied, "confine command: a symbolic link leads to %s, which it may write", path).
			WithHint("look who made the link; remove it, or name the folder itself")
	case errors.Is(err, unix.ENOENT):
		return identity{}, fault.New(fault.NotFound, "confine command: %s: %w", path, err).WithHint("a folder to be written must exist")
	case err != nil || !filepath.IsAbs(path) || filepath.Clean(path) == "/":
		unix.Close(fd)
		return identity{}, fault.New(fault.Denied, "confine command: %s cannot be the folder that it may write", path).
			WithHint("work in a folder of its own, not at the root of the file system")
	}
	defer unix.Close(fd)
	return identityOf(fd)
}

func identityOf(fd int) (identity, error) {
	var stat unix.Stat_t
	err := unix.Fstat(fd, &stat)
	return identity{Dev: stat.Dev, Ino: stat.Ino}, err
}

// watch looks at what has a name that others execute, which is kept.
func (b *Box) watch(in *inside) (*GuardWatch, error) {
	if b.Guard == "" {
		return nil, nil
	}
	err := os.MkdirAll(filepath.Dir(b.Guard), 0o700)
	if err != nil {
		return nil, fault.New(fault.StorageIO, "confine command: make a place for the quarantine: %w", err)
	}
	var folders []string
	for _, dir := range b.Guarded {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, fault.New(fault.NotFound, "confine command: %w", err)
		}
		folders = append(folders, real)
	}
	w, err := BeginGuard(folders, b.Forbid, b.Guard)
	if err != nil {
		return nil, fault.New(fault.StorageIO, "confine command: %w", err)
	}
	for _, path := range w.Kept() {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			in.Keep = append(in.Keep, real)
		}
	}
	slices.Sort(in.Keep)
	in.Keep = slices.Compact(in.Keep)
	return w, nil
}
