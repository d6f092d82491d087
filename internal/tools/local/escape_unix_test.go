//go:build unix

package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

// outsiders are paths that no file tool may use.
func outsiders(d *desk) []string {
	return []string{"../outside/secret", "a/../../outside/secret", d.outside + "/secret", "/etc/passwd", "/proc/self/environ", "/", "..",
		"folder/secret", "file", "loop", "up/outside/secret", "abs/etc/passwd", "deep/secret", "~/../../../etc/passwd"}
}

func TestNoPathLeadsOutside(t *testing.T) {
	d := newDesk(t, "a/x", "", "~", "not a folder")
	d.link("../outside", "folder")
	d.link("../outside/secret", "file")
	d.link("loop", "loop")
	d.link("..", "up")
	d.link("/", "abs")
	d.link("../../outside", "a/out")
	d.link("a/out", "deep")
	for _, p := range outsiders(d) {
		for _, c := range []struct {
			name string
			a    args
		}{
			{"read", args{"path": p}}, {"write", args{"path": p, "content": "x"}}, {"write", args{"path": p + "/new/file", "content": "x"}},
			{"edit", args{"path": p, "old_string": "theirs", "new_string": "ours"}},
			{"list", args{"path": p}}, {"glob", args{"pattern": "**", "path": p}}, {"grep", args{"pattern": "theirs", "path": p}},
		} {
			if got := d.call(c.name, c.a); !got.IsError || strings.Contains(got.Text, "theirs") {
				t.Errorf("%s %v: %+v", c.name, c.a, got)
			}
			testkit.Attack(t, "files", fmt.Sprint(c.name, " ", strings.ReplaceAll(p, d.outside, "OUTSIDE"), " ", len(c.a)))
		}
	}
	if left, err := os.ReadDir(d.outside); err != nil || len(left) != 1 || d.get("../outside/secret") != "theirs" {
		t.Error(left, err)
	}
}

// Git takes a folder with these names for a repository, and runs what its configuration names.
func TestFileToolsMakeAndChangeNoRepository(t *testing.T) {
	d := newDesk(t, "a.git/HEAD", "ref: refs/heads/main\n", "a.git/objects/x", "", "a.git/refs/x", "", "a.git/config", "[core]\n", "plain/config", "x\n",
		"b/objects/x", "", "b/HEAD", "ref: refs/heads/main\n", "c/HEAD", "ref: refs/heads/main\n", "e/commondir", "..\n", "refs/x", "", "objects/x", "")
	d.link("a.git", "link")
	d.works("read", args{"path": "a.git/config"}, "[core]")
	for _, path := range []string{"a.git/config", "a.git/hooks/pre-push", "a.git/info/attributes", "link/config", "a.git/Config", "b/refs/x", "b/refs", "c/commondir", "e/HEAD", "HEAD"} {
		if got := d.call("write", args{"path": path, "content": "evil"}); !got.IsError || !strings.Contains(got.Text, "a repository of git") {
			t.Errorf("%s: %+v", path, got)
		}
		testkit.Attack(t, "files", "write "+path+" of a repository")
	}
	if got := d.call("edit", args{"path": "a.git/config", "old_string": "[core]", "new_string": "[core]\nfsmonitor = x"}); !got.IsError {
		t.Errorf("%+v", got)
	}
	if _, err := os.Lstat(filepath.Join(d.root, "b", "refs")); err == nil {
		t.Error("a folder was made")
	}
	for _, path := range []string{"plain/HEAD", "plain/objects/x", "b/config", "hooks/x", "a.git/description"} {
		d.works("write", args{"path": path, "content": "x"}, "Made")
	}
}

// Where the workspace is the user's home, settings that do not exist yet lie in it.
func TestFileToolsMakeNothingOfRamets(t *testing.T) {
	d := newDesk(t, "dots/x", "")
	d.link("dots", ".config")
	d.local = testkit.Must(New(Options{Root: d.root, Forbid: []string{filepath.Join(d.root, ".config/ramet/config.toml"), filepath.Join(d.root, ".config/ramet/prompts")}}))(t)
	for _, path := range []string{".config/ramet/config.toml", "dots/ramet/config.toml", ".config/ramet/prompts/system.md"} {
		if got := d.call("write", args{"path": path, "content": "allow = 'bash'"}); !got.IsError || !strings.Contains(got.Text, "ramet's own") {
			t.Errorf("%s: %+v", path, got)
		}
		testkit.Attack(t, "files", "write "+path+" of ramet")
	}
	d.works("write", args{"path": ".config/other/config.toml", "content": "x"}, "Made")
}

