//go:build unix

package durable

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/base/step"
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
