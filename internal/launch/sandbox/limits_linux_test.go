package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ramet/internal/testkit"
)

func TestLimitsAreKept(t *testing.T) {
	r := newRoom(t)
	small := Limits{Processes: 50, Memory: 200 << 20, FileSize: 1 << 20}
	for _, c := range []struct{ script, note string }{
		{"i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done; wait", "limit hit: more than 50 processes and threads; all that the command had started was killed"},
		// Its 2,047 processes are bounded: the kernel does not limit those of root, and others share this machine.
		{"f() { if [ $1 = 0 ]; then sleep 1000; else f $(($1-1)) | f $(($1-1)); fi & }; f 10; sleep 1000", "limit hit: more than 50 processes and threads; all that the command had started was killed"},
		{"", "limit hit: more than 200 MiB of memory; all that the command had started was killed"},
		{"exec head -c 2000000 /dev/zero > big", "limit hit: a file larger than 1 MiB"},
		{"head -c 2000000 /dev/zero > big", "limit hit: a file larger than 1 MiB"},
		{"i=0; while [ $i -lt 20 ]; do sleep 0.3 & i=$((i+1)); done; wait; head -c 1000000 /dev/zero > big", ""},
	} {
		cmd := sh(r.root, c.script)
		if c.script == "" {
			cmd = play(r.root, "eat")
		}
		cmd.Confine = r.box()
		cmd.Confine.Limits = small
		got, out := run(t, cmd)
		if got.Notes != c.note || (got.ExitCode == 0) != (c.note == "") || got.Killed {
			t.Errorf("%s: %+v %.200s", c.script, got, out)
		}
		if c.note != "" {
			testkit.Attack(t, "limits", cmp.Or(c.script, "eat 500 MiB"))
		}
	}
}

// Many processes that share much use little.
func TestSharedMemoryCountsOnce(t *testing.T) {
	r := newRoom(t)
	cmd := play(r.root, "share")
	cmd.Confine = r.box()
	cmd.Confine.Limits = Limits{Memory: 500 << 20}
	if got, out := run(t, cmd); got.ExitCode != 0 || got.Notes != "" || out != "shared\n" {
		t.Errorf("%+v %q", got, out)
	}
}

func TestDefaultLimitsLeaveRoom(t *testing.T) {
	l := Limits{}.filled()
	if l.Processes < 2048 || l.Memory < 1<<30 || l.FileSize < 1<<30 {
		t.Errorf("%+v", l)
	}
	if s := DescribeLimits(); !strings.Contains(s, "processes") || !strings.Contains(s, "GiB") {
		t.Error(s)
	}
	if _, pages := usageOf(os.Getpid()); pages*int64(os.Getpagesize()) < 1<<20 {
		t.Errorf("we ourselves use %d pages", pages)
	}
}

// playShare maps a file, touches all of it, and lets seven others do so too.
func playShare(args []string) {
	const size = 150 << 20
	file, err := os.OpenFile("shared", os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = file.Truncate(size)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	view, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; i < size; i += os.Getpagesize() {
		view[i] = 1
	}
	if len(args) > 0 {
		time.Sleep(5 * between)
		return
	}
	var others []*exec.Cmd
	for range 7 {
		c := exec.Command("/proc/self/exe", "other")
		if err := c.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		others = append(others, c)
	}
	for _, c := range others {
		if err := c.Wait(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	fmt.Println("shared")
}

func TestWhereGroupsAreMounted(t *testing.T) {
	for _, c := range []struct{ mountinfo, want string }{
		{"24 1 0:22 / /proc rw - proc proc rw\n35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup"},
		{"35 24 0:30 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", ""}, // a part: paths would not fit
		{"35 24 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", ""},
		{"", ""},
	} {
		if got := groupMount([]byte(c.mountinfo)); got != c.want {
			t.Errorf("%q: %q", c.mountinfo, got)
		}
	}
	if got := ownGroup([]byte("8:pids:/x\n0::/user.slice/a b.scope\n")); got != "/user.slice/a b.scope" {
		t.Error(got)
	}
	if got := ownGroup([]byte("8:pids:/x\n")); got != "" {
		t.Error(got)
	}
	if got := delegatedBelow("/sys/fs/cgroup", "/../../other"); got != "" {
		t.Error(got)
	}
}

// Nothing that was not given to us is used: a folder of files that look like control groups
// but are root's own has no mark of delegation.
func TestOnlyWhatWasDelegatedIsUsed(t *testing.T) {
	testkit.RootOnly(t)
	mount := t.TempDir()
	dir := filepath.Join(mount, "system.slice", "box.service")
	testkit.OK(t, os.MkdirAll(dir, 0o755))
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("memory pids\n"), 0o600))
	if got := delegatedBelow(mount, "/system.slice/box.service"); got != "" {
		t.Error(got)
	}
}

// The wall: also where the helper's look comes too late. It needs a machine that delegates
// control groups; elsewhere the other tests of limits are all that there is.
func TestTheKernelKeepsTheLimits(t *testing.T) {
	if delegated() == "" {
		t.Skip("no control groups of version 2 are delegated to this process")
	}
	defer func(n int) { groupSlackThreads = n }(groupSlackThreads)
	groupSlackThreads = 30 // threads of the helper
	r := newRoom(t)
	// Over the wall in less time than a look takes.
	cmd := sh(r.root, "i=0; while [ $i -lt 3000 ]; do sleep 0.01 & i=$((i+1)); done 2>/dev/null; wait")
	cmd.Confine = r.box()
	cmd.Confine.Limits = Limits{Processes: 20}
	if got, out := run(t, cmd); !strings.Contains(got.Notes, "limit hit: more than 20 processes and threads") {
		t.Errorf("%+v %.200s", got, out)
	}
	if left, _ := filepath.Glob(filepath.Join(delegated(), groupPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
