package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// room is a folder that may be written, one beside it that may not, and a home that
// is hidden.
type room struct{ root, outside, home string }

// visibleFolder makes a folder that confined commands see: t.TempDir is in a temporary folder.
func visibleFolder(t *testing.T) string {
	t.Helper()
	dir := testkit.Must(os.MkdirTemp("/var/tmp", "ramet-test-"))(t)
	t.Cleanup(func() { RemoveAll(dir) })
	return dir
}

func newRoom(t *testing.T) room {
	t.Helper()
	testkit.OK(t, Available())
	top := visibleFolder(t)
	r := room{top + "/root", top + "/outside", top + "/home"}
	for file, text := range map[string]string{
		"root/file": "mine", "root/.git/config": "[core]", "root/.git/hooks/pre-commit": "#!/bin/sh", "root/.ramet/config.toml": "x=1",
		"outside/file": "theirs", "outside/folder/file": "theirs", "home/credentials.toml": "secret", "home/worktrees/one/file": "w",
	} {
		file = filepath.Join(top, file)
		testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testkit.OK(t, os.WriteFile(file, []byte(text), 0o644))
	}
	testkit.OK(t, os.Symlink(r.outside, r.root+"/link"))
	return r
}

func (r room) box() *Box {
	return &Box{Write: []string{r.root}, Keep: []string{r.root + "/.git", r.root + "/.ramet"}, Hide: []string{r.home, "/no/such"}}
}

// state is every file below the room, with mode, time and content.
func (r room) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{r.outside, r.home, r.root + "/.git", r.root + "/.ramet"} {
		testkit.OK(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			text, _ := os.ReadFile(path)
			fmt.Fprintln(&all, path, info.Mode(), info.ModTime(), string(text))
			return nil
		}))
	}
	return all.String()
}

