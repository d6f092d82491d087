package files

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ramet/internal/testkit"
)

// On a file system that can, what is brought takes no space.
func TestWhatIsBroughtSharesTheDisk(t *testing.T) {
	program := testkit.FindSharing(t)
	testkit.MountInside(t, func() {
		disk := t.TempDir()
		testkit.MountSharing(t, program, disk)
		from, to := filepath.Join(disk, "from"), filepath.Join(disk, "to")
		for _, dir := range []string{from, to} {
			testkit.OK(t, os.Mkdir(dir, 0o700))
		}
		const size = 8 << 20
		large := make([]byte, size)
		rand.Read(large)
		testkit.OK(t, os.WriteFile(filepath.Join(from, "large"), large, 0o640))
		p := OpenPast(PastOptions{Dir: filepath.Join(t.TempDir(), "files"), Env: []string{"HOME=" + t.TempDir()}})
		f := testkit.Must(p.Folder(from))(t)
		state := testkit.Must(f.Take(t.Context(), nil))(t)
		before := free(t, disk)
		testkit.Must(p.Bring(t.Context(), from, to, stateOf(state), nil))(t)
		if took := before - free(t, disk); took > size/4 {
			t.Errorf("it took %d bytes", took)
		}
		got, err := os.ReadFile(filepath.Join(to, "large"))
		if err != nil || !bytes.Equal(got, large) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if info, err := os.Stat(filepath.Join(to, "large")); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

// free are the bytes that are left of a disk, once everything is on it.
func free(t *testing.T, dir string) int64 {
	t.Helper()
	d := testkit.Must(os.Open(dir))(t)
	defer d.Close()
	testkit.OK(t, unix.Syncfs(int(d.Fd())))
	var s unix.Statfs_t
	testkit.OK(t, unix.Statfs(dir, &s))
	return int64(s.Bavail) * s.Bsize
}
