package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestACommandRuns(t *testing.T) {
	dir := t.TempDir()
	for _, w := range usable() {
		for _, c := range []struct {
			script string
			code   int
			signal syscall.Signal
			out    string
		}{
			{"echo out; echo err >&2; echo again", 0, 0, "out\nerr\nagain\n"},
			{"pwd; exit 7", 7, 0, dir + "\n"},
			{"kill -SEGV $$", 128 + 11, syscall.SIGSEGV, ""},
			{"cat; echo $A $HOME; trap", 0, 0, "b\n"}, // no input, nothing inherited, nothing ignored
			{"sleep 1000 & echo $((1+1))", 0, 0, "2\n"},
			{"(exec <&- >&- 2>&-; sleep 1000) & exit 3", 3, 0, ""},
		} {
			out := newScreen()
			cmd := sh(dir, c.script, "A=b")
			cmd.Output = out
			r, err := start(t, w, cmd).Wait()
			if err != nil || r != (Result{ExitCode: c.code, Signal: c.signal}) || out.String() != c.out {
				t.Errorf("%+v: %s: %+v %v %q", w, c.script, r, err, out)
			}
		}
	}
}

func TestTextsArriveAsTheyAre(t *testing.T) {
	dir := t.TempDir() + "/a\xff\nb"
	testkit.OK(t, os.Mkdir(dir, 0o755))
	cmd := sh(dir, `printf '%s|%s|%s' "$1" "$A" "$(pwd)"`, "A=\xfe\"<&>", "PWD=")
	cmd.Args = append(cmd.Args, "sh", "\xfd\u2028 -x")
	if _, out := run(t, cmd); out != "\xfd\u2028 -x|\xfe\"<&>|"+dir {
		t.Errorf("%q", out)
	}
}

func TestNoDescriptorAndNoGoroutineIsLeft(t *testing.T) {
	count := func() int {
		files := testkit.Must(os.ReadDir("/proc/self/fd"))(t)
		return len(files)
	}
	dir := t.TempDir()
	run(t, sh(dir, "true")) // what the runtime opens for itself
	files, routines := count(), runtime.NumGoroutine()
	for range 10 {
		run(t, sh(dir, "true"))
		c := sh(dir, "true")
		c.Confine = &Box{Write: []string{dir}}
		run(t, c)
		c.Args = []string{dir}
		if _, err := Start(t.Context(), c); err == nil {
			t.Error("a folder was run")
		}
	}
	eventually(t, "all is closed", func() bool { return count() <= files && runtime.NumGoroutine() <= routines })
}

func TestAnInitThatIsSignalledGoesOn(t *testing.T) {
	out := newScreen()
	cmd := sh(t.TempDir(), `kill -TERM 1; kill -HUP 1; kill -STOP 1; kill -KILL 1; kill -QUIT 1; echo here; ls /proc | grep -c '^[0-9]*$'`)
	cmd.Output = out
	r, err := start(t, usable()[0], cmd).Wait()
	if err != nil || r.ExitCode != 0 || !strings.HasPrefix(out.String(), "here\n") {
		t.Errorf("%+v %v %q", r, err, out)
	}
	var n int
	if fmt.Sscan(strings.TrimPrefix(out.String(), "here\n"), &n); n < 1 || n > 5 {
		t.Errorf("%d processes in a /proc of its own", n)
	}
}

func TestWhatCannotBeRunIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		c    Command
		code fault.Code
	}{
		{Command{Dir: dir}, fault.Usage},
		{sh("relative", "true"), fault.Usage},
		{sh(dir+"/missing", "true"), fault.Failed},
		{Command{Args: []string{"no-such-program"}, Dir: dir, Env: []string{sandboxPath}}, fault.NotFound},
		{Command{Args: []string{"sh"}, Dir: dir}, fault.NotFound}, // no PATH
		{Command{Args: []string{dir}, Dir: dir}, fault.Failed},
		{sh(dir, "true", "A=\x00"), fault.InvalidText},
		{Command{Args: []string{"/bin/sh"}, Dir: dir, Confine: &Box{Write: []string{"/"}}}, fault.Denied},
		{Command{Args: []string{"/bin/sh"}, Dir: dir, Confine: &Box{Write: []string{dir + "/missing"}}}, fault.NotFound},
	} {
		p, err := Start(t.Context(), c.c)
		if p != nil || !fault.Is(err, c.code) {
			t.Errorf("%q: %v, want %s", c.c.Args, err, c.code)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ended, sh(dir, "touch made")); !fault.Is(err, fault.Cancelled) {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/made"); err == nil {
		t.Error("it ran")
	}
}