func TestAConfinedCommandWorksInside(t *testing.T) {
	r := newRoom(t)
	temp := t.TempDir() // what others left in the machine's own is not our affair
	t.Setenv("TMPDIR", temp)
	c := sh(r.root, `set -e
echo new > file; mkdir -p a/b; echo x > a/b/c; mv a/b/c d; ln -s d e; ln d f; rm -r a; chmod 700 d
test $TMPDIR = /tmp; echo x > $TMPDIR/x; f=$(mktemp); echo y > "$f"; mv $TMPDIR/x from-temp
echo x > /dev/null; echo err > /dev/stderr; mkfifo pipe
cat ../outside/file; ls / /proc/self > /dev/null; cat .git/config; id -u`)
	c.Confine = r.box()
	got, out := run(t, c)
	if want := fmt.Sprintf("err\ntheirs[core]%d\n", os.Geteuid()); got.ExitCode != 0 || out != want {
		t.Errorf("%+v %q, want %q", got, out, want)
	}
	if text, err := os.ReadFile(r.root + "/file"); string(text) != "new\n" {
		t.Error(string(text), err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

func TestAConfinedCommandCannotActOutside(t *testing.T) {
	r := newRoom(t)
	// Whoever starts ramet may leave something open.
	fd := testkit.Must(syscall.Open(r.outside, syscall.O_RDONLY|syscall.O_DIRECTORY, 0))(t)
	defer syscall.Close(fd)
	before := r.state(t)
	// Each would do little harm, should it succeed.
	for _, script := range []string{
		"echo x > ../outside/file", "echo x >> ../outside/file", "echo x > ../outside/new", "rm ../outside/file",
		"rm -rf ../outside/folder", "mkdir ../outside/new", "mv file ../outside/", "mv ../outside/file .", "ln ../outside/file hard",
		"chmod 777 ../outside/file", "touch ../outside/file", "touch -d 2001-01-01 ../outside", "truncate -s 0 ../outside/file",
		"echo x > link/file", "rm link/file", "echo x > link/new", "chmod 777 link/file", "mv link/folder .",
		"echo x > .git/config", "echo x > .git/hooks/new", "rm -rf .git", "mv .git other", "chmod 777 .git/config", "mv .git/hooks x",
		"rmdir .git", "ln .git/config hard", "mkdir x && mv x .git/hooks", "echo x > .ramet/config.toml", "mv .ramet other",
		"cat ../home/credentials.toml", "ls ../home/* && false; ls ../home | grep .", "echo x > ../home/new", "mv ../home h",
		"mknod disk b 8 0", "mknod char c 1 3", "mount -t tmpfs none .", "umount .git", "umount " + r.home, "mount -o remount,rw /",
		"tee /proc/sys/kernel/sysrq < /proc/sys/kernel/sysrq", ": > /dev/kmsg", ": <> /dev/ptmx", "echo x > /dev/tty",
		"unshare -m true", "unshare -Um mount -t tmpfs none .", "unshare -Urm umount .git", "unshare -Urm mount -o remount,bind,rw .git", "chroot / true", "tee /proc/sys/kernel/panic < /proc/sys/kernel/panic",
		fmt.Sprintf("kill -0 %d", os.Getpid()), fmt.Sprintf("cat /proc/%d/environ", os.Getpid()),
		"cat /proc/1/environ", "cat /proc/1/mem", "ls /proc/1/fd/5/", "echo x > /proc/1/fd/4", "ls /proc/self/fd/ | grep '[4-9]'", fmt.Sprintf("ls /proc/self/fd/%d/", fd), "echo 0 > /proc/self/oom_score_adj", "ls /proc/1/root/", "for t in /proc/1/task/*; do cat $t/environ && exit 0; done; exit 1",
		"nsenter -t 1 -m true", "date -s @$(date +%s)",
	} {
		c := sh(r.root, script)
		c.Confine = r.box()
		got, out := run(t, c)
		if got.ExitCode == 0 {
			t.Errorf("%s: done: %q", script, out)
		}
		if after := r.state(t); after != before {
			t.Fatalf("%s: %s\nbefore:\n%s\nafter:\n%s", script, out, before, after)
		}
		testkit.Attack(t, "outside", script)
	}
}

// A command that may write the parent puts a link in place of the next one's folder.
func TestNoLinkBecomesAFolderToWrite(t *testing.T) {
	r := newRoom(t)
	for _, w := range []string{r.root + "/link", r.root + "/link/folder", r.root + "/../root/link"} {
		c := sh(r.root, "echo x > ../outside/folder/new")
		c.Confine = &Box{Write: []string{w}}
		p, err := Start(t.Context(), c)
		if p != nil || !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %v", w, err)
		}
		testkit.Attack(t, "folders", "start in "+w)
	}
	// While a command is prepared. The helper mounts nothing over a link, also if it is gone again later.
	in := testkit.Must((&Box{Write: []string{r.root}}).resolve())(t)
	for _, w := range []string{r.root + "/link", r.root + "/link/folder"} {
		if _, _, err := in.mountFolder(w); !errors.Is(err, syscall.ELOOP) {
			t.Errorf("%s: %v", w, err)
		}
		testkit.Attack(t, "folders", "mount "+w)
	}
	testkit.OK(t, errors.Join(os.Rename(r.root, r.root+".old"), os.Rename(r.outside, r.root)))
	p, err := order{Path: "/bin/sh", Args: []string{"sh", "-c", "echo x > new"}, Dir: r.root, Box: in}.start(t.Context(), nil)
	if p != nil || !strings.Contains(fmt.Sprint(err), "was replaced") {
		t.Errorf("%v", err)
	}
	testkit.Attack(t, "folders", "another folder at its path while the command is prepared")
}

// A person types passwords on terminals that are files of theirs.
// A folder on the way to a kept file cannot be renamed either: another file would lie at its path.
func TestNothingTakesThePlaceOfAKeptFile(t *testing.T) {
	r := newRoom(t)
	testkit.OK(t, os.MkdirAll(r.root+"/tools/dist", 0o755))
	kept := r.root + "/tools/dist/server"
	testkit.OK(t, os.WriteFile(kept, []byte("accepted"), 0o644))
	c := sh(r.root, `for at in tools/dist tools; do
	mv -T $at moved; mkdir -p other/dist; echo evil > other/server; echo evil > other/dist/server
	mv -T --exchange other $at; rm -rf $at; mv -T other $at; done
echo fine > tools/dist/more; mv tools/dist/more tools/dist/renamed; cat tools/dist/renamed`)
	c.Confine = r.box()
	c.Confine.Keep = append(c.Confine.Keep, kept)
	if _, out := run(t, c); !strings.HasSuffix(out, "fine\n") {
		t.Errorf("it cannot write next to the file: %s", out)
	}
	if text, err := os.ReadFile(kept); string(text) != "accepted" {
		t.Errorf("%q %v", text, err)
	}
	testkit.Attack(t, "kept", "move, exchange and remove the folders above a kept file")
}

func TestAConfinedCommandReadsNoDevice(t *testing.T) {
	r := newRoom(t)
	person, terminal, err := pty.Open()
	testkit.OK(t, err)
	defer person.Close()
	defer terminal.Close()
	testkit.Must(person.WriteString("password\n"))(t)
	for _, c := range []Command{sh(r.root, "head -c 8 "+terminal.Name()), sh(r.root, ": < /dev/ptmx")} {
		c.Confine = r.box()
		if got, out := run(t, c); got.ExitCode == 0 || strings.Contains(out, "pass") {
			t.Errorf("%s: %+v %q", c.Args, got, out)
		}
		testkit.Attack(t, "devices", strings.ReplaceAll(c.Args[2], terminal.Name(), "TERMINAL"))
	}
	c := sh(r.root, `set -e; cat /dev/null; head -c 1 /dev/zero /dev/full /dev/random /dev/urandom | wc -l > /dev/null; echo x > /dev/null; ! echo x > /dev/full`)
	c.Confine = r.box()
	if got, out := run(t, c); got.ExitCode != 0 {
		t.Errorf("%+v %q", got, out)
	}
}

func TestAFolderInsideAHiddenOneCanBeWritten(t *testing.T) {
	r := newRoom(t)
	tree := r.home + "/worktrees/one"
	c := sh(tree, "echo new > file; ls ..; ls ../..; cat ../../credentials.toml; echo x > ../../new")
	c.Confine = &Box{Write: []string{tree}, Hide: []string{r.home}}
	got, out := run(t, c)
	text, err := os.ReadFile(tree + "/file")
	if got.ExitCode == 0 || err != nil || string(text) != "new\n" || strings.Contains(out, "secret") || !strings.HasPrefix(out, "one\nworktrees\n") {
		t.Errorf("%+v %q %q %v", got, out, text, err)
	}
	testkit.Attack(t, "hidden", "cat and write above a folder inside a hidden one")
}

func TestAHiddenFileIsEmpty(t *testing.T) {
	r := newRoom(t)
	c := sh(r.root, "cat ../home/credentials.toml; ls ../home")
	c.Confine = &Box{Write: []string{r.root}, Hide: []string{r.home + "/credentials.toml"}}
	if _, out := run(t, c); out != "credentials.toml\nworktrees\n" {
		t.Errorf("%q", out)
	}
	testkit.Attack(t, "hidden", "cat a hidden file")
}

// play is the test binary in another role, confined or not.
func play(dir, name string, args ...string) Command {
	return Command{Args: append([]string{"/proc/self/exe"}, args...), Dir: dir, Env: []string{sandboxPath, role + "=" + name, "GORACE=atexit_sleep_ms=0"}}
}

func TestAConfinedCommandHasNoNetwork(t *testing.T) {
	r := newRoom(t)
	tcp := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer tcp.Close()
	named := testkit.Must(net.Listen("unix", filepath.Join(r.outside, "socket")))(t)
	defer named.Close()
	hidden := fmt.Sprintf("@ramet-%s", newMark())
	abstract := testkit.Must(net.Listen("unix", hidden))(t)
	defer abstract.Close()
	for _, l := range []net.Listener{tcp, named, abstract} {
		free := play(r.root, "dial", l.Addr().Network(), l.Addr().String())
		if got, out := run(t, free); got.ExitCode != 0 || out != "connected\n" {
			t.Fatalf("%s: %+v %q", l.Addr(), got, out)
		}
		shut := free
		shut.Confine = r.box()
		if got, out := run(t, shut); got.ExitCode == 0 || !strings.HasPrefix(out, "no:") {
			t.Errorf("%s: %+v %q", l.Addr(), got, out)
		}
		open := free
		open.Confine = r.box()
		open.Confine.Network = true
		want := "connected\n"
		if l == abstract { // the network is no reason to reach programs of the user
			want = "no: "
		}
		if _, out := run(t, open); !strings.HasPrefix(out, want) {
			t.Errorf("%s with the network: %q", l.Addr(), out)
		}
		testkit.Attack(t, "network", fmt.Sprintf("dial a %s socket, abstract %t", l.Addr().Network(), l == abstract))
	}
	c := play(r.root, "loopback")
	c.Confine = r.box()
	if _, out := run(t, c); out != "loopback: <nil>\n" {
		t.Errorf("%q", out)
	}
}

func TestWithoutNamespacesNothingIsConfined(t *testing.T) {
	r := newRoom(t)
	was := best.Swap(int32(len(ways) - 1))
	defer best.Store(was)
	c := sh(r.root, "touch ran")
	c.Confine = r.box()
	p, err := Start(t.Context(), c)
	if p != nil || !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "namespaces") {
		t.Errorf("%v", err)
	}
	in := testkit.Must(c.Confine.resolve())(t)
	in.Temp = t.TempDir()
	in.Tmp = in.Temp
	o := order{Path: "/bin/sh", Args: c.Args, Dir: c.Dir, Env: c.Env, Box: in}
	if p, err := startHelper(t.Context(), o, nil, nil); p != nil || !strings.Contains(fmt.Sprint(err), "namespaces") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(r.root + "/ran"); err == nil {
		t.Error("it ran")
	}
}

// A socket of a process that bound it by a relative path.
func TestASocketOfARelativePathIsNotReached(t *testing.T) {
	r := newRoom(t)
	out := newScreen()
	other := play(r.outside, "listen", "relative socket")
	other.Output = out
	p := testkit.Must(Start(t.Context(), other))(t)
	defer func() { p.Kill(); p.Wait() }()
	out.await(t, "listening")
	c := play(r.root, "dial", "unix", r.outside+"/relative socket")
	if got, said := run(t, c); got.ExitCode != 0 {
		t.Fatalf("%+v %q", got, said)
	}
	for range 2 { // the second finds it remembered
		c.Confine = r.box()
		if got, said := run(t, c); got.ExitCode == 0 || !strings.HasPrefix(said, "no:") {
			t.Errorf("%+v %q", got, said)
		}
		testkit.Attack(t, "network", "dial a socket bound by a relative path")
	}
}

func TestTheTableOfSocketsIsRead(t *testing.T) {
	for line, want := range map[string]string{
		"Num       RefCount Protocol Flags    Type St Inode Path\n":                              "|",
		"ffff8880: 00000002 00000000 00010000 0001 01 16384 /run/a b\n":                          "16384|/run/a b",
		"ffff8880: 00000003 00000000 00000000 0001 03 16385\n":                                   "16385|",
		"ffff8880: 00000002 00000000 00010000 0001 01     7 relative/x\n":                        "7|relative/x",
		"0000000000000000: 00000002 00000000 00010000 0005 01 1234567 @/tmp/.X11-unix/X0\n":      "1234567|@/tmp/.X11-unix/X0",
		"0000000000000000: 00000002 00000000 00010000 0005 01 1234567 /a /b: 0001 2 3 4 5 6 7\n": "1234567|/a /b: 0001 2 3 4 5 6 7",
	} {
		if inode, path := parseSocketLine(line); inode+"|"+path != want {
			t.Errorf("%q: %s %s", line, inode, path)
		}
	}
}

// A command finds other files in place of some, and changes neither.
func TestFilesAreReplaced(t *testing.T) {
	dir, copies := t.TempDir(), visibleFolder(t)
	for name, text := range map[string]string{dir + "/file": "theirs", dir + "/folder/a": "theirs", copies + "/file": "ours", copies + "/folder/b": "ours"} {
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)))
	}
	boxes := []*Box{nil}
	if Available() == nil {
		boxes = append(boxes, &Box{Write: []string{dir}, Hide: []string{copies}})
	}
	for _, box := range boxes {
		cmd := sh(dir, `cat file folder/*; (echo changed > file; touch folder/c; rm -r folder; mv file other) 2>&- || exit 0`)
		cmd.Confine = box
		cmd.Replace = map[string]string{dir + "/file": copies + "/file", dir + "/folder": copies + "/folder"}
		if r, out := run(t, cmd); r.ExitCode != 0 || out != "oursours" {
			t.Errorf("confined %v: %+v %q", box != nil, r, out)
		}
		for name, want := range map[string]string{dir + "/file": "theirs", dir + "/folder/a": "theirs", copies + "/file": "ours", copies + "/folder/b": "ours", dir + "/folder/c": "", copies + "/folder/c": ""} {
			if text, _ := os.ReadFile(name); string(text) != want {
				t.Errorf("confined %v: %s is %q", box != nil, name, text)
			}
		}
	}
}

