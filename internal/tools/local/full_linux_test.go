package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	testkit.MountInside(t, func() {
		d := newDesk(t)
		testkit.MountSmall(t, d.root, "64k")
		d.put("file", "old")
		d.works("read", args{"path": "file"}, "old")
		d.fails("write", args{"path": "file", "content": strings.Repeat("x", 1<<20)}, "no space left")
		d.fails("write", args{"path": "new", "content": strings.Repeat("x", 1<<20)}, "no space left")
		d.fails("edit", args{"path": "file", "old_string": "old", "new_string": strings.Repeat("x", 1<<20)}, "no space left")
		if entries, err := os.ReadDir(d.root); err != nil || len(entries) != 1 || d.get("file") != "old" {
			t.Error(entries, err)
		}
		testkit.OK(t, os.Remove(filepath.Join(d.root, "file")))
		d.works("write", args{"path": "file", "content": "small"}, "Made file") // gone is gone: nothing is lost
	})
}