// stubborn is a tree that does all it can to outlive its killer. It says when it
// stands.
const stubborn = `
trap '' TERM INT HUP QUIT
(setsid sh -c 'trap "" TERM HUP; sleep 100000 & sleep 100000; sleep 100000' >/dev/null 2>&1 &)
nohup sleep 100000 >/dev/null 2>&1 &
(setsid sh -c 'sleep 100000 & kill -STOP $!; kill -STOP $$' &)
(sh -c '(sh -c "(setsid sh -c \"(sleep 100000 &) ; exec sleep 100000\" &)" &)' &)
echo ready
while :; do sleep 100000; done
`

// alive counts the processes with a text in their environment.
func alive(mark string) int { return len(processesWithMark(mark)) }

func TestManyStubbornTreesAreGone(t *testing.T) {
	many := 12
	if testkit.SoakOn() {
		many = 64
	}
	for _, w := range usable() {
		mark := "TREE=" + newMark()
		trees := make([]*Process, many)
		for i := range trees {
			out := newScreen()
			cmd := sh("/", stubborn, mark)
			cmd.Output = out
			trees[i] = start(t, w, cmd)
			out.await(t, "ready")
		}
		eventually(t, "the trees stand", func() bool { return alive(mark) >= many*8 })
		for _, p := range trees {
			p.Kill()
		}
		for _, p := range trees {
			r, err := p.Wait()
			if err != nil || !r.Killed || r.Signal != syscall.SIGKILL {
				t.Errorf("%+v: %+v %v", w, r, err)
			}
		}
		if n := alive(mark); n != 0 {
			t.Errorf("%+v: %d processes are left", w, n)
		}
		testkit.Attack(t, "outlive", fmt.Sprintf("many trees that ignore signals, killed %+v", w))
	}
}

func TestManyStubbornTreesAreGoneSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestManyStubbornTreesAreGone(t)
}

func TestTheEndOfTheContextKills(t *testing.T) {
	for _, w := range usable() {
		mark := "TREE=" + newMark()
		ctx, cancel := context.WithCancel(t.Context())
		out := newScreen()
		cmd := sh("/", stubborn, mark)
		cmd.Output = out
		p := testkit.Must(startIn(ctx, w, cmd))(t)
		out.await(t, "ready")
		cancel()
		if r, err := p.Wait(); err != nil || !r.Killed || alive(mark) != 0 {
			t.Errorf("%+v: %+v %v, %d left", w, r, err, alive(mark))
		}
		testkit.Attack(t, "outlive", fmt.Sprintf("a tree that ignores signals, cancelled %+v", w))
		p.Kill() // is allowed
	}
}

func TestWhatTheCommandLeftBehindIsGone(t *testing.T) {
	for _, w := range usable() {
		mark := "TREE=" + newMark()
		cmd := sh("/", strings.ReplaceAll(stubborn, "while :; do sleep 100000; done", "exit 4"), mark)
		if r, err := start(t, w, cmd).Wait(); err != nil || r.ExitCode != 4 || r.Killed || alive(mark) != 0 {
			t.Errorf("%+v: %+v %v, %d left", w, r, err, alive(mark))
		}
		testkit.Attack(t, "outlive", fmt.Sprintf("what a command leaves behind %+v", w))
	}
}

// Without namespaces the command can kill its helper. Its children are found by the
// mark in their environment.
func TestACommandThatKillsItsHelperIsFound(t *testing.T) {
	mark := "TREE=" + newMark()
	p, err := startIn(t.Context(), way{}, sh("/", `setsid sleep 100000 & kill -KILL $PPID; sleep 100000`, mark))
	if err == nil { // the helper could still say that it runs
		_, err = p.Wait()
	}
	if !strings.Contains(fmt.Sprint(err), "helper ended early") || alive(mark) != 0 {
		t.Errorf("%v, %d left", err, alive(mark))
	}
	testkit.Attack(t, "outlive", "kill the helper")
}

