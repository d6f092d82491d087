//go:build unix

package files

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

func TestAStateIsWhatTheFolderHolds(t *testing.T) {
	b := newBenchScan(t, ScanOptions{Largest: 100, Secret: func(c []byte) bool { return strings.Contains(string(c), "sk-secret") }})
	b.put("a", "one", "d/b", "two", "d/e/c", "three", ".gitignore", "*.log\nout/\n", "x.log", "", "out/y", "", "large", strings.Repeat("x", 101),
		"key", "my sk-secret", ".ramet/x", "", "nested/.git/HEAD", "", "nested/in", "", "odd\xffname", "odd")
	testkit.OK(t, os.Symlink("../../etc/passwd", filepath.Join(b.root, "d", "link")))
	testkit.OK(t, syscall.Mkfifo(filepath.Join(b.root, "pipe"), 0o600))
	testkit.OK(t, os.Mkdir(filepath.Join(b.root, "empty"), 0o700))
	r := b.walk()
	b.want(r.Root, "f .gitignore *.log\nout/\n", "f a one", "d d", "f d/b two", "d d/e", "f d/e/c three", "l d/link", "d empty",
		"f key NOT_FOUND", "f large NOT_FOUND", "r nested", "f odd\xffname odd", "o pipe")
	if r.Seen < r.Of || r.Read == 0 {
		t.Errorf("%+v", r)
	}
	if again := b.walk(); again.Root != r.Root {
		t.Error("the same folder is another state")
	}
}
