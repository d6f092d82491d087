package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ramet/internal/testkit"
)

// overlaid is a yard whose commands have an overlay.
type overlaid struct {
	yard
	home    string
	begun   []string
	before  []string
	changes []OverlayChange
}

func newOverlaid(t *testing.T, files ...string) *overlaid {
	t.Helper()
	y := newYard(t, files...)
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+rwx", y.dir).Run() })
	return &overlaid{yard: y, home: filepath.Dir(y.into)}
}

func (o *overlaid) box() *Box {
	return &Box{Write: []string{o.dir}, Guarded: []string{o.dir}, Guard: o.into, Forbid: []string{filepath.Join(o.dir, "db", "ramet.db")},
		Hide: []string{o.home}, Overlay: &Overlay{Dir: filepath.Join(o.home, "overlay"),
			Begun:  func(folder string) { o.begun = append(o.begun, folder) },
			Before: func(_ string, paths []string) { o.before = append(o.before, paths...) },
			After:  func(_ string, c []OverlayChange) { o.changes = append(o.changes, c...) }}}
}

const gitQuiet = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"

// begin starts a command, which must have an overlay.
func (o *overlaid) begin(script string) (*Process, *screen) {
	o.Helper()
	out := newScreen()
	c := sh(o.dir, gitQuiet+script, "HOME="+o.dir)
	c.Confine, c.Output = o.box(), out
	p := testkit.Must(Start(o.Context(), c))(o)
	if p.overlay == nil {
		o.Fatal("it has no overlay")
	}
	return p, out
}

// run runs a command to its end and returns its output and what is said about it.
func (o *overlaid) run(script string) (output, notes string) {
	o.Helper()
	p, out := o.begin(script)
	r := testkit.Must(p.Wait())(o)
	if r.ExitCode != 0 {
		o.Errorf("%s: exit code %d, %s", script, r.ExitCode, out)
	}
	return out.String(), r.Notes
}

func (o *overlaid) path(name string) string { return filepath.Join(o.dir, name) }

func (o *overlaid) read(name string) string {
	o.Helper()
	return string(testkit.Must(os.ReadFile(o.path(name)))(o))
}

// state describes every file below a folder: kind, mode, links, content.
func state(t *testing.T, dir string) (out []string) {
	t.Helper()
	testkit.OK(t, filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil // as an ordinary user
		}
		if err != nil {
			return err
		}
		info := testkit.Must(e.Info())(t)
		what := ""
		switch rel, _ := filepath.Rel(dir, at); {
		case e.Name() == ".git":
			return fs.SkipDir
		case info.Mode().Type() == fs.ModeSymlink:
			what, _ = os.Readlink(at)
		case info.Mode().IsRegular():
			text := ""
			if info.Mode()&0o400 != 0 {
				text = string(testkit.Must(os.ReadFile(at))(t))
			}
			what = fmt.Sprintf("%d %.20q", len(text), text)
			fallthrough
		default:
			var names [1000]byte
			if n, _ := unix.Llistxattr(at, names[:]); strings.Contains(string(names[:max(n, 0)]), "user.overlay") {
				t.Errorf("%s has marks of an overlay: %q", rel, names[:n])
			}
			what = fmt.Sprint(rel, info.Mode(), " ", what)
		}
		out = append(out, what)
		return nil
	}))
	return out
}