// playRamet starts a tree, says so, and waits to be killed.
func playRamet(args []string) {
	var w way
	var box *Box
	fmt.Sscanf(args[0], "%t,%t", &w.Spaces, &w.User)
	script := stubborn
	if args[0] == "box" {
		box = &Box{Write: []string{args[2]}}
	}
	if args[0] == "guard" || args[0] == "overlay" {
		box = &Box{Write: []string{args[2]}, Hide: []string{args[3]}, Guard: args[3] + "/quarantine", Guarded: []string{args[2]}}
		script = "mkdir -p a/b; echo x > a/b/.envrc; git init -q a/repo; git -C a/repo config core.fsmonitor x;" + stubborn
	}
	if args[0] == "overlay" {
		box.Overlay = &Overlay{Dir: args[3] + "/overlay"}
	}
	out := newScreen()
	cmd := sh(args[2], script, args[1])
	cmd.Output, cmd.Confine = out, box
	var err error
	if box != nil {
		_, err = Start(context.Background(), cmd)
	} else {
		_, err = startIn(context.Background(), w, cmd)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for !strings.Contains(out.String(), "ready") {
		<-out.more
	}
	fmt.Println("ready")
	select {}
}

func TestNothingSurvivesTheSIGKILLOfRamet(t *testing.T) {
	kinds := []string{"box"}
	for _, w := range usable() {
		kinds = append(kinds, fmt.Sprintf("%t,%t", w.Spaces, w.User))
	}
	for _, kind := range kinds {
		mark := "TREE=" + newMark()
		temp, work := t.TempDir(), t.TempDir() // work is below /tmp, where the helper removes the command's files
		testkit.OK(t, os.WriteFile(work+"/mine", nil, 0o600))
		ramet := exec.Command("/proc/self/exe", kind, mark, work)
		ramet.Env = append(os.Environ(), role+"=ramet", "TMPDIR="+temp)
		out := newScreen()
		ramet.Stdout, ramet.Stderr = out, out
		testkit.OK(t, ramet.Start())
		out.await(t, "ready")
		eventually(t, kind+": its processes are there", func() bool { return alive(mark) >= 4 })
		ramet.Process.Signal(syscall.SIGKILL)
		ramet.Wait()
		eventually(t, kind+": all are gone", func() bool { return alive(mark) == 0 })
		eventually(t, kind+": the temporary folder is gone", func() bool {
			left, err := os.ReadDir(temp)
			return err == nil && len(left) == 0
		})
		testkit.Must(os.Stat(work + "/mine"))(t)
		testkit.Attack(t, "outlive", "SIGKILL of ramet, "+kind)
	}
}

func TestEndlessOutputNeitherFillsNorStalls(t *testing.T) {
	var n counter
	cmd := sh("/", "head -c 300000000 /dev/zero")
	cmd.Output = &n
	if r, err := start(t, usable()[0], cmd).Wait(); err != nil || r.ExitCode != 0 || n != 300000000 {
		t.Errorf("%+v %v %d", r, err, n)
	}
	cmd.Output = failing{} // the command goes on
	if r, err := start(t, usable()[0], cmd).Wait(); err != nil || r.ExitCode != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAPipeInStrangeHandsDoesNotHoldTheEnd(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	defer w.Close() // stays open, as a daemon would hold it
	out := newScreen()
	d := newDrain(r, out)
	w.WriteString("kept")
	d.finish()
	if out.String() != "kept" {
		t.Errorf("%q", out)
	}
}

// TestAsAnOrdinaryUser runs all of this once more, when we are root, as somebody who
// is not.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // then everything else here is that test
	}
	const nobody = 65534
	dir := testkit.Must(os.MkdirTemp("/tmp", "ramet-nobody-"))(t)
	defer os.RemoveAll(dir)
	testkit.OK(t, os.Chown(dir, nobody, nobody))
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.timeout=1h")
	cmd.Env = []string{sandboxPath, "TMPDIR=" + dir, "HOME=" + dir, testkit.AttackEnvironment()}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
}

// playMarked says which mark it bears.
func playMarked() {
	m, ok := Marked()
	fmt.Printf("%v %x\n", ok, m[:])
}

