package local

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/launch/sandbox"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func TestBashAnswersWithOutputAndEnd(t *testing.T) {
	d := newDesk(t, "file", "x")
	for _, c := range []struct {
		command string
		want    string
		failed  bool
	}{
		{"echo out; echo err >&2", "out\nerr\n", false},
		{"pwd; cat file", d.root + "\nx", false},
		{"true", "[no output]", false},
		{"exit 3", "[exit code 3]", true},
		{"printf half; exit 1", "half\n[exit code 1]", true},
		{"kill -SEGV $$", "[ended by signal 11, segmentation fault]", true},
		{"cat; read x; echo got $?", "got 1\n", false}, // no input
		{"[[ 1 == 1 ]] && echo bash", "bash\n", false},
		{"no-such-command", "bash: line 1: no-such-command: command not found\n[exit code 127]", true},
		{`printf '\e[31mred\e[0m \e]0;title\a\e(B\e[2J\x01\x00\xff\u202e'`, "red \u2401\u2400\uFFFD\uFFFD", false},
		{`printf '10%%\r50%%\r100%%\r\nnext\r\n'`, "100%\nnext\n", false},
		{`echo é`, "é\n", false},
		{"-n", "bash: line 1: -n: command not found\n[exit code 127]", true},
		{"env | grep -v -e ^_= -e ^PWD= -e ^SHLVL= -e ^OLDPWD= | sort", "LANG=C.UTF-8\nPATH=" + os.Getenv("PATH") + "\n", false},
		{"sleep 1000 & setsid sleep 1000 & echo on", "on\n", false},
	} {
		if got := d.call("bash", args{"command": c.command}); got.Text != c.want || got.IsError != c.failed {
			t.Errorf("%s: %+v, want %q", c.command, got, c.want)
		}
	}
	if !strings.HasPrefix(d.out.text.String(), "out\nerr\n"+d.root) {
		t.Errorf("streamed: %q", d.out.text.String())
	}
	got := d.call("bash", args{"command": "echo begun; trap '' TERM; sleep 1000", "timeout": 1})
	if !got.IsError || got.Text != "begun\n[timed out after 1s: the command and all that it started were killed]" {
		t.Errorf("%+v", got)
	}
	for _, a := range []args{{"command": ""}, {"command": "true", "timeout": 0}, {"command": "true", "timeout": 601}, {}} {
		d.fails("bash", a, "The arguments of bash are wrong")
	}
	if got := d.call("bash", args{"command": "touch a\x00b"}); !got.IsError || !strings.Contains(got.Text, "NUL") {
		t.Errorf("%+v", got)
	}
	if got := d.granted("", "bash", args{"command": "touch made"}); !got.IsError || !strings.Contains(got.Text, "not permitted") {
		t.Errorf("%+v", got)
	}
}

func TestBashKeepsHeadAndTailOfMuch(t *testing.T) {
	d := newDesk(t)
	var streamed int64
	text, _ := json.Marshal(args{"command": "echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last"})
	got, err := d.local.bash().Run(t.Context(), tool.Call{Args: text, Grant: tool.Free, Output: func(p []byte) { streamed += int64(len(p)) }})
	if err != nil || got.IsError || streamed != 6+200000000+6 {
		t.Fatalf("%v %t %d", err, got.IsError, streamed)
	}
	note := fmt.Sprintf("[… %d bytes are left out here …]", streamed-32<<10)
	if len(got.Text) > 33<<10 || !strings.HasPrefix(got.Text, "first\nxxx") || !strings.HasSuffix(got.Text, "xxx\nlast\n") || !strings.Contains(got.Text, note) {
		t.Errorf("%d bytes: %.100s … %s", len(got.Text), got.Text, got.Text[len(got.Text)-100:])
	}
}

func TestBashStopsWithTheContext(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	text, _ := json.Marshal(args{"command": "echo begun; sleep 1000 & setsid sleep 1000"})
	got, err := d.local.bash().Run(ctx, tool.Call{Args: text, Grant: tool.Free, Output: func([]byte) { cancel() }})
	if err != context.Canceled || got.Text != "begun\n[stopped]" {
		t.Errorf("%+v %v", got, err)
	}
}

