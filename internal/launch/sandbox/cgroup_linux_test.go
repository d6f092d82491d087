package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
	if os.Geteuid() != 0 {
		t.Skip("whoever is not root may write only what was given")
	}
	mount := t.TempDir()
	dir := filepath.Join(mount, "system.slice", "box.service")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("memory pids\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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
