package worktree

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ramet/internal/testkit"
)

// On a file system that can, a worktree takes no space for what its parent has.
func TestAWorktreeSharesTheDisk(t *testing.T) {
	program := testkit.FindSharing(t)
	testkit.MountInside(t, func() {
		g := newGround(t)
		disk := t.TempDir()
		testkit.MountSharing(t, program, disk)
		g.dir, g.k.Dir = filepath.Join(disk, "project"), filepath.Join(disk, "worktrees")
		const size = 8 << 20
		large := make([]byte, size)
		rand.Read(large)
		g.file(g.dir, "data/large", string(large))
		g.git(g.dir, "init", "-q", "-b", "main")
		g.save(g.dir, "large")

		before := free(t, disk)
		tree := g.make("child")
		if took := before - free(t, disk); took > size/4 {
			t.Errorf("it took %d bytes", took)
		}
		if out := g.git(tree.Dir, "status", "--porcelain"); out != "" {
			t.Errorf("something differs from the commit:\n%s", out)
		}
		g.file(tree.Dir, "data/large", "changed")
		if text, err := os.ReadFile(filepath.Join(g.dir, "data/large")); err != nil || !bytes.Equal(text, large) {
			t.Errorf("the parent's file changed too: %v", err)
		}
	})
}

// free are the bytes that are left of a disk, once everything is on it.
func free(t *testing.T, dir string) int64 {
	t.Helper()
	d := testkit.Must(os.Open(dir))(t)
	defer d.Close()
	testkit.OK(t, unix.Syncfs(int(d.Fd())))
	var s syscall.Statfs_t
	testkit.OK(t, syscall.Statfs(dir, &s))
	return int64(s.Bavail) * s.Bsize
}