// In an overlay a folder cannot be renamed in one step: git says so, and the answer says what may be the cause.
func TestBashHasAnOverlay(t *testing.T) {
	d := newDesk(t, "dir/file", "x")
	home := t.TempDir()
	d.local.o.Quarantine, d.local.o.Overlay = filepath.Join(home, "quarantine"), &sandbox.Overlay{Dir: filepath.Join(home, "overlay")}
	commit := "git -c user.name=a -c user.email=a@b commit -qm x"
	if got := d.granted(tool.Confine, "bash", args{"command": "git init -q . && git add . && " + commit}); got.IsError || got.Text != "[no output]" {
		t.Fatalf("%+v", got)
	}
	if got := d.granted(tool.Confine, "bash", args{"command": "git mv dir moved"}); !got.IsError || !strings.Contains(got.Text, "cross-device") || !strings.Contains(got.Text, "the box may be the cause") {
		t.Errorf("%+v", got)
	}
	if got := d.granted(tool.Confine, "bash", args{"command": "mv dir moved && git add -A && " + commit + " && git status --porcelain; echo x > .envrc"}); got.IsError || !strings.HasPrefix(got.Text, "[.envrc was moved to "+home) || d.get("moved/file") != "x" {
		t.Errorf("%+v", got)
	}
}

func TestBashUnaskedIsConfined(t *testing.T) {
	d := newDesk(t, "file", "x", ".git/config", "theirs", ".ramet/config.toml", "theirs")
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	connect := "exec 3<>/dev/tcp/" + strings.Replace(listener.Addr().String(), ":", "/", 1)
	if got := d.granted(tool.Confine, "bash", args{"command": "echo new > file && mkdir sub && cat .git/config && echo x > $TMPDIR/x"}); got.IsError || got.Text != "theirs" {
		t.Errorf("%+v", got)
	}
	if d.get("file") != "new\n" {
		t.Error(d.get("file"))
	}
	for _, command := range []string{"echo x > ../new", "echo x > .git/config", "mv .git x", "rm -rf .ramet", "cat ../outside/secret", connect} {
		got := d.granted(tool.Confine, "bash", args{"command": command})
		cause := strings.Contains(got.Text, "[the box may be the cause: it ran confined, ") && strings.Contains(got.Text, "outside")
		if wanted := command != "cat ../outside/secret"; !got.IsError || cause != wanted || !strings.Contains(got.Text, "it ran confined") || strings.Contains(got.Text, "theirs") {
			t.Errorf("%s: %+v", command, got)
		}
		testkit.Attack(t, "outside", "bash: "+strings.ReplaceAll(command, listener.Addr().String()[strings.Index(listener.Addr().String(), ":")+1:], "PORT"))
	}
	for _, command := range []string{"echo x > ../outside/new", "cat ../outside/secret", connect} {
		if got := d.granted(tool.Free, "bash", args{"command": command}); got.IsError {
			t.Errorf("permitted: %s: %+v", command, got)
		}
	}
	if d.get(".git/config")+d.get(".ramet/config.toml") != "theirstheirs" {
		t.Error("they were written")
	}
}

func TestConfinedCommandsHaveACacheOfTheirOwn(t *testing.T) {
	d := newDesk(t)
	home := filepath.Join(d.outside, "home") // hidden, but for the cache
	d.local = testkit.Must(New(Options{Root: d.root, Env: []string{"PATH=" + os.Getenv("PATH")}, Hide: []string{d.outside}, Cache: filepath.Join(home, "cache")}))(t)
	for _, c := range []struct{ command, want string }{
		{"mkdir -p $GOCACHE && echo kept > $GOCACHE/a", "[no output]"},
		{"cat $GOCACHE/a $XDG_CACHE_HOME/go-build/a", "kept\nkept\n"},
		{"for f in $npm_config_cache $YARN_CACHE_FOLDER $PIP_CACHE_DIR $UV_CACHE_DIR; do mkdir -p $f && echo ${f#$XDG_CACHE_HOME/}; done", "npm\nyarn\npip\nuv\n"},
	} {
		if a := d.granted(tool.Confine, "bash", args{"command": c.command}); a.Text != c.want {
			t.Errorf("%s: %+v", c.command, a)
		}
	}
	if a := d.call("bash", args{"command": "echo [$GOCACHE]"}); a.Text != "[]\n" {
		t.Errorf("not confined: %+v", a)
	}
}

