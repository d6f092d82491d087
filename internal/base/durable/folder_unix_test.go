//go:build unix

package durable

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/testkit"
)

// syncedFolders returns the folders that MakeFolders syncs, in order. It lets one sync after the other
// fail, each time with new folders: the error names the folder whose sync it was.
func syncedFolders(t *testing.T, paths ...string) []string {
	t.Helper()
	t.Cleanup(func() { step.Hook = nil })
	var synced []string
	for {
		left := len(synced)
		step.Hook = func(label string) error {
			if label != "sync" {
				return nil
			}
			left--
			if left < 0 {
				return syscall.EIO
			}
			return nil
		}
		dir := t.TempDir()
		var all []string
		for _, path := range paths {
			all = append(all, filepath.Join(dir, path))
		}
		err := MakeFolders(0o700, all...)
		if err == nil {
			return synced
		}
		folder := strings.TrimSuffix(strings.TrimPrefix(err.Error(), makeVerb+" "), ": "+syscall.EIO.Error())
		path, relErr := filepath.Rel(dir, folder)
		if relErr != nil {
			t.Fatalf("the error does not name the folder: %v", err)
		}
		synced = append(synced, path)
	}
}

func TestMakeFoldersSyncsEveryFolderWithANewName(t *testing.T) {
	for _, c := range []struct{ paths, want []string }{
		{[]string{"."}, nil},
		{[]string{"a"}, []string{"."}},
		{[]string{"a/b/c"}, []string{"a/b", "a", "."}},
		{[]string{"a/b", "a/c/d", "e"}, []string{".", "a/c", "a"}},
		{[]string{"a/b", "a/b"}, []string{"a", "."}},
	} {
		if got := syncedFolders(t, c.paths...); !slices.Equal(got, c.want) {
			t.Errorf("for %q it syncs %q, want %q", c.paths, got, c.want)
		}
	}
}

// Every step of a write is taken and heeded: the content is synced before it gets its name, and the name after.
func TestEveryStepOfAWriteCounts(t *testing.T) {
	t.Cleanup(func() { step.Hook = nil })
	for name, c := range map[string]struct {
		do   func(path string, data []byte, perm fs.FileMode) error
		want string
	}{
		"WriteFile":  {WriteFile, "chmod write sync rename sync"},
		"PutFile":    {PutFile, "chmod write rename"},
		"CreateFile": {CreateFile, "chmod write sync link remove sync"},
	} {
		for n := 0; ; n++ {
			dir, steps := t.TempDir(), []string{}
			step.Hook = func(label string) error {
				if label == "create" {
					return nil
				}
				if steps = append(steps, label); len(steps) == n {
					return syscall.EIO
				}
				return nil
			}
			err := c.do(filepath.Join(dir, "file"), []byte("new"), 0o600)
			step.Hook = nil
			got := strings.Join(steps, " ")
			if n == 0 {
				if got != c.want || err != nil {
					t.Errorf("%s takes %s, want %s, %v", name, got, c.want, err)
				}
				continue
			}
			if len(steps) < n {
				break
			}
			whole, failed := strings.Fields(c.want), steps[n-1]
			if n > len(whole) || failed != whole[n-1] || !fault.Is(err, fault.StorageIO) {
				t.Fatalf("%s, step %d (%s) fails: %v", name, n, failed, err)
			}
			if named := n == len(whole) && failed == "sync" || failed == "remove"; named {
				expect(t, filepath.Join(dir, "file"), "new")
			} else {
				expectNames(t, dir)
			}
		}
	}
}

// A lock that cannot be signed is given back.
func TestALockThatCannotBeSignedIsFree(t *testing.T) {
	t.Cleanup(func() { step.Hook = nil })
	path := filepath.Join(t.TempDir(), "lock")
	step.Hook = func(string) error { return syscall.ENOSPC }
	if _, err := TryLock(path); !fault.Is(err, fault.StorageFull) {
		t.Errorf("%v", err)
	}
	step.Hook = nil
	testkit.OK(t, testkit.Must(TryLock(path))(t).Unlock())
}
