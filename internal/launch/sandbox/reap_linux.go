package sandbox

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reapChildren waits for the command, and for every process that lost its parent on the
// way.
func reapChildren(child int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // it was reaped already, which only sweep does
			select {}
		case pid == child:
			return status
		}
	}
}

var sweeping sync.Mutex

// sweep ends all processes that descend from the helper.
func (o order) sweep() {
	sweeping.Lock() // and keep it: after a sweep the helper ends
	if o.Way.Spaces {
		if os.Getpid() != 1 {
			return // never: outside a namespace this would be everybody
		}
		syscall.Kill(-1, syscall.SIGKILL) // all but us; what is born meanwhile ends with us
		return
	}
	for {
		below := findDescendants(os.Getpid())
		if len(below) == 0 {
			return
		}
		for _, pid := range below {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 && err != syscall.EINTR {
				break
			}
		}
		time.Sleep(time.Millisecond) // the dying need the processor
	}
}

// findDescendants returns the processes below one. Those that lost their parent are below
// the nearest subreaper.
func findDescendants(root int) []int {
	children := map[int][]int{}
	for _, pid := range listProcesses() {
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	below := children[root]
	for i := 0; i < len(below); i++ {
		below = append(below, children[below[i]]...)
	}
	return below
}

// listProcesses returns all that this /proc shows.
func listProcesses() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The name, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// processesOfNamespace returns the processes of a PID namespace that is not ours.
func processesOfNamespace(space *os.File) []int {
	if space == nil {
		return nil
	}
	theirs, err1 := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(space.Fd())))
	ours, err2 := os.Readlink("/proc/self/ns/pid")
	if err1 != nil || err2 != nil || theirs == ours {
		return nil
	}
	var found []int
	for _, pid := range listProcesses() {
		if link, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid"); err == nil && link == theirs {
			found = append(found, pid)
		}
	}
	return found
}

// processesWithMark returns the processes with a mark, which is a whole variable, in their
// environment.
func processesWithMark(mark string) []int {
	if len(mark) < len(markName)+20 {
		return nil // no mark of ours; a short one could be anybody's
	}
	var found []int
	for _, pid := range listProcesses() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && pid != os.Getpid() && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00")) {
			found = append(found, pid)
		}
	}
	return found
}

// mostFrozen bounds the entries of a temporary folder that a command sees; each costs a mount.
const mostFrozen = 500

// temporaryFolders returns the folders in which programs of the user make sockets under random names,
// by their real paths, outer ones first. Those that a command may write are not among them.
func temporaryFolders(write []string) []string {
	home, _ := os.UserHomeDir()
	var out []string
	for _, dir := range []string{"/tmp", os.Getenv("TMUX_TMPDIR"), os.TempDir()} {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(real) || real == "/" || real == RealPath(home) ||
			slices.ContainsFunc(write, func(w string) bool { return real == w || isBelow(real, w) }) {
			continue
		}
		out = append(out, real)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// freezeFolder replaces a folder by what is in it now, without its sockets: an entry that is made later is
// not seen. Entries on the way to needed paths always stay, of others the newest.
func freezeFolder(dir string, needed []string) error {
	old, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return atPath(dir, err)
	}
	defer unix.Close(old)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	isNeeded := func(e fs.DirEntry) bool {
		path := filepath.Join(dir, e.Name())
		return slices.ContainsFunc(needed, func(n string) bool { return n == path || isBelow(n, path) })
	}
	if len(entries) > mostFrozen {
		entries = newestEntries(entries, isNeeded)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=4m,mode=1777"); err != nil {
		return atPath(dir, err)
	}
	for _, e := range entries {
		_ = thawEntry(old, e, filepath.Join(dir, e.Name())) // what cannot be mounted is not seen
	}
	return nil
}

// newestEntries returns the entries that are needed and the newest others, mostFrozen in all if fewer are needed.
func newestEntries(entries []fs.DirEntry, isNeeded func(fs.DirEntry) bool) []fs.DirEntry {
	var out, others []fs.DirEntry
	changed := map[string]time.Time{}
	for _, e := range entries {
		if isNeeded(e) {
			out = append(out, e)
		} else if info, err := e.Info(); err == nil {
			changed[e.Name()] = info.ModTime()
			others = append(others, e)
		}
	}
	slices.SortFunc(others, func(a, b fs.DirEntry) int { return changed[b.Name()].Compare(changed[a.Name()]) })
	return append(out, others[:min(len(others), max(0, mostFrozen-len(out)))]...)
}

// thawEntry makes an entry of the folder that was replaced visible at a path.
func thawEntry(old int, e fs.DirEntry, path string) error {
	switch e.Type() {
	case fs.ModeSocket:
		return nil
	case fs.ModeSymlink:
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(old, e.Name(), buf)
		if err != nil {
			return atPath(path, err)
		}
		return os.Symlink(string(buf[:n]), path)
	}
	tree, err := unix.OpenTree(old, e.Name(), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return atPath(path, err)
	}
	defer unix.Close(tree)
	var stat unix.Stat_t // it may be another one by now
	if err := unix.Fstat(tree, &stat); err != nil {
		return atPath(path, err)
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		err = unix.Mkdir(path, 0o700)
	case unix.S_IFSOCK, unix.S_IFLNK:
		return nil
	default:
		err = unix.Mknod(path, unix.S_IFREG|0o600, 0)
	}
	if err == nil {
		err = unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	return atPath(path, err)
}