// Names are looked after in the workspace, and not in the cache, where compilers keep the
// sources of others as they are.
func TestConfinedCommandsLeaveNoTraps(t *testing.T) {
	d := newDesk(t)
	home := filepath.Join(d.outside, "home")
	d.local = testkit.Must(New(Options{Root: d.root, Env: []string{"PATH=" + os.Getenv("PATH")}, Hide: []string{home},
		Cache: filepath.Join(home, "cache"), Quarantine: filepath.Join(home, "quarantine")}))(t)
	a := d.granted(tool.Confine, "bash", args{"command": "echo x > .envrc; mkdir -p $GOCACHE/a; echo x > $GOCACHE/a/.envrc; echo done"})
	if a.IsError || !strings.HasPrefix(a.Text, "done\n[.envrc was moved to "+home+"/quarantine/") || strings.Count(a.Text, "\n") != 1 {
		t.Errorf("%+v", a)
	}
	testkit.Must(os.Stat(filepath.Join(home, "cache/go-build/a/.envrc")))(t)
	if _, err := os.Lstat(filepath.Join(d.root, ".envrc")); err == nil {
		t.Error("it is still there")
	}
	testkit.Attack(t, "names", "bash: .envrc in the workspace")
}

// Commands and file tools of an agent mean the same folder by /tmp, and no link in it leads out.
func TestFileToolsAndCommandsShareTmp(t *testing.T) {
	d := newDesk(t, "file", "x")
	away := testkit.Must(os.MkdirTemp("/var/tmp", "ramet-test-"))(t)
	t.Cleanup(func() { os.RemoveAll(away) })
	testkit.OK(t, os.WriteFile(filepath.Join(away, "secret"), []byte("theirs"), 0o600))
	d.local.o.Temp = filepath.Join(t.TempDir(), "temp")
	bash := func(command, want string) {
		t.Helper()
		if got := d.granted(tool.Confine, "bash", args{"command": command}); got.IsError || got.Text != want {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
	}
	file := func(name string, a args, want string) {
		t.Helper()
		if got := d.granted(tool.Free, name, a); !strings.Contains(got.Text, want) || strings.Contains(got.Text, "theirs") {
			t.Errorf("%s %v: %+v, want %q", name, a, got, want)
		}
	}
	bash("mkdir /tmp/sub; echo made > /tmp/sub/out; echo $TMPDIR", "/tmp\n")
	bash("cat /tmp/sub/out", "made\n") // another command
	file("read", args{"path": "/tmp/sub/out"}, "made")
	file("edit", args{"path": "/tmp/sub/out", "old_string": "made", "new_string": "edited"}, "Edited /tmp/sub/out.")
	file("write", args{"path": "/tmp/new/file", "content": "written\n"}, "Made /tmp/new/file")
	bash("cat /tmp/sub/out /tmp/new/file", "edited\nwritten\n")
	file("glob", args{"pattern": "**/out", "path": "/tmp"}, "/tmp/sub/out")
	file("grep", args{"pattern": "edit", "path": "/tmp/sub"}, "/tmp/sub/out")
	file("list", args{"path": "/tmp/sub"}, "out")
	file("read", args{"path": "/tmp/sub/ou"}, "Did you mean /tmp/sub/out?")
	file("read", args{"path": "file"}, "x") // the root is below /tmp too
	file("read", args{"path": filepath.Join(d.root, "file")}, "x")
	file("read", args{"path": filepath.Join(d.outside, "secret")}, "There is no")
	bash("cd /tmp && ln -s "+away+" link; ln -s ../../../../../../.."+away+" deep; ln -s "+away+"/secret one; ln -s /tmp/sub inside; ln -s "+d.root+" root",
		"[the next command runs in the workspace again: /tmp is not in it]")
	for _, path := range []string{"/tmp/link/secret", "/tmp/deep/secret", "/tmp/one", "/tmp/root/file", "/tmp/../etc/passwd"} {
		if got := d.granted(tool.Free, "read", args{"path": path}); !got.IsError || strings.Contains(got.Text, "theirs") {
			t.Errorf("%s: %+v", path, got)
		}
		if got := d.granted(tool.Free, "write", args{"path": path, "content": "changed"}); !got.IsError {
			t.Errorf("%s: %+v", path, got)
		}
		testkit.Attack(t, "tmp", "file tools: "+path)
	}
	file("read", args{"path": "/tmp/inside/out"}, "edited")
	bash("ln -s /tmp/sub out-of-it", "[no output]")
	file("read", args{"path": "out-of-it/out"}, "a link that leads out")
	if text, err := os.ReadFile(filepath.Join(away, "secret")); string(text) != "theirs" {
		t.Errorf("%q %v", text, err)
	}
}
