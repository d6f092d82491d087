package sandbox

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Cleaning up finds a process by its ancestors, by a whole mark in its environment, or by a namespace that is not ours.
func TestProcessesThatAreCleanedUp(t *testing.T) {
	mark, short := newMark(), "SHORT="+strings.Repeat("x", len(markName)+19-len("SHORT="))
	cmd := exec.Command("/bin/sh", "-c", "sleep 100000 & echo ready; wait")
	cmd.Env = []string{sandboxPath, mark, short}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	both := processesWithMark(mark)
	for len(both) < 2 && t.Context().Err() == nil { // the second one may be about to become sleep, and shows no environment then
		time.Sleep(time.Millisecond)
		both = processesWithMark(mark)
	}
	if slices.Sort(both); len(both) != 2 || both[0] != cmd.Process.Pid {
		t.Fatalf("%v have the mark of %d", both, cmd.Process.Pid)
	}
	below := findDescendants(os.Getpid())
	if !slices.Contains(below, both[0]) || !slices.Contains(below, both[1]) || slices.Contains(below, os.Getpid()) || slices.Contains(below, os.Getppid()) {
		t.Errorf("%v are below %d, not %v", below, os.Getpid(), both)
	}
	if found := findDescendants(both[1]); len(found) != 0 {
		t.Errorf("%v are below one without children", found)
	}
	if parent, ok := parentOf(both[1]); parent != both[0] || !ok {
		t.Errorf("the parent of %v is %d", both, parent)
	}
	if parent, ok := parentOf(-1); ok {
		t.Errorf("the parent of none is %d", parent)
	}
	for _, text := range []string{mark[:len(mark)-1], mark[1:], short} {
		if found := processesWithMark(text); found != nil {
			t.Errorf("%v have the mark %s", found, text)
		}
	}
	ours, err := os.Open("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if found := append(processesOfNamespace(ours), processesOfNamespace(nil)...); found != nil {
		t.Errorf("processes of our own namespace: %v", found)
	}
}
