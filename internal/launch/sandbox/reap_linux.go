package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
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
