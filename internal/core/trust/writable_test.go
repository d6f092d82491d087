package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestAFolderToWriteIsReachedOverNoLinkOfAnAgent(t *testing.T) {
	top := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	in := func(name string) string { return filepath.Join(top, name) }
	project := in("real/project")
	for _, dir := range []string{"real/project/sub/deep", "real/project/.git", "home", "home/project"} {
		testkit.OK(t, os.MkdirAll(in(dir), 0o755))
	}
	for name, target := range map[string]string{
		"user": in("real"), "shortcut": in("real/project/sub"), "loop": "loop", "relative": "real/../real/project", // the user's
		"through":             in("real/project/home"),
		"real/project/home":   in("home"),
		"real/project/up":     "../../home",
		"real/project/hooks":  ".git",
		"real/project/sub/up": "..",
	} {
		testkit.OK(t, os.Symlink(target, in(name)))
	}
	for dir, want := range map[string]string{
		"real/project": project, "real/project/sub/deep": project + "/sub/deep", "user/project/sub": project + "/sub",
		"shortcut/deep": project + "/sub/deep", "relative/sub": project + "/sub", "home": in("home"), "user/project/../project/sub": project + "/sub",
	} {
		if got, err := WritableFolder(in(dir), in("user/project")); got != filepath.FromSlash(want) || err != nil {
			t.Errorf("%s: %s %v", dir, got, err)
		}
	}
	for dir, link := range map[string]string{
		"real/project/home": "project/home", "user/project/home": "project/home", "real/project/home/project": "project/home",
		"through": "project/home", "real/project/up": "project/up", "real/project/hooks": "project/hooks", "relative/sub/up": "sub/up",
	} {
		_, err := WritableFolder(in(dir), in("user/project"))
		if !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), filepath.FromSlash(link)+" is a symbolic link") {
			t.Errorf("%s: %v", dir, err)
		}
		testkit.Attack(t, "folders", "work in "+dir)
	}
	for _, dir := range []string{"real/project/none", "loop"} {
		if _, err := WritableFolder(in(dir), project); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := WritableFolder(in("none"), project); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