func TestLinksInsideAreFollowedAndNamed(t *testing.T) {
	d := newDesk(t, "src/file", "x", "docs/readme", "y")
	d.link("../src", "docs/link")
	d.link(filepath.Join(d.root, "src"), "abs")
	d.link("../docs/link/../src/./file", "src/round")
	d.works("read", args{"path": "docs/link/file"}, "x")
	d.works("read", args{"path": "abs/file"}, "x")
	d.works("read", args{"path": "src/round"}, "x")
	d.works("write", args{"path": "abs/file", "content": "z"}, "Replaced src/file") // read by another name
	d.works("write", args{"path": "docs/link/new/file", "content": "n"}, "Made src/new/file")
	for p, want := range map[string]string{
		"docs/link/file": "src/file", "abs": "src", "docs/link/a/b/c": "src/a/b/c", "docs/link": "src", "docs//x/../readme": "docs/readme",
		filepath.Join(d.root, "docs", "new"): "docs/new", "../x": "../x", "/etc/passwd": "/etc/passwd", ".": ".", d.root: ".",
	} {
		text, _ := json.Marshal(args{"path": p, "content": ""})
		if got := d.local.write().Spec().Subject(text); got != want {
			t.Errorf("subject of %s: %s, want %s", p, got, want)
		}
	}
}

func TestGitAndRametAreLeftAlone(t *testing.T) {
	d := newDesk(t, ".git/config", "theirs", "sub/.git", "theirs", ".ramet/config.toml", "theirs")
	d.link(".git", "g")
	d.link(".git/config", "c")
	d.link(".ramet", "r")
	for _, p := range []string{".git/config", ".git", ".GIT/config", ".Git", "sub/.git", "g/config", "c", ".git./config", ".git /config", ".git::$INDEX_ALLOCATION/config",
		"GIT~1/config", ".g\u200cit/config", ".g\u0131t/config", ".G\u0130T/config", "sub/../.git/config", d.root + "/.git/config", ".git/../.git/new"} {
		d.fails("read", args{"path": p}, "git")
		d.fails("write", args{"path": p, "content": "x"}, "git")
		d.fails("edit", args{"path": p, "old_string": "theirs", "new_string": "x"}, "git")
		testkit.Attack(t, "files", "read, write and edit "+strings.ReplaceAll(p, d.root, "ROOT"))
		d.fails("list", args{"path": p}, "git")
	}
	for _, p := range []string{".ramet/config.toml", ".ramet/new", ".RAMET/new", "r/config.toml", "sub/.ramet/config.toml", ".ramet"} {
		d.fails("write", args{"path": p, "content": "x"}, "ramet's own")
	}
	d.fails("write", args{"path": "made/.git/x", "content": "x"}, "git")
	if _, err := os.Stat(filepath.Join(d.root, "made")); err == nil {
		t.Error("a folder was made for what was refused")
	}
	d.works("read", args{"path": ".ramet/config.toml"}, "theirs")
	d.works("write", args{"path": ".gitignore", "content": "x"}, "Made")
	d.works("write", args{"path": ".github/x", "content": "x"}, "Made")
	if d.get(".git/config")+d.get(".ramet/config.toml") != "theirstheirs" {
		t.Error("they were written")
	}
}

func TestSpecialFilesAreRefusedAtOnce(t *testing.T) {
	d := newDesk(t)
	pipe := filepath.Join(d.root, "pipe")
	testkit.OK(t, syscall.Mkfifo(pipe, 0o644))
	d.fails("read", args{"path": "pipe"}, "a named pipe")
	d.fails("write", args{"path": "pipe", "content": "x"}, "a named pipe")
	d.fails("edit", args{"path": "pipe", "old_string": "x", "new_string": "y"}, "a named pipe")
	testkit.Attack(t, "files", "read, write and edit a pipe")
	d.works("grep", args{"pattern": "x"}, "No line fits (0 files searched).")
	d.works("list", args{}, "pipe (a named pipe)")
}

