package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ramet/internal/testkit"
)

// yard is a folder, and a quarantine beside it.
type yard struct {
	*testing.T
	dir, into, outside string
}

func newYard(t *testing.T, files ...string) yard {
	t.Helper()
	top := t.TempDir()
	y := yard{t, filepath.Join(top, "work"), filepath.Join(top, "home", "quarantine"), filepath.Join(top, "outside")}
	for _, d := range []string{y.dir, y.outside} {
		testkit.OK(t, os.Mkdir(d, 0o755))
	}
	for _, f := range files {
		y.put(f, "x")
	}
	return y
}

func (y yard) put(name, text string) {
	y.Helper()
	at := filepath.Join(y.dir, name)
	testkit.OK(y, os.MkdirAll(filepath.Dir(at), 0o755))
	testkit.OK(y, os.WriteFile(at, []byte(text), 0o755))
}

func (y yard) sh(script string) {
	y.Helper()
	cmd := exec.Command("sh", "-e", "-c", script)
	cmd.Dir = y.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		y.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (y yard) begin(forbidden ...string) *GuardWatch {
	y.Helper()
	w := testkit.Must(BeginGuard([]string{y.dir}, forbidden, y.into))(y)
	return w
}

// tree is every file below a folder.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		testkit.OK(t, err)
		rel, _ := filepath.Rel(dir, at)
		out = append(out, rel)
		return nil
	})
	return out
}