// Whatever a command does to get rid of it, it bears its mark; and the mark of a command that
// it starts for somebody else is the other's.
func TestAMarkLasts(t *testing.T) {
	if m, ok := Marked(); ok {
		t.Skipf("this test runs in a command of %x", m[:])
	}
	// A copy: an ordinary user cannot reach the folder of the test binary.
	program, err := os.ReadFile("/proc/self/exe")
	self := filepath.Join(t.TempDir(), "self")
	if err == nil {
		err = os.WriteFile(self, program, 0o700)
	}
	testkit.OK(t, err)
	mark := Mark{1, 2, 3, 0, 255, 38}
	want := fmt.Sprintf("true %x", mark[:])
	for _, line := range []string{
		`SANDBOX_TEST_ROLE=marked "$0"`,
		`env -i SANDBOX_TEST_ROLE=marked setsid "$0"`,
		`(SANDBOX_TEST_ROLE=marked "$0" &) ; sleep 1`,
		`SANDBOX_TEST_ROLE=marked unshare --user --pid --fork --mount-proc "$0" || SANDBOX_TEST_ROLE=marked "$0"`,
	} {
		var out bytes.Buffer
		p := testkit.Must(Start(t.Context(), Command{Args: []string{"sh", "-c", line, self}, Dir: t.TempDir(), Env: os.Environ(), Output: &out, For: &mark}))(t)
		if _, err := p.Wait(); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %q, want %q", line, err, out.String(), want)
		}
	}
	var out bytes.Buffer
	p := testkit.Must(Start(t.Context(), Command{Args: []string{"sh", "-c", `SANDBOX_TEST_ROLE=marked "$0"`, self}, Dir: t.TempDir(), Env: os.Environ(), Output: &out}))(t)
	if _, err := p.Wait(); err != nil || !strings.HasPrefix(out.String(), "false ") {
		t.Errorf("one for nobody: %v, %q", err, out.String())
	}
}

// Cleaning up finds a process by its ancestors, by a whole mark in its environment, or by a namespace that is not ours.
func TestProcessesThatAreCleanedUp(t *testing.T) {
	mark, short := newMark(), "SHORT="+strings.Repeat("x", len(markName)+19-len("SHORT="))
	cmd := exec.Command("/bin/sh", "-c", "sleep 100000 & echo ready; wait")
	cmd.Env = []string{sandboxPath, mark, short}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	testkit.OK(t, err)
	defer cmd.Wait()
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	both := processesWithMark(mark)
	for len(both) < 2 && t.Context().Err() == nil { // the second one may be about to become sleep, and shows no environment then
		time.Sleep(time.Millisecond)
		both = processesWithMark(mark)
	}
	if slices.Sort(both); len(both) != 2 || both[0] != cmd.Process.Pid {
		t.Fatalf("%v have the mark of %d", both, cmd.Process.Pid)
	}
	below := findDescendants(os.Getpid())
	if !slices.Contains(below, both[0]) || !slices.Contains(below, both[1]) || slices.Contains(below, os.Getpid()) || slices.Contains(below, os.Getppid()) {
		t.Errorf("%v are below %d, not %v", below, os.Getpid(), both)
	}
	if found := findDescendants(both[1]); len(found) != 0 {
		t.Errorf("%v are below one without children", found)
	}
	if parent, ok := parentOf(both[1]); parent != both[0] || !ok {
		t.Errorf("the parent of %v is %d", both, parent)
	}
	if parent, ok := parentOf(-1); ok {
		t.Errorf("the parent of none is %d", parent)
	}
	for _, text := range []string{mark[:len(mark)-1], mark[1:], short} {
		if found := processesWithMark(text); found != nil {
			t.Errorf("%v have the mark %s", found, text)
		}
	}
	ours := testkit.Must(os.Open("/proc/self/ns/pid"))(t)
	defer ours.Close()
	if found := append(processesOfNamespace(ours), processesOfNamespace(nil)...); found != nil {
		t.Errorf("processes of our own namespace: %v", found)
	}
}

// A command that stays is spoken with over its own pipes; what it complains goes elsewhere.
func TestACommandIsSpokenWith(t *testing.T) {
	for _, confine := range []*Box{nil, {Network: true}} {
		if confine != nil && Available() != nil {
			continue
		}
		inR, inW, err := os.Pipe()
		testkit.OK(t, err)
		outR, outW, err := os.Pipe()
		testkit.OK(t, err)
		errs := newScreen()
		cmd := sh(t.TempDir(), `echo ready >&2; while read -r line; do echo "heard $line"; done; echo bye >&2; exit 3`)
		cmd.Speaks, cmd.Output, cmd.Confine = &Speech{In: inR, Out: outW}, errs, confine
		p := testkit.Must(Start(t.Context(), cmd))(t)
		answers := bufio.NewReader(outR)
		for _, word := range []string{"one", "two"} {
			testkit.Must(inW.WriteString(word + "\n"))(t)
			if line, err := answers.ReadString('\n'); line != "heard "+word+"\n" {
				t.Errorf("%q, %v", line, err)
			}
		}
		inW.Close()
		if r, err := p.Wait(); err != nil || r.ExitCode != 3 {
			t.Errorf("%+v, %v", r, err)
		}
		if errs.String() != "ready\nbye\n" {
			t.Errorf("complained %q", errs)
		}
		if _, err := answers.ReadByte(); err == nil {
			t.Error("its end is still open")
		}
		outR.Close()
	}
}