// playPoor is a user whom the kernel allows no namespaces, as on systems that switch
// them off: it says what it gets.
func playPoor() {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println("forbid namespaces:", err)
		os.Exit(1)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil { // of this thread, from which we fork
		fmt.Println("drop privileges:", err)
		os.Exit(1)
	}
	err := Available()
	fmt.Printf("confined: %t %v\n", fault.Is(err, fault.Denied), err)
	mark := "TREE=" + newMark()
	out := newScreen()
	cmd := sh("/", stubborn, mark)
	cmd.Output = out
	p, err := Start(context.Background(), cmd)
	if err != nil {
		fmt.Println("start:", err)
		os.Exit(1)
	}
	for !strings.Contains(out.String(), "ready") {
		<-out.more
	}
	for alive(mark) <= 4 { // the test that started this process ends it otherwise
		runtime.Gosched()
	}
	stood := alive(mark) > 4
	p.Kill()
	r, err := p.Wait()
	fmt.Printf("contained by %+v: %t %+v %v %d\n", p.way, stood, r, err, alive(mark))
}

func TestWithoutUserNamespaces(t *testing.T) {
	id := os.Geteuid()
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE}}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 65534, HostID: id, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 65534, HostID: os.Getegid(), Size: 1}}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"=poor")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	want := "contained by {Spaces:false User:false}: true {ExitCode:137 Signal:killed Killed:true Notes:} <nil> 0\n"
	if err != nil || !strings.HasPrefix(string(out), "confined: true commands cannot be confined") || !strings.HasSuffix(string(out), want) {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
}