func TestWhatOthersExecuteIsMovedAway(t *testing.T) {
	const repo = "mkdir -p %[1]s/objects %[1]s/refs; echo 'ref: refs/heads/main' > %[1]s/HEAD; "
	for _, script := range []string{
		"git init -q .; git config core.fsmonitor ./x",
		"mkdir -p a/b/c; cd a/b/c; git init -q .; git config core.fsmonitor ./x",
		"mkdir sub; cd sub; git init -q .; echo x > .git/hooks/pre-commit",
		"git init -q sub; ln -s /bin/true sub/.git/hooks/post-checkout",
		"git init -q sub; rm -r sub/.git/hooks; ln -s ../.. sub/.git/hooks",
		"git init -q sub; git -C sub config filter.x.clean x",
		"git init -q sub; git -C sub config alias.status '!x'",
		"git init -q sub; git -C sub config include.path ../x",
		"git init -q sub; git -C sub config core.sshCommand x",
		"git init -q sub; git -C sub config core.hooksPath ..",
		"git init -q sub; git -C sub config remote.origin.url 'ext::sh -c x'",
		"git init -q sub; git -C sub config remote.origin.uploadpack x",
		"git init -q sub; git -C sub config diff.external x",
		"git init -q sub; printf '[core]\\n\\tfile\\\\\\nmode = x\\n' > sub/.git/config",
		"git init -q sub; rm sub/.git/config; ln -s ../../x sub/.git/config",
		"git init -q sub; rm sub/.git/config; mkfifo sub/.git/config",
		"git init -q sub; mkdir -p sub/.git/info; echo '* filter=x' > sub/.git/info/attributes",
		"git init -q sub; echo .. > sub/.git/commondir",
		"git init -q sub; mv sub/.git hidden; git -C hidden config core.fsmonitor x; echo 'gitdir: ../hidden' > sub/.git",
		"mkdir sub; ln -s ../outside sub/.git",
		fmt.Sprintf(repo+"printf '[core]\\nbare = false\\nfsmonitor = x\\n' > bare/config", "bare"),
		fmt.Sprintf(repo+"mkdir deep/er/hooks; echo x > deep/er/hooks/pre-push", "deep/er"),
		fmt.Sprintf(repo+"printf '[core]\\nbare = false\\nworktree = .\\nfsmonitor = x\\n' > config", "."),
		fmt.Sprintf(repo+"mkdir hooks; echo x > hooks/post-checkout", "."),
		"mkdir -p y/objects y/refs sub; printf '[core]\\nfsmonitor = x\\n' > y/config; echo 'ref: refs/heads/main' > sub/HEAD; echo ../y > sub/commondir",
		"mkdir -p y/objects y/refs; printf '[core]\\nfsmonitor = x\\n' > y/config; echo 'ref: refs/heads/main' > HEAD; echo y > commondir",
		"mkdir sub; ln -s /tmp sub/objects; ln -s /tmp sub/refs; echo 'ref: refs/heads/main' > sub/HEAD; printf '[core]\\nfsmonitor = x\\n' > sub/config",
		"mkdir .ramet; echo x > .ramet/config.toml", "mkdir -p a/.ramet; echo x > a/.ramet/config.toml", "echo x > .ramet",
		"echo x > .envrc", "mkdir -p a/b; echo x > a/b/.envrc", "ln -s a .envrc", "mkdir .envrc",
		"echo '*.txt filter=x' > .gitattributes", "mkdir a; echo '\"a b\" merge=x' > a/.gitattributes", "echo 'a diff=x' > .gitattributes", "ln -s a .gitattributes",
		"mkdir .vscode; echo x > .vscode/tasks.json", "mkdir -p a/.vscode; echo x > a/.vscode/settings.json", "ln -s a .vscode", "mkdir -p .VSCode; echo x > .VSCode/tasks.json",
		"echo x > .mcp.json", "mkdir .claude; echo x > .claude/settings.json", "mkdir -p .agents/agents; echo x > .agents/agents/a.md", "mkdir -p a/.Agents/skills/s; echo x > a/.Agents/skills/s/run.sh", "mkdir .cursor; echo x > .cursor/mcp.json", "mkdir -p .husky/_; echo x > .husky/_/h",
		"echo x > .bashrc", "echo x > .exrc", "echo x > .GIT",
		"mkdir -p shut/in; echo x > shut/in/.envrc; chmod 0 shut/in shut",
		"mkdir a; echo x > a/.envrc; mv a b", "mkdir -p node_modules/x; echo x > node_modules/x/.envrc",
	} {
		y := newYard(t, "x", "inner/file")
		testkit.OK(t, os.Symlink(y.outside, filepath.Join(y.dir, "link")))
		w := y.begin()
		y.sh(script)
		moved, err := w.End()
		if err != nil || len(moved) == 0 || moved[0].To == "" {
			t.Errorf("%s: %v %v", script, moved, err)
			continue
		}
		if _, err := os.Lstat(filepath.Join(y.dir, moved[0].Path)); err == nil {
			t.Errorf("%s: %s is still there", script, moved[0].Path)
		}
		if _, err := os.Lstat(moved[0].To); err != nil {
			t.Errorf("%s: %v", script, err)
		}
		// The next watch finds nothing.
		if moved, err := y.begin().End(); err != nil || len(moved) != 0 {
			t.Errorf("%s: again: %v %v", script, moved, err)
		}
		testkit.Attack(t, "names", script)
	}
}