// A folder is swapped for a link to another place, again and again, while files in
// it are written and read.
func TestNothingEscapesWhileFoldersAreSwapped(t *testing.T) {
	d := newDesk(t, "dir/file", "inside", ".git/file", "theirs")
	d.put("../outside/file", "theirs")
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			target := []string{"../outside", ".git"}[i%2]
			os.Rename(filepath.Join(d.root, "dir"), filepath.Join(d.root, "aside"))
			os.Symlink(target, filepath.Join(d.root, "dir"))
			os.Remove(filepath.Join(d.root, "dir"))
			os.Rename(filepath.Join(d.root, "aside"), filepath.Join(d.root, "dir"))
		}
	})
	done := 0
	for i := range 3000 {
		name := []string{"write", "read", "list", "grep"}[i%4]
		a := []args{{"path": "dir/new", "content": strings.Repeat("x", i)}, {"path": "dir/file"}, {"path": "dir"}, {"path": "dir", "pattern": "theirs"}}[i%4]
		got := d.call(name, a)
		if !got.IsError {
			done++
		}
		if strings.Contains(got.Text, "theirs") || strings.Contains(got.Text, "secret") {
			t.Fatalf("%s saw what is not its own: %q", name, got.Text)
		}
	}
	close(stop)
	swapping.Wait()
	if done == 0 {
		t.Error("nothing ever worked, so nothing was tested")
	}
	for _, dir := range []string{d.outside, filepath.Join(d.root, ".git")} {
		entries := testkit.Must(os.ReadDir(dir))(t)
		for _, e := range entries {
			if e.Name() != "file" && e.Name() != "secret" {
				t.Errorf("%s appeared in %s", e.Name(), dir)
			}
		}
		testkit.Attack(t, "files", "3,000 calls while a folder is swapped for a link to "+filepath.Base(dir))
	}
}

func TestAnEndedContextEndsTheCall(t *testing.T) {
	d := newDesk(t, "file", "x")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, one := range d.local.Tools() {
		if _, err := one.Run(ended, tool.Call{Args: json.RawMessage(`{"path":"file","pattern":"x","command":"true"}`), Grant: tool.Free}); err == nil {
			t.Errorf("%s ran", one.Spec().Name)
		}
	}
}

// A link that is put in the way after a call was permitted leads it nowhere, and makes no folder.
func TestWhatWasPermittedIsWhatIsWritten(t *testing.T) {
	d := newDesk(t, "docs/a", "a", "src/main", "m")
	d.works("read", args{"path": "docs/a"}, "a")
	d.works("read", args{"path": "src/main"}, "m")
	run := func(name, subject string, a args) tool.Answer {
		text, _ := json.Marshal(a)
		one, _, ok := d.local.Tools().Find(llm.Part{Name: name, Args: text})
		if !ok {
			t.Fatal(a)
		}
		got := testkit.Must(one.Run(t.Context(), tool.Call{ID: "1", Name: name, Args: one.Args, Grant: tool.Free, Subject: subject, Output: func([]byte) {}}))(t)
		return got
	}
	if got := run("write", "docs/a", args{"path": "docs/a", "content": "b"}); got.IsError {
		t.Error(got)
	}
	d.link("../.envrc", "docs/new")
	d.link("../src/main", "docs/link")
	d.link("../src", "docs/folder")
	for _, c := range []struct {
		name, subject string
		a             args
	}{
		{"write", "docs/new", args{"path": "docs/new", "content": "evil"}},
		{"write", "docs/link", args{"path": "docs/link", "content": "evil"}},
		{"edit", "docs/link", args{"path": "docs/link", "old_string": "m", "new_string": "evil"}},
		{"write", "docs/folder/deep/x", args{"path": "docs/folder/deep/x", "content": "evil"}},
	} {
		if got := run(c.name, c.subject, c.a); !got.IsError || !strings.Contains(got.Text, "What was permitted was "+c.subject) {
			t.Errorf("%s %v: %+v", c.name, c.a, got)
		}
		testkit.Attack(t, "files", c.name+" "+c.subject+", a link since it was permitted")
	}
	if d.get("src/main") != "m" {
		t.Error("another file was written")
	}
	for _, name := range []string{".envrc", "src/deep"} {
		if _, err := os.Lstat(filepath.Join(d.root, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}
