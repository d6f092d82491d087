package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leastABI is the first version of Landlock that guards truncation. Before it, any
// file of the user could be emptied.
const leastABI = 3

// socketsABI is the first version that guards sockets in the file system.
const socketsABI = 9

const (
	accessRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO
	accessSockets = 1 << 16 // connecting to sockets in the file system
	// accessNever is granted nowhere: a device made in a folder writes to a disk.
	accessNever = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	accessFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// devices may be written by everybody: nothing comes of it.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// landlockABI returns the version that the kernel has.
func landlockABI() (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	abi := int(n)
	switch {
	case errno == unix.ENOSYS || errno == unix.EOPNOTSUPP:
		return 0, fmt.Errorf("the kernel has no Landlock, or it is switched off: %w", errno)
	case errno != 0:
		return 0, fmt.Errorf("ask for Landlock: %w", errno)
	case abi < leastABI:
		return 0, fmt.Errorf("the kernel has Landlock %d, and %d is needed (Linux 6.2): %w", abi, leastABI, unix.ENOSYS)
	}
	return abi, nil
}

// rules opens a Landlock ruleset. These are the bare system calls: a library would
// restrict all threads, and only the one that forks must be.
func (b *inside) rules() (int, error) {
	abi, err := landlockABI()
	if err != nil {
		return 0, err
	}
	attr := unix.LandlockRulesetAttr{Access_fs: accessRead | accessWrite | accessNever}
	if abi >= 5 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if abi >= socketsABI && !b.Network {
		attr.Access_fs |= accessSockets
	}
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return 0, errno
	}
	set := int(n) // closed on exec
	allow := func(path string, access uint64) error {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return atPath(path, err)
		}
		defer unix.Close(fd)
		if err := b.checkSame(path, fd); err != nil {
			return atPath(path, err)
		}
		rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
		_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, n, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
		if errno != 0 {
			return atPath(path, errno)
		}
		return nil
	}
	if err := allow("/", accessRead); err != nil {
		return 0, err
	}
	for _, w := range append([]string{temporary}, b.Write...) {
		if err := allow(w, accessRead|accessWrite); err != nil {
			return 0, err
		}
	}
	if err := allow("/dev/shm", accessRead|accessWrite); err != nil && !isGone(err) {
		return 0, err
	}
	if access := attr.Access_fs & accessSockets; access != 0 && b.Socket != "" {
		if err := allow(filepath.Dir(socketPlace), access); err != nil {
			return 0, err
		}
	}
	for _, d := range devices {
		if err := allow(d, accessFile|attr.Access_fs&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV); err != nil && !isGone(err) {
			return 0, err
		}
	}
	return set, nil
}

// restrictThread binds this thread, and what it starts, to the ruleset forever.
func restrictThread(set int) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set), 0, 0); errno != 0 {
		return errno
	}
	return unix.Close(set)
}

// findSockets returns the paths of sockets on which a process listens, or did.
func findSockets() ([]string, error) {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var paths []string
	relative := map[string]string{} // inode to path
	for line := range strings.Lines(string(table)) {
		inode, path := parseSocketLine(line)
		switch {
		case path == "" || path[0] == '@':
		case path[0] == '/':
			paths = append(paths, path)
		default:
			relative[inode] = path
		}
	}
	paths = append(paths, whereBound.find(relative)...)
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(path string) bool {
		info, err := os.Lstat(path)
		return err != nil || info.Mode()&fs.ModeSocket == 0
	}), nil
}

// parseSocketLine reads a line of the kernel's table: Num RefCount Protocol Flags Type St Inode Path,
// of which the path may hold spaces, or be missing.
func parseSocketLine(line string) (inode, path string) {
	rest := strings.TrimSuffix(line, "\n")
	for range 7 {
		rest = strings.TrimLeft(rest, " ")
		inode, rest, _ = strings.Cut(rest, " ")
	}
	if _, err := strconv.ParseUint(inode, 10, 64); err != nil {
		return "", "" // the head of the table
	}
	return inode, rest
}

// finder finds out where a socket was bound by a relative path: below the folder of a
// process that holds it, if that has not gone elsewhere since. It looks at every file of
// every process, so it remembers.
type finder struct {
	mu    sync.Mutex
	known map[string][]string // inode to paths; none: it is unknown
}

var whereBound finder

func (f *finder) find(relative map[string]string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, unknown := map[string][]string{}, false
	for inode := range relative {
		paths, ok := f.known[inode]
		known[inode] = paths
		unknown = unknown || !ok
	}
	if unknown {
		for _, pid := range listProcesses() {
			proc := "/proc/" + strconv.Itoa(pid)
			cwd, err := os.Readlink(proc + "/cwd")
			if err != nil {
				continue // of another program
			}
			files, _ := os.ReadDir(proc + "/fd")
			for _, file := range files {
				target, _ := os.Readlink(proc + "/fd/" + file.Name())
				inode := strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")
				if path, ok := relative[inode]; ok && target != inode {
					known[inode] = append(known[inode], filepath.Join(cwd, path))
				}
			}
		}
	}
	f.known = known // of what is gone nothing need be known
	var out []string
	for _, paths := range known {
		out = append(out, paths...)
	}
	return out
}