// dig makes a folder whose path is longer than any that the kernel takes.
func (y yard) dig() {
	y.Helper()
	dir, err := unix.Open(y.dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range 25 {
		name := strings.Repeat("a", 200)
		if err == nil {
			err = unix.Mkdirat(dir, name, 0o755)
		}
		inner, failed := unix.Openat(dir, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(dir)
		if dir = inner; err != nil || failed != nil {
			y.Fatal(err, failed)
		}
	}
	file := testkit.Must(unix.Openat(dir, ".envrc", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644))(y)
	unix.Close(file)
	unix.Close(dir)
}

// The folder itself cannot be moved away. What makes a repository of it is, and nothing that was there before.
func TestTheFolderItselfBecomesNoRepository(t *testing.T) {
	y := newYard(t, "objects/mine", "config", "hooks/mine")
	w := y.begin()
	y.sh("rm -r hooks; mkdir refs; echo 'ref: refs/heads/main' > HEAD; printf '[core]\\nfsmonitor = x\\n' > config")
	if moved, err := w.End(); err != nil || len(moved) != 1 || moved[0].Path != "HEAD" {
		t.Errorf("%v %v", moved, err)
	}
	y = newYard(t, "HEAD", "objects/mine", "config")
	w = y.begin()
	y.sh("mkdir refs; printf '[core]\\nfsmonitor = x\\n' > config")
	if moved, err := w.End(); err != nil || len(moved) != 1 || moved[0].Path != "refs" {
		t.Errorf("%v %v", moved, err)
	}
	// One that is there stays as it is.
	y = newYard(t)
	y.sh("git init -q --bare .; rm -r hooks")
	w = y.begin()
	if got := len(w.Kept()); got != 5 {
		t.Errorf("%d parts are kept", got)
	}
	y.sh("mkdir hooks; echo x > hooks/post-checkout")
	if moved, err := w.End(); err != nil || len(moved) != 1 || moved[0].Path != "hooks" {
		t.Errorf("%v %v", moved, err)
	}
	for _, with := range []string{"HEAD", "refs", "hooks"} {
		testkit.Attack(t, "names", "the workspace a bare repository by its "+with)
	}
}

// What cannot be looked at does not keep the rest from being looked at.
func TestWhatLiesTooDeepIsMovedAway(t *testing.T) {
	const others = "echo x > .envrc; mkdir z; echo x > z/.envrc"
	for name, hide := range map[string]func(yard){
		"deep": yard.dig,
		"shut": func(y yard) {
			y.sh("for i in $(seq 100); do mkdir n; cd n; done; echo x > .envrc; for i in $(seq 100); do cd ..; chmod 0 n; done")
		},
	} {
		y := newYard(t, "x")
		w := y.begin()
		hide(y)
		y.sh(others)
		moved, err := w.End()
		if err != nil || len(moved) != 3 {
			t.Errorf("%s: %v %v", name, moved, err)
		}
		for _, m := range moved {
			if _, err := os.Lstat(filepath.Join(y.dir, m.Path)); err == nil || m.To == "" {
				t.Errorf("%s: %v is still there", name, m)
			}
		}
		if moved, err := y.begin().End(); err != nil || len(moved) != 0 {
			t.Errorf("%s: again: %v %v", name, moved, err)
		}
		testkit.Attack(t, "names", "in a folder that is too "+name)
	}
	// One that was there before is kept as it is.
	y := newYard(t, "x")
	y.dig()
	w := y.begin()
	y.sh(others)
	if moved, err := w.End(); err != nil || len(moved) != 2 || len(w.Kept()) != 1 {
		t.Errorf("%v %v, kept %d", moved, err, len(w.Kept()))
	}
}

func TestTheHarmlessStays(t *testing.T) {
	for _, script := range []string{
		"git init -q .", "git init -q a/b; git -C a/b config user.name x; git -C a/b config user.email x@y",
		"git init -q a; cd a; git remote add origin https://example.com/x.git; git config branch.main.remote origin; git config branch.main.merge refs/heads/main",
		"git init -q --bare a.git", "git init -q --bare .", "git init -q from; git -C from -c user.name=x -c user.email=x commit -q --allow-empty -m x; git clone -q from to; git clone -q --bare from to.git",
		"git init -q a; git -C a remote add o git@example.com:a/b.git", "git init -q -b trunk --object-format=sha256 a",
		"printf '# lines\\n* text=auto eol=lf\\n*.png binary\\n*.go diff=golang\\nvendor/** linguist-vendored -diff\\n\"a b\" text\\n' > .gitattributes",
		"mkdir .vscode; echo '{}' > .vscode/extensions.json", "mkdir -p .ramet/runs/r1; echo '{}' > .ramet/agent-history.json",
		"echo x > file; mkdir -p a/b; echo x > .gitignore; echo x > .env; echo x > HEAD; mkdir objects", "rm -r inner", "mv inner other", "chmod 0 inner",
	} {
		y := newYard(t, "x", "inner/file", "inner/.envrc", "inner/.git/config")
		w := y.begin()
		y.sh(script)
		readable := !strings.HasPrefix(script, "chmod") // to an ordinary user
		var before []string
		if readable {
			before = tree(t, y.dir)
		}
		moved, err := w.End()
		if err != nil || len(moved) != 0 {
			t.Errorf("%s: %v %v", script, moved, err)
		}
		if readable {
			if after := tree(t, y.dir); !slices.Equal(before, after) {
				t.Errorf("%s: changed:\n%q\n%q", script, before, after)
			}
		}
		if _, err := os.Stat(y.into); err == nil {
			t.Errorf("%s: a quarantine for nothing", script)
		}
	}
}

func TestWhatIsThereIsKept(t *testing.T) {
	y := newYard(t, ".git/HEAD", "a/.envrc", "a/b/.vscode/x", "a/b/.gitattributes", "plain", "hooks/pre-commit")
	y.put(".git/config", "[core]\n\thooksPath = hooks\n")
	want := []string{".git", "a/.envrc", "a/b/.gitattributes", "a/b/.vscode", "hooks"}
	var got []string
	for _, k := range y.begin().Kept() {
		rel, _ := filepath.Rel(y.dir, k)
		got = append(got, rel)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if before := tree(t, y.dir); len(before) != 13 {
		t.Errorf("something was made: %q", before)
	}
}

// Another name of a kept file leads to the same bytes.
func TestAChangeThroughAnotherNameIsSeen(t *testing.T) {
	y := newYard(t, "a/.envrc")
	y.sh("ln a/.envrc other")
	w := y.begin()
	y.sh("echo evil >> other")
	if moved, err := w.End(); err != nil || len(moved) != 1 || moved[0].Path != "a/.envrc" {
		t.Errorf("%v %v", moved, err)
	}
	testkit.Attack(t, "kept", "echo evil >> a hard link made before")
}

func TestForbiddenPathsDoNotComeIntoBeing(t *testing.T) {
	y := newYard(t, "data/ramet.db")
	w := y.begin(filepath.Join(y.dir, "data/ramet.db-journal"), filepath.Join(y.outside, "x"))
	y.sh("echo x > data/ramet.db-journal")
	if moved, err := w.End(); err != nil || len(moved) != 1 || moved[0].Path != "data/ramet.db-journal" {
		t.Errorf("%v %v", moved, err)
	}
	testkit.Attack(t, "database", "a journal that the guard is to find")
}

// While a command runs, what is not harmless goes at the second look; what becomes
// harmless stays.
// A link on the way does not hide it, whether it leads on by a relative or an absolute path.
func TestForbiddenPathsAreFoundBehindLinks(t *testing.T) {
	for script, want := range map[string]string{
		"mkdir -p .config/ramet; echo x > .config/ramet/config.toml":                              ".config/ramet/config.toml",
		"mkdir -p x/ramet; echo x > x/ramet/config.toml; ln -s x .config":                         ".config",
		`mkdir -p x/ramet; echo x > x/ramet/config.toml; ln -s "$PWD/x" .config`:                  ".config",
		`mkdir -p x .config; echo x > x/config.toml; ln -s "$PWD/x" .config/ramet`:                ".config/ramet",
		"mkdir -p .config/ramet; echo x > x; ln -s ../../x .config/ramet/config.toml":             ".config/ramet/config.toml",
		"mkdir -p .config/ramet/config.toml; echo x > .config/ramet/config.toml/whatever; exit 0": ".config/ramet/config.toml",
	} {
		y := newYard(t)
		w := y.begin(filepath.Join(y.dir, ".config/ramet/config.toml"))
		y.sh(script)
		if moved, err := w.End(); err != nil || len(moved) != 1 || moved[0].Path != want || moved[0].To == "" {
			t.Errorf("%s: %v %v", script, moved, err)
		}
		testkit.Attack(t, "names", script)
	}
	// The user's own link is none of the command's.
	y := newYard(t, "dots/x")
	y.sh("ln -s dots .config")
	w := y.begin(filepath.Join(y.dir, ".config/ramet/config.toml"))
	y.sh("mkdir dots/ramet; echo x > dots/ramet/config.toml")
	if moved, err := w.End(); err != nil || len(moved) != 1 || moved[0].Path != "dots/ramet/config.toml" {
		t.Errorf("%v %v", moved, err)
	}
}

func TestAPatrolMovesWhatStaysBad(t *testing.T) {
	y := newYard(t, "x")
	w := y.begin()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); w.Patrol(stop, time.Millisecond) }()
	y.sh("git init -q good; echo x > .envrc; mkdir a; echo x > a/.mcp.json")
	testkit.WaitUntil(t, "both are moved away", func() bool {
		_, one := os.Lstat(filepath.Join(y.dir, ".envrc"))
		_, two := os.Lstat(filepath.Join(y.dir, "a/.mcp.json"))
		return one != nil && two != nil
	})
	y.put("b/.envrc", "x")
	close(stop)
	<-ended
	moved, err := w.End()
	if err != nil || len(moved) != 3 {
		t.Errorf("%v %v", moved, err)
	}
	testkit.Must(os.Lstat(filepath.Join(y.dir, "good/.git/HEAD")))(t)
}

// Looks remember folders; a change in the same tick of the clock is seen all the same.
func TestNothingIsMissedInAHurry(t *testing.T) {
	y := newYard(t, "a/b/file")
	for i := range 200 {
		w := y.begin()
		y.put("a/b/.envrc", "x")
		if moved, err := w.End(); err != nil || len(moved) != 1 {
			t.Fatalf("%d: %v %v", i, moved, err)
		}
	}
}

func TestFoldersThatAreSwappedForLinksLeadNowhere(t *testing.T) {
	y := newYard(t, "a/file")
	w := y.begin()
	y.put("a/.envrc", "mine")
	testkit.OK(t, os.WriteFile(filepath.Join(y.outside, ".envrc"), []byte("theirs"), 0o600))
	if _, _, err := w.places[0].index.look(); err != nil {
		t.Fatal(err)
	}
	root := testkit.Must(os.OpenRoot(y.dir))(t)
	defer root.Close()
	y.sh("mv a b; ln -s ../outside a")
	q := quarantine{root: root, dir: y.dir, into: y.into}
	if m := q.move("a/.envrc", "why"); m.To != "" {
		t.Errorf("it went through the link: %v", m)
	}
	if text, err := os.ReadFile(filepath.Join(y.outside, ".envrc")); string(text) != "theirs" {
		t.Error(string(text), err)
	}
	testkit.Attack(t, "names", "a folder swapped for a link while it is moved away")
}

func TestAnotherFileSystemIsCopiedTo(t *testing.T) {
	y := newYard(t)
	y.sh("git init -q sub; ln -s /etc/passwd sub/.git/link; mkfifo sub/.git/pipe; echo hook > sub/.git/hooks/pre-commit; chmod 700 sub/.git/hooks/pre-commit")
	root := testkit.Must(os.OpenRoot(y.dir))(t)
	defer root.Close()
	q := quarantine{root: root, dir: y.dir, into: y.into}
	to, err := q.place("sub/.git")
	if err == nil {
		err = q.copy("sub/.git", to)
	}
	testkit.OK(t, err)
	if _, err := os.Lstat(filepath.Join(y.dir, "sub/.git")); err == nil {
		t.Error("it is still there")
	}
	if target, err := os.Readlink(filepath.Join(to, "link")); target != "/etc/passwd" {
		t.Error(target, err)
	}
	if info, err := os.Stat(filepath.Join(to, "hooks/pre-commit")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestGitConfigurationIsReadOrRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		want []setting // nil: it is refused
	}{
		{"\ufeff[core]\n\tbare = false ; no\n# nothing\n", []setting{{"core.bare", "false ; no"}}},
		{"[Core]\nPager = \"less -R\"\n", []setting{{"core.pager", "less -R"}}},
		{"[core]\npager = \"\"\n", []setting{{"core.pager", ""}}},
		{"[remote \"origin\"] url = x\n", []setting{{"remote.origin.url", "x"}}},
		{"[core]\nbare\n", []setting{{"core.bare", ""}}},
		{"bare = true\n", nil},
		{"[core]\npager = a\\\n", nil},
		{"[core]\npager = \"a\n", nil},
		{"[core]\n= x\n", nil},
	} {
		got, err := parseConfig(c.text)
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
}