// Whatever a command does in its overlay, the folder is afterwards as if it had done it there.
func TestAnOverlayChangesNothingInWhatACommandDoes(t *testing.T) {
	const before = `mkdir -p d/e/f many k/l; echo one > one; echo two > d/two; echo three > d/e/three; echo x > d/e/f/x; ln -s one link; ln one hard; chmod 640 d/two; printf 'x%.0s' $(seq 3000) > large
for i in 1 2 3 4 5 6 7 8 9; do echo $i > many/$i; done; touch k/l/m`
	for _, script := range []string{
		"true", "cat one d/two > new", "echo more >> d/two", "rm one", "rm -r d", "rm -r d; mkdir d; echo z > d/z", "rm -r d; echo z > d", "rm one; mkdir one; echo y > one/y",
		"mv one d/one", "mv d moved", "mv d/e up", "mv d many/", "mv d x; mv x d", "mkdir -p empty/in; rmdir empty/in", "chmod +x one", "chmod 700 d", "chmod 500 k/l", "chmod 555 d; chmod 444 one",
		"mkdir shut; echo s > shut/s; chmod 0 shut", "echo a > b; chmod 0 b",
		"ln -sf d/two link", "rm link; ln -s nowhere link", "rm link; echo file > link", "ln one d/again; echo z > q; ln q q2", "mkfifo pipe", "rm hard; truncate -s 0 one", "truncate -s 10M sparse", "head -c 3000000 /dev/zero > big",
		"touch -d 2001-01-01 one", "touch one", "exec 3<>one", "cp -a d copy", "tar -cf t.tar d && rm -r d && tar -xf t.tar && rm t.tar",
		"for i in $(seq 30); do mkdir .tmp-$i; echo $i > .tmp-$i/p; rm -rf pkg; mv .tmp-$i pkg; done", // as package managers do
		"for i in 1 2 3; do echo $i > many/.$i.tmp; mv many/.$i.tmp many/$i; done", "rm -r many/* && echo 1 > many/5", "echo a > 'ö, :\\x'; mkdir 'a\tb'",
		"mkdir a; echo 1 > a/1; mv a b; rm -r b/1; echo 2 > b/2", "sed -i s/t/T/ d/two d/e/three", "rm d/two; mkdir d/two; touch d/two/x; rm -r d/two; echo again > d/two", "mkdir -m 1777 sticky",
	} {
		o, plain := newOverlaid(t), newOverlaid(t)
		for _, y := range []yard{o.yard, plain.yard} {
			y.sh(before)
		}
		_, notes := o.run(script)
		plain.sh(script)
		if got, want := state(t, o.dir), state(t, plain.dir); !slices.Equal(got, want) || notes != "" {
			t.Errorf("%s\n%s\n%s\nwant\n%s", script, notes, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if left := testkit.Must(os.ReadDir(filepath.Join(o.home, "overlay")))(t); len(left) > 1 {
			t.Errorf("%s: left %v", script, left)
		}
	}
}

// A setuid program that is overwritten loses the bit, as outside of an overlay.
func TestNoSetIDBitLeavesAnOverlay(t *testing.T) {
	o := newOverlaid(t, "setuid", "other")
	testkit.OK(t, os.Chmod(o.path("setuid"), 0o755|fs.ModeSetuid|fs.ModeSetgid))
	o.run("cat other other > setuid; cp setuid copy; chmod 4755 copy other; true")
	for _, name := range []string{"setuid", "copy", "other"} {
		if info := testkit.Must(os.Stat(o.path(name)))(t); info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s is %v", name, info.Mode())
		}
	}
	if o.read("setuid") != "xx" {
		t.Error("it was not overwritten")
	}
	testkit.Attack(t, "setid", "overwrite, copy and chmod in an overlay")
}

func TestNothingAppearsBeforeACommandEnded(t *testing.T) {
	o := newOverlaid(t, "file", "gone")
	p, out := o.begin("echo new > made; rm gone; echo changed > file; mkdir .vscode; echo x > .vscode/tasks.json; cat file; echo ready; sleep 1000")
	out.await(t, "changed\nready")
	if got := tree(t, o.dir); !slices.Equal(got, []string{".", "file", "gone"}) || o.read("file") != "x" {
		t.Errorf("%q", got)
	}
	p.Kill() // as after a timeout: what it wrote stays
	r := testkit.Must(p.Wait())(t)
	if got := tree(t, o.dir); !slices.Equal(got, []string{".", "file", "made"}) || o.read("file") != "changed\n" || !strings.Contains(r.Notes, ".vscode was moved to") {
		t.Errorf("%q %s", got, r.Notes)
	}
}

// A loop that makes and removes a repository with a monitor held the window of the guard open.
func TestALoopKeepsNoNameVisible(t *testing.T) {
	o := newOverlaid(t, "file")
	p, out := o.begin(`while :; do git init -q .; git config core.fsmonitor ./x; mkdir -p .claude; echo x > .claude/settings.json; echo on; sleep 0.05; rm -rf .git .claude; done`)
	for range 40 {
		out.await(t, "on")
		for range 50 {
			if got := tree(t, o.dir); len(got) != 2 {
				t.Fatalf("visible: %q", got)
			}
		}
	}
	p.Kill()
	p.Wait()
	if config, _ := os.ReadFile(o.path(".git/config")); strings.Contains(string(config), "fsmonitor") || exists(o.path(".claude")) {
		t.Errorf("left: %q", tree(t, o.dir)) // a repository that does nothing may be
	}
	testkit.Attack(t, "loop", "a repository with a monitor and settings of an agent, 2,000 looks")
}

func TestGitWorksInTheRepositoryOfTheProject(t *testing.T) {
	o := newOverlaid(t, "file", "dir/inner")
	o.sh("git init -q -b main .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m begin; git init -q --bare ../remote.git; git remote add origin ../remote.git")
	for _, script := range []string{
		"git add . && git commit -qm one", "echo more >> file; git commit -qam two", "git checkout -qb side && echo s > s && git add s && git commit -qm side && git checkout -q main",
		"git merge -q --no-edit side", "git stash -q 2>/dev/null; echo y > file; git stash -q; git stash pop -q; git commit -qam stashed", "git tag v1; git tag -a -m x v2", "git reset -q --soft HEAD~1; git commit -qm again",
		"git mv file renamed && git commit -qm renamed", "git rm -q dir/inner && git commit -qm removed", "git branch -D side 2>/dev/null; git gc -q --prune=now", "git pack-refs --all; git repack -adq",
		"git checkout -qb r HEAD~2; echo r > r; git add r; git commit -qm r; git rebase -q main; git checkout -q main", "git cherry-pick r >/dev/null; git revert --no-edit HEAD >/dev/null", "git restore --source HEAD~1 . ; git add -A; git commit -qm restored", "git branch --set-upstream-to=main r >/dev/null", "git update-index --refresh; git status --porcelain",
	} {
		if _, notes := o.run(script); notes != "" {
			t.Errorf("%s: %s", script, notes)
		}
		o.sh("# after " + script + "\ngit fsck --strict 2>&1 | grep -v -e dangling -e '^$' >&2 && exit 1; git status --porcelain; test -z \"$(git status --porcelain)\"")
	}
	o.sh("test $(git rev-list --count HEAD) -gt 6")
}

// What could make git run a program is not taken over, and all the rest is.
func TestARepositoryRunsNothingNew(t *testing.T) {
	const commit = "; echo c >> file; git commit -qam c"
	for _, script := range []string{
		"git config core.fsmonitor ./x", "git config alias.status '!x'", "printf '[include]\\npath=../x\\n' >> .git/config", "git config branch.main.remote ./evil", "git config remote.origin.url ../evil",
		"git config --unset core.hooksPath", "echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", "rm -r .git/hooks; ln -s ../x .git/hooks", "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes", "echo ../x > .git/commondir",
		"mkdir -p .git/objects/info; echo ../x > .git/objects/info/alternates", "mkdir -p .git/worktrees/w; echo x > .git/worktrees/w/gitdir", "mkdir -p .git/modules/m; echo x > .git/modules/m/config", "echo x > .git/config.worktree",
		"mkdir -p .git/rebase-merge; echo 'exec x' > .git/rebase-merge/git-rebase-todo", "rm .git/HEAD; ln -s refs/heads/main .git/HEAD", "rm .git/config", "mkdir .git/refs/x; ln -s /etc .git/refs/x/y", "echo x > .githooks/post-commit", "mv .githooks away",
		"mkdir -p .git/refs/heads/y/objects .git/refs/heads/y/refs; git rev-parse HEAD > .git/refs/heads/y/HEAD; printf '[core]\\nfsmonitor = x\\n' > .git/refs/heads/y/config",
		"echo x > sub/.hooks/pre-push", "rm -r sub/.hooks", "rm sub/.hooks/pre-push", "mv sub/.hooks/pre-push sub/.hooks/pre-commit", "mkdir -p sub/more; echo x > sub/.hooks/post-merge; chmod +x sub/.hooks/post-merge",
		"mkdir .git/rebase-merge; echo x > .git/rebase-merge/strategy", "ln -sf x .git/index", "mkfifo .git/ORIG_HEAD", "chmod 777 .git/hooks/pre-push.sample 2>/dev/null; echo x >> .git/config",
	} {
		o := newOverlaid(t, "file", ".githooks/pre-push")
		o.sh("git init -q -b main .; mkdir -p .git/hooks; git config core.hooksPath .githooks; git remote add origin https://example.org/x; git add .; git -c user.name=a -c user.email=a@b commit -qm begin; chmod -x .githooks/pre-push; mkdir -p sub/.hooks; echo x > sub/.hooks/pre-push; git init -q sub; git -C sub config core.hooksPath .hooks")
		acting := func() string {
			return strings.Join(slices.DeleteFunc(tree(t, o.path(".git")), func(p string) bool {
				return strings.HasPrefix(p, "objects/") && !strings.HasPrefix(p, "objects/info") || strings.HasPrefix(p, "logs") || p == "COMMIT_EDITMSG" || p == "info" || p == "objects/info" || p == "index" || p == "rebase-merge" || p == "refs/x" || p == "refs/heads/y" || p == "refs/heads/y/HEAD" || p == "refs/heads/y/objects" || p == "refs/heads/y/refs"
			}), "\n") + o.read(".git/config") + strings.Join(append(tree(t, o.path(".githooks")), tree(t, o.path("sub/.hooks"))...), " ") + o.read("sub/.hooks/pre-push")
		}
		was := acting()
		p, out := o.begin("(" + script + ")" + strings.Replace(commit, "; ", "; git -c core.hooksPath=/dev/null -c core.fsmonitor=false status >/dev/null 2>&1; ", 1))
		r := testkit.Must(p.Wait())(t)
		if got := acting(); got != was {
			t.Errorf("%s: %s\n%s\n%s", script, out, r.Notes, got)
		}
		if r.Notes == "" && r.ExitCode == 0 && !strings.Contains(out.String(), "ead-only") && !strings.Contains(out.String(), "busy") {
			t.Errorf("%s: nothing is said: %s", script, out)
		}
		testkit.Attack(t, "commits", script)
	}
}

// A person and another command change files while a command runs: the person's version stays.
func TestAnEditOfAnotherStays(t *testing.T) {
	o := newOverlaid(t, "both", "mine", "theirs", "removed", "kept/a", "kept/b", "gone", "dir/x", "mode")
	p, out := o.begin(`echo command > both; echo command > mine; rm removed; rm -r kept; echo command >> gone; echo n > dir/new; echo more >> dir/x; rm theirs; chmod 700 mode; echo ready; sleep 1000`)
	out.await(t, "ready")
	o.put("both", "person")
	o.put("removed", "person")
	o.put("kept/b", "person")
	o.put("other", "person")
	testkit.OK(t, os.Remove(o.path("gone")))
	testkit.OK(t, os.RemoveAll(o.path("dir")))
	p.Kill()
	r := testkit.Must(p.Wait())(t)
	if got := tree(t, o.dir); !slices.Equal(got, []string{".", "both", "kept", "kept/b", "mine", "mode", "other", "removed"}) {
		t.Errorf("%q\n%s", got, r.Notes)
	}
	for name, want := range map[string]string{"both": "person", "removed": "person", "kept/b": "person", "mine": "command\n", "other": "person"} {
		if got := o.read(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
		testkit.Attack(t, "edits", "of "+name+" while a command changes it")
	}
	for _, want := range []string{"both was not applied, and is in " + o.into, "gone was not applied", "dir was not applied", "removed: it stays", "kept/b: it stays"} {
		if !strings.Contains(r.Notes, want) {
			t.Errorf("no %q in %s", want, r.Notes)
		}
	}
	var paths []string
	for _, c := range o.changes {
		if paths = append(paths, fmt.Sprint(c.Path, c.Removed)); c.At == 0 {
			t.Errorf("%+v", c)
		}
	}
	slices.Sort(paths)
	if slices.Sort(o.before); !slices.Equal(paths, []string{"kept/atrue", "minefalse", "modefalse", "theirstrue"}) || !slices.Equal(o.before, []string{"kept/a", "mine", "mode", "theirs"}) || !slices.Equal(o.begun, []string{o.dir}) {
		t.Errorf("%q %q %q", paths, o.before, o.begun)
	}
}

// A repository is one thing: where another program committed meanwhile, the command's commit is not taken over.
func TestACommitOfAnotherStays(t *testing.T) {
	o := newOverlaid(t, "file")
	o.sh("git init -q -b main .; git add .; git -c user.name=a -c user.email=a@b commit -qm begin")
	p, out := o.begin("echo c > c; git add c; git commit -qm command; echo ready; sleep 1000")
	out.await(t, "ready")
	o.sh("echo p > p; git add p; git -c user.name=a -c user.email=a@b commit -qm person")
	p.Kill()
	r := testkit.Must(p.Wait())(t)
	o.sh(`test "$(git log --format=%s)" = "person
begin"; test "$(git status --porcelain)" = "?? c"; git fsck --strict`)
	if !strings.Contains(r.Notes, whyBusy) {
		t.Error(r.Notes)
	}
	testkit.Attack(t, "edits", "a commit while a command commits")
}

// Two commands at the same time: each applies what is its own.
func TestTwoOverlaysOfOneFolder(t *testing.T) {
	o := newOverlaid(t, "both", "one", "two")
	first, out := o.begin("echo 1 > both; echo 1 > one; echo 1 > new1; echo ready; sleep 1000")
	second, out2 := o.begin("echo 2 > both; echo 2 > two; echo 2 > new2; echo ready; sleep 1000")
	out.await(t, "ready")
	out2.await(t, "ready")
	first.Kill()
	r := testkit.Must(first.Wait())(t)
	second.Kill()
	r2 := testkit.Must(second.Wait())(t)
	if got := o.read("both") + o.read("one") + o.read("two") + o.read("new1") + o.read("new2"); got != "1\n1\n2\n1\n2\n" || r.Notes != "" || !strings.Contains(r2.Notes, "both was not applied, and is in") {
		t.Errorf("%q %q %q", got, r.Notes, r2.Notes)
	}
	testkit.Attack(t, "edits", "of another command")
}

// What others execute is judged as without an overlay: the scripts of the guard's tests leave nothing.
func TestWhatOthersExecuteLeavesNoOverlay(t *testing.T) {
	for script, want := range map[string]string{
		"git init -q .; git config core.fsmonitor ./x": ".git", "mkdir -p a/b/c; cd a/b/c; git init -q .; git config core.fsmonitor ./x": "a/b/c/.git", "git init -q sub; echo x > sub/.git/hooks/pre-commit": "sub/.git",
		"mkdir -p y/objects y/refs sub; printf '[core]\\nfsmonitor = x\\n' > y/config; echo 'ref: refs/heads/main' > sub/HEAD; echo ../y > sub/commondir": "sub", "git init -q --bare bare; git -C bare config core.fsmonitor x": "bare",
		"mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; printf '[core]\\nbare = false\\nworktree = .\\nfsmonitor = x\\n' > config": "HEAD",
		"mkdir half/objects half/refs": "half/objects", "mkdir .ramet; echo x > .ramet/config.toml": ".ramet", "echo x > .envrc": ".envrc", "ln -s a .gitattributes": ".gitattributes", "mkdir -p .VSCode; echo x > .VSCode/tasks.json": ".VSCode",
		"mkdir -p shut/in; echo x > shut/in/.envrc; chmod 0 shut/in shut": "shut/in/.envrc", "mkdir a; echo x > a/.envrc; mv a b": "b/.envrc", "echo x > .env2; mv .env2 .npmrc; echo script-shell=./x > .npmrc": ".npmrc",
		"echo x >> old/.envrc": "old/.envrc", "rm old/.envrc": "old/.envrc", "rm -r old": "old/.envrc", "rm -r old; mkdir old; echo y > old/.envrc": "old/.envrc", "echo more > old/.vscode/settings.json": "old/.vscode", "rm -rf old/.vscode": "old/.vscode", "echo '*.x filter=x' > old/.gitattributes": "old/.gitattributes",
		"mkdir db; echo x > db/ramet.db": "db/ramet.db", "ln -s /tmp db": "db", "mv old/.envrc old/x": "old/.envrc",
	} {
		o := newOverlaid(t, "old/.envrc", "old/.vscode/settings.json", "old/.gitattributes", "half/HEAD", "half/config")
		was := func() (out []string) {
			for _, f := range []string{"old/.envrc", "old/.vscode/settings.json", "old/.gitattributes", "half/HEAD", "half/config"} {
				out = append(out, o.read(f))
			}
			return out
		}
		before := was()
		_, notes := o.run(script)
		if !strings.HasPrefix(notes, want+" was moved") && !strings.HasPrefix(notes, want+": it stays") || !slices.Equal(was(), before) {
			t.Errorf("%s: %q %q", script, notes, was())
		}
		if moved, err := o.yard.begin().End(); err != nil || len(moved) > 0 {
			t.Errorf("%s: %v %v", script, moved, err)
		}
		if _, err := os.Lstat(o.path(want)); err == nil && !strings.HasPrefix(want, "old") {
			t.Errorf("%s: %s is there", script, want)
		}
		testkit.Attack(t, "names", "overlay: "+script)
	}
	o := newOverlaid(t)
	if _, notes := o.run("git init -q sub; cd sub; echo x > f; git add f; git commit -qm x; cd ..; git clone -q sub clone; mkdir .vscode; echo {} > .vscode/extensions.json; echo save-exact=true > .npmrc; git init -q --bare bare"); notes != "" || !exists(o.path("clone/f")) || !exists(o.path(".npmrc")) || !exists(o.path("bare/HEAD")) {
		t.Errorf("%s %q", notes, tree(t, o.dir))
	}
}

// Where the file system of ramet's folder is another one, files are copied, and still get their names in one step.
func TestAnOverlayOnAnotherFileSystem(t *testing.T) {
	o := newOverlaid(t, "one", "d/two", "gone")
	home := testkit.Must(os.MkdirTemp("/dev/shm", "ramet-overlay"))(t)
	defer os.RemoveAll(home)
	o.home, o.into = home, filepath.Join(home, "quarantine")
	_, notes := o.run("echo more >> one; rm gone; mkdir -p new/deep; echo n > new/deep/n; ln -s one link; chmod 711 new; echo e > x; chmod +x x; echo d > d/two")
	want := []string{". drwxr-xr-x", "d drwxr-xr-x"}
	got := strings.Join(state(t, o.dir), "\n")
	if notes != "" || o.read("one") != "xmore\n" || o.read("new/deep/n") != "n\n" || o.read("d/two") != "d\n" || exists(o.path("gone")) || !strings.Contains(got, "x-rwxr-xr-x") || !strings.Contains(got, "newdrwx--x--x") {
		t.Errorf("%s %s %q", notes, got, want)
	}
}

// Where no overlay can be, the guard looks after the names as before.
func TestWithoutAnOverlayTheGuardWatches(t *testing.T) {
	o := newOverlaid(t, "file")
	box := o.box()
	box.Overlay.Dir = filepath.Join(o.dir, "sub", "overlay") // inside of the folder
	if err := CheckOverlay(o.dir, box.Overlay.Dir); err == nil {
		t.Error("an overlay in its own folder")
	}
	testkit.OK(t, CheckOverlay(o.dir, filepath.Join(o.home, "overlay")))
	c := sh(o.dir, "echo x > .envrc; echo y > file")
	c.Confine = box
	p := testkit.Must(Start(t.Context(), c))(t)
	if p.overlay != nil || p.watch == nil {
		t.Error("not watched")
	}
	if r := testkit.Must(p.Wait())(t); !strings.Contains(r.Notes, ".envrc was moved") || o.read("file") != "y\n" {
		t.Error(r.Notes)
	}
}

// A ramet that is killed leaves nothing of an unfinished command in the folder, and the next one removes what it left elsewhere.
func TestAnOverlayOfAKilledRametIsDropped(t *testing.T) {
	o := newOverlaid(t, "file")
	temp := t.TempDir()
	ramet := exec.Command("/proc/self/exe", "overlay", "TREE="+newMark(), o.dir, o.home)
	ramet.Env = append(os.Environ(), role+"=ramet", "TMPDIR="+temp)
	out := newScreen()
	ramet.Stdout, ramet.Stderr = out, out
	testkit.OK(t, os.MkdirAll(o.home, 0o700))
	testkit.OK(t, ramet.Start())
	out.await(t, "ready")
	layer := func() []string {
		return testkit.Must(filepath.Glob(filepath.Join(o.home, "overlay", tempPrefix+"*", "upper0", "a", "b", ".envrc")))(t)
	}
	if len(layer()) != 1 {
		t.Error("nothing is in the layer")
	}
	ramet.Process.Kill()
	ramet.Wait()
	eventually(t, "the temporary folder is gone", func() bool { // which is the helper's last deed
		left, err := os.ReadDir(temp)
		return err == nil && len(left) == 0
	})
	if o.run("true"); len(layer()) > 0 || !slices.Equal(tree(t, o.dir), []string{".", "file"}) || o.read("file") != "x" {
		t.Errorf("%q %q", layer(), tree(t, o.dir))
	}
}
