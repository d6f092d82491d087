package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a control group (version 2) for one confined command: the wall behind the
// helper's own look, which is late by a moment, and which root's processes feel too. It is
// made only below a folder of control groups that was delegated to us.
type group struct {
	dir    string
	folder *os.File // the descriptor that the helper is started into
	limits Limits
}

// What a group may use beside the command's limits: the helper itself, and processes until
// the helper looks (see headroom).
var (
	groupSlackThreads = headroom
	groupSlackMemory  = int64(64 << 20)
)

// groupPrefix is before the number of the process that made a group.
const groupPrefix = "ramet-"

var (
	groupSerial atomic.Int64
	// groupless is set when the kernel refused to start a process in a group.
	groupless atomic.Bool
)

// delegated is the folder below which groups may be made; empty: none. It is looked for
// once: a process is moved to another group by others only, and then keeps its rights.
var delegated = sync.OnceValue(func() string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	dir := delegatedBelow(groupMount(mounts), ownGroup(own))
	if dir != "" {
		sweepGroups(dir)
	}
	return dir
})

// groupMount returns where the control groups are mounted from their root on; empty: nowhere.
func groupMount(mountinfo []byte) string {
	for line := range strings.Lines(string(mountinfo)) {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if ok && len(f) >= 5 && f[3] == "/" && strings.HasPrefix(after, "cgroup2 ") {
			return f[4]
		}
	}
	return ""
}

// ownGroup returns the path of our own control group; empty: there is none of version 2.
func ownGroup(self []byte) string {
	for line := range strings.Lines(string(self)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSpace(path)
		}
	}
	return ""
}

// delegatedBelow looks from our own group upwards for the first folder that gives its
// children what we need, and that was given to us: it is ours to write though we are not
// root, or it says so, or it is all that there is.
func delegatedBelow(mount, own string) string {
	if mount == "" || !filepath.IsAbs(own) || strings.Contains(own, "/../") {
		return ""
	}
	for path := own; ; path = filepath.Dir(path) {
		dir := filepath.Join(mount, path)
		if isGiven(dir) || path == "/" && own == "/" {
			controllers, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
			if f := bytes.Fields(controllers); hasWord(f, "pids") && unix.Access(dir, unix.W_OK|unix.X_OK) == nil {
				return dir
			}
		}
		if path == "/" {
			return ""
		}
	}
}

func isGiven(dir string) bool {
	if os.Geteuid() != 0 {
		return unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil
	}
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		var value [8]byte
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

func hasWord(words [][]byte, word string) bool {
	for _, w := range words {
		if string(w) == word {
			return true
		}
	}
	return false
}

// sweepGroups takes the groups away whose makers died before them. One with a process in
// it stays: the kernel does not remove it.
func sweepGroups(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, groupPrefix+"*"))
	for _, g := range old {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(g), groupPrefix), "-")
		if pid, err := strconv.Atoi(number); err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			os.Remove(g)
		}
	}
}

// newGroup makes a group with limits; nil: there can be none here, and the helper's look
// is all that there is.
func newGroup(l Limits) *group {
	below := delegated()
	if below == "" || groupless.Load() {
		return nil
	}
	g := &group{dir: filepath.Join(below, fmt.Sprintf("%s%d-%d", groupPrefix, os.Getpid(), groupSerial.Add(1))), limits: l}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil
	}
	g.set("pids.max", int64(l.Processes+groupSlackThreads))
	g.set("memory.max", l.Memory+groupSlackMemory)
	g.set("memory.swap.max", 0)
	var err error
	if g.folder, err = os.Open(g.dir); err != nil {
		g.remove()
		return nil
	}
	return g
}

// set writes a limit; a controller that was not given to us has none.
func (g *group) set(name string, n int64) {
	os.WriteFile(filepath.Join(g.dir, name), []byte(strconv.FormatInt(n, 10)), 0)
}

// enter lets a process begin in the group.
func (g *group) enter(attr *syscall.SysProcAttr) {
	if g != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(g.folder.Fd())
	}
}

// hit describes which limit the kernel kept; empty: none.
func (g *group) hit() string {
	switch {
	case g == nil:
		return ""
	case g.happened("memory.events", "oom_kill"):
		return fmt.Sprintf("more than %s of memory; the kernel killed what used most", bytesOf(g.limits.Memory))
	case g.happened("pids.events", "max"):
		return fmt.Sprintf("more than %d processes and threads; the kernel refused more", g.limits.Processes)
	}
	return ""
}

func (g *group) happened(file, event string) bool {
	f, err := os.Open(filepath.Join(g.dir, file))
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, n, ok := strings.Cut(lines.Text(), " "); ok && name == event {
			return n != "0"
		}
	}
	return false
}

// remove ends what is left in the group, and takes it away.
func (g *group) remove() {
	if g == nil {
		return
	}
	if g.folder != nil {
		g.folder.Close()
	}
	if os.Remove(g.dir) != nil {
		os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0)
		os.Remove(g.dir)
	}
}
