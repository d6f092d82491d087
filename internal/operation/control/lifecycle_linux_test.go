package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

const (
	roleVariable = "RAMET_LIFECYCLE_ROLE"
	homeVariable = "RAMET_LIFECYCLE_HOME"
	nobody       = 65534
)

// hello is what a kernel of these tests answers on each connection.
type hello struct {
	PID, Session int
	Folder       string
	Descriptors  []string // at its start
}

// init turns the test binary into a kernel or a client. TestMain is for the older tests.
func init() {
	role := os.Getenv(roleVariable)
	if role == "" {
		limitStart = func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, patience)
		}
		return
	}
	time.AfterFunc(2*patience, func() { os.Exit(9) }) // outlives no test run
	if err := playRole(role, os.Getenv(homeVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(fault.Exit(err))
	}
	os.Exit(0)
}

func playRole(role, home string) error {
	me := hello{PID: os.Getpid(), Descriptors: listDescriptors()}
	me.Session, _ = unix.Getsid(0)
	me.Folder, _ = os.Getwd()
	place, err := FindPlace(os.Getenv, home)
	if err != nil {
		return err
	}
	switch role {
	case "client":
		bufio.NewReader(os.Stdin).ReadString('\n')
		conn, err := place.Ensure(context.Background(), Start{Env: append(os.Environ(), roleVariable+"=kernel")})
		if err == nil {
			_, err = io.Copy(os.Stdout, conn)
		}
		return err
	case "misconfigured":
		return fault.New(fault.InvalidConfig, "the setting is wrong")
	case "silent":
		for i := range 12 {
			fmt.Printf("line %d\n", i)
		}
		notePID(home)
		select {}
	}
	restoreEvery = 10 * time.Millisecond
	l, err := place.Hold()
	if err != nil {
		return err
	}
	log, err := place.OpenLog()
	if err != nil {
		return err
	}
	notePID(home)
	if role == "crashing" {
		l.Working("/w/fine")()
		l.Working("/w/broken")
		log.maxSize = 10
		fmt.Fprintln(log, "one line before")
		fmt.Fprintln(log, "another file")
		panic("cannot go on")
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		l.Lived()
		l.Close()
	}()
	go Ready(os.Getenv)
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		json.NewEncoder(conn).Encode(me)
		conn.Close()
	}
}

func notePID(home string) {
	held, err := os.OpenFile(filepath.Join(home, "held"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(held, os.Getpid())
		held.Close()
	}
}

func listDescriptors() (out []string) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(target, "/proc/") {
			out = append(out, e.Name()+" "+target)
		}
	}
	return out
}

// site is a home with folders for sockets of its own.
type site struct {
	t    *testing.T
	home string
	env  []string
	Place
}

func newSite(t *testing.T) *site { return newSiteIn(t, t.TempDir()) }

func newSiteIn(t *testing.T, base string) *site {
	t.Helper()
	s := &site{t: t, home: filepath.Join(base, "home")}
	for name, mode := range map[string]os.FileMode{"run": 0o700, "tmp": 0o777, "home": 0o700} {
		path := filepath.Join(base, name)
		testkit.OK(t, errors.Join(os.MkdirAll(path, 0o700), os.Chmod(path, mode)))
	}
	s.env = []string{"XDG_RUNTIME_DIR=" + filepath.Join(base, "run"), "TMPDIR=" + filepath.Join(base, "tmp"), homeVariable + "=" + s.home}
	s.Place = testkit.Must(FindPlace(lookUp(s.env), s.home))(t)
	t.Cleanup(func() {
		for _, pid := range s.kernels() {
			syscall.Kill(pid, syscall.SIGKILL)
			s.waitGone(pid)
		}
	})
	return s
}

// kernels returns the processes that held the lock.
func (s *site) kernels() (pids []int) {
	held, _ := os.ReadFile(filepath.Join(s.home, "held"))
	for line := range strings.Lines(string(held)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitGone returns when the process is no longer there, not even as a zombie.
func (s *site) waitGone(pid int) {
	testkit.WaitUntil(s.t, "the process is gone", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
}

func (s *site) start(role string) Start {
	return Start{Env: append(slices.Clone(s.env), roleVariable+"="+role)}
}

// greet connects, starting a kernel if need be, and returns what the kernel says.
func (s *site) greet() (h hello) {
	conn, err := s.Ensure(s.t.Context(), s.start("kernel"))
	if err != nil {
		s.t.Error(err)
		return h
	}
	defer conn.Close()
	if err := json.NewDecoder(conn).Decode(&h); err != nil {
		s.t.Error(err)
	}
	return h
}

func TestTwentyClientsStartOneKernel(t *testing.T) { raceClients(t, 10) }

func TestTwentyClientsStartOneKernelSoak(t *testing.T) {
	testkit.SoakOnly(t)
	raceClients(t, 200)
}

func raceClients(t *testing.T, rounds int) {
	for range rounds {
		t.Run("round", func(t *testing.T) {
			s := newSite(t)
			pids := make([]int, 20)
			var clients sync.WaitGroup
			for i := range pids {
				clients.Go(func() { pids[i] = s.greet().PID })
			}
			clients.Wait()
			if held := s.kernels(); len(held) != 1 || len(slices.Compact(pids)) != 1 || pids[0] != held[0] {
				t.Errorf("%d held the lock, and %d answered", held, pids)
			}
		})
	}
}

func TestKernelIsDetached(t *testing.T) {
	s := newSite(t)
	leak, err := syscall.Open(filepath.Join(s.home, "leak"), os.O_CREATE|os.O_RDWR, 0o600) // without O_CLOEXEC
	testkit.OK(t, err)
	defer syscall.Close(leak)
	h := s.greet()
	if h.Session != h.PID || h.Folder != "/" {
		t.Errorf("%+v", h)
	}
	want := []string{"0 /dev/null", "1 " + s.Log(), "2 " + s.Log(), "3 pipe:"}
	for i, got := range h.Descriptors {
		ofRuntime := strings.Contains(got, " anon_inode:") || strings.Contains(got, " /sys/fs/cgroup/")
		if i >= len(want) && !ofRuntime || i < len(want) && !strings.HasPrefix(got, want[i]) {
			t.Errorf("descriptors %q, want %q", h.Descriptors, want)
		}
	}
	if log, err := os.Stat(s.Log()); err != nil || log.Mode() != 0o600 || len(h.Descriptors) < len(want) {
		t.Errorf("%v %v %q", log, err, h.Descriptors)
	}
}

func TestKernelIsStartedAgainAfterAKill(t *testing.T) {
	s := newSite(t)
	first := s.greet().PID
	syscall.Kill(first, syscall.SIGKILL)
	s.waitGone(first)
	if _, err := os.Lstat(s.Socket()); err != nil || s.Alive() {
		t.Fatalf("the socket is not stale: %v", err)
	}
	if _, err := s.Dial(t.Context()); !IsAbsent(err) {
		t.Errorf("%v", err)
	}
	second := s.greet().PID
	if second == first || len(s.Died()) != 1 {
		t.Errorf("%d after %d, %v", second, first, s.Died())
	}
	syscall.Kill(second, syscall.SIGTERM)
	s.waitGone(second)
	if _, err := os.Lstat(s.Socket()); !os.IsNotExist(err) || len(s.Died()) != 1 {
		t.Errorf("an orderly end: %v %v", err, s.Died())
	}
}

func TestKernelRestoresRemovedFiles(t *testing.T) {
	s := newSite(t)
	pid := s.greet().PID
	run := lookUp(s.env)("XDG_RUNTIME_DIR")
	for _, gone := range []string{s.Socket(), s.folder.lock(), s.folder.path, run} {
		os.RemoveAll(gone)
		testkit.WaitUntil(t, gone+" is made up for", func() bool {
			conn, err := s.Dial(t.Context())
			if err == nil {
				conn.Close()
			}
			return err == nil && s.Alive()
		})
		if got := s.greet().PID; got != pid {
			t.Errorf("without %s: kernel %d, want %d", gone, got, pid)
		}
	}
	// The runtime folder is made again at the next login, and the kernel is in the temporary one.
	testkit.OK(t, os.Mkdir(run, 0o700))
	if got := s.greet().PID; got != pid || len(s.kernels()) != 1 {
		t.Errorf("kernel %d, want %d", got, pid)
	}
	// Without its home a kernel has nothing to do.
	os.RemoveAll(s.home)
	os.RemoveAll(lookUp(s.env)("TMPDIR"))
	s.waitGone(pid)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestLockOutlivesTheAcceptor(t *testing.T) {
	s := newSite(t)
	l := testkit.Must(s.Hold())(t)
	if _, err := s.Hold(); !fault.Is(err, fault.Locked) {
		t.Errorf("a second kernel: %v", err)
	}
	os.Remove(s.folder.lock())
	if _, err := s.Hold(); !fault.Is(err, fault.Locked) {
		t.Errorf("a second kernel with a lock of its own: %v", err)
	}
	testkit.OK(t, l.restore())
	modes(t, s.folder.path, map[string]os.FileMode{".": 0o700 | os.ModeDir, "kernel.lock": 0o600 | os.ModeSticky,
		"kernel.sock": 0o600 | os.ModeSocket, "kernels": 0o600})
	l.Acceptor().Close()
	if _, err := s.Dial(t.Context()); !IsAbsent(err) || !s.Alive() {
		t.Errorf("%v, alive %v", err, s.Alive())
	}
	// A kernel that stops is waited for.
	limitWith(t, func() {})
	if _, err := s.Ensure(t.Context(), s.start("kernel")); !fault.Is(err, fault.TimedOut) || len(s.kernels()) != 0 {
		t.Errorf("%v", err)
	}
	l.Lived()
	l.Close()
	if s.Alive() || len(s.Died()) != 0 {
		t.Errorf("%v", s.Died())
	}
}

// limitWith ends the wait for a start when until returns.
func limitWith(t *testing.T, until func()) {
	old := limitStart
	t.Cleanup(func() { limitStart = old })
	limitStart = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			until()
			cancel()
		}()
		return ctx, cancel
	}
}

func TestLongPathsWork(t *testing.T) {
	s := newSiteIn(t, filepath.Join(t.TempDir(), strings.Repeat("long", 30)))
	if len(s.Socket()) <= 108 {
		t.Fatalf("%s is not long", s.Socket())
	}
	if s.greet().PID == 0 {
		t.Error("no kernel")
	}
}

func TestOtherUsersAreDisconnected(t *testing.T) {
	testkit.RootOnly(t)
	base := testkit.Must(os.MkdirTemp("", "ramet-peer"))(t)
	t.Cleanup(func() { os.RemoveAll(base) })
	s := newSiteIn(t, base)
	s.greet()
	for path := s.folder.path; path != filepath.Dir(base); path = filepath.Dir(path) {
		os.Chmod(path, 0o755) // as if the folders did not protect the socket
	}
	os.Chmod(s.Socket(), 0o666)
	got := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), nobody, ^uintptr(0))
		conn, err := net.Dial("unix", s.Socket())
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		got <- err
	}()
	if err := <-got; !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("another user got %v", err)
	}
}

func TestFindPlaceChoosesAndRefuses(t *testing.T) {
	base := t.TempDir()
	old := runUser
	defer func() { runUser = old }()
	runUser = filepath.Join(base, "user")
	own, uid := filepath.Join(runUser, fmt.Sprint(os.Geteuid())), os.Geteuid()
	outer := fmt.Sprintf("ramet-%d", uid)
	for name, c := range map[string]struct {
		prepare func(s *site) error
		want    string // start of the socket's path; empty: DENIED
		root    bool
	}{
		"the runtime folder":       {func(s *site) error { return nil }, "run/ramet/", false},
		"one that others can read": {func(s *site) error { return os.Chmod(s.folder.root, 0o755) }, "tmp/" + outer, false},
		"one that is missing":      {func(s *site) error { return os.Remove(s.folder.root) }, "tmp/" + outer, false},
		"another user's":           {func(s *site) error { return os.Chown(s.folder.root, nobody, nobody) }, "tmp/" + outer, true},
		"a link":                   {func(s *site) error { return os.Symlink(s.home, s.folder.root+"/ramet") }, "", false},
		"a folder that is too open": {func(s *site) error {
			return errors.Join(os.Mkdir(s.folder.root+"/ramet", 0o700), os.Chmod(s.folder.root+"/ramet", 0o770))
		}, "", false},
		"a linked last folder": {func(s *site) error {
			return errors.Join(os.Mkdir(s.folder.root+"/ramet", 0o700), os.Symlink(s.home, s.folder.path))
		}, "", false},
		"a temporary folder of another user": {func(s *site) error {
			squat := filepath.Join(lookUp(s.env)("TMPDIR"), outer)
			return errors.Join(os.Remove(s.folder.root), os.Mkdir(squat, 0o700), os.Chown(squat, nobody, nobody))
		}, "", true},
		"such a one next to a runtime folder": {func(s *site) error {
			squat := filepath.Join(lookUp(s.env)("TMPDIR"), outer)
			return errors.Join(os.Mkdir(squat, 0o700), os.Chown(squat, nobody, nobody))
		}, "run/ramet/", true},
		"a home of another user": {func(s *site) error { return os.Chown(s.home, nobody, nobody) }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root {
				testkit.RootOnly(t)
			}
			s := newSite(t)
			testkit.OK(t, c.prepare(s))
			p, err := FindPlace(lookUp(s.env), s.home)
			if c.want == "" {
				if !fault.Is(err, fault.Denied) {
					t.Errorf("%s %v", p.Socket(), err)
				}
				return
			}
			rest, err2 := filepath.Rel(filepath.Dir(s.home), p.Socket())
			if err != nil || err2 != nil || !strings.HasPrefix(rest, c.want) || exists(p.folder.path) {
				t.Errorf("%s %v %v, want %s, not created yet", rest, err, err2, c.want)
			}
		})
	}
	testkit.OK(t, os.MkdirAll(own, 0o700))
	link := filepath.Join(base, "link")
	os.Symlink(base, link)
	before, err1 := FindPlace(lookUp(nil), filepath.Join(link, "later", "home"))
	os.MkdirAll(filepath.Join(base, "later", "home"), 0o700)
	after, err2 := FindPlace(lookUp(nil), filepath.Join(base, "later", "home"))
	other, err3 := FindPlace(lookUp(nil), base)
	if err1 != nil || err2 != nil || err3 != nil || before.Socket() != after.Socket() || other.Socket() == after.Socket() ||
		!strings.HasPrefix(after.Socket(), own) {
		t.Errorf("%s %s %s, %v %v %v", before.Socket(), after.Socket(), other.Socket(), err1, err2, err3)
	}
}

func TestCrashLoopNamesWorkspaceAndLog(t *testing.T) {
	s := newSite(t)
	for range maxDeaths {
		_, err := s.Ensure(t.Context(), s.start("crashing"))
		if !fault.Is(err, fault.Failed) || IsCrashLoop(err) || !strings.Contains(err.Error(), "panic: cannot go on") {
			t.Fatalf("%v", err)
		}
	}
	_, err := s.Ensure(t.Context(), s.start("kernel"))
	if !IsCrashLoop(err) || !strings.Contains(err.Error(), "opened /w/broken") || !strings.Contains(err.Error(), s.Log()) || len(s.kernels()) != maxDeaths {
		t.Errorf("%v", err)
	}
	s.ForgetDeaths()
	if s.greet().PID == 0 || len(s.Died()) != 0 {
		t.Errorf("%v", s.Died())
	}
}

func TestOldDeathsDoNotCount(t *testing.T) {
	now := time.Now()
	got := recentDeaths([]Death{{Noticed: now.Add(-2 * deathWindow)}, {Noticed: now.Add(2 * deathWindow)}, {Noticed: now}, {}})
	if len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestFailedStartShowsTheLog(t *testing.T) {
	s := newSite(t)
	os.WriteFile(s.Log(), []byte("an old line\n"), 0o644)
	_, err := s.Ensure(t.Context(), s.start("misconfigured"))
	if !fault.Is(err, fault.Failed) || !strings.Contains(err.Error(), "exit status 2") || !strings.Contains(err.Error(), "the setting is wrong") ||
		strings.Contains(err.Error(), "old line") {
		t.Errorf("%v", err)
	}
	limitWith(t, func() {
		testkit.WaitUntil(t, "the log is written", func() bool {
			log, _ := os.ReadFile(s.Log())
			return bytes.Contains(log, []byte("line 11\n")) && len(s.kernels()) == 1
		})
	})
	_, err = s.Ensure(t.Context(), s.start("silent"))
	if !fault.Is(err, fault.TimedOut) || !strings.Contains(err.Error(), "\nline 2\n") || !strings.HasSuffix(err.Error(), "\nline 11") ||
		strings.Contains(err.Error(), "line 1\n") {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(s.Log()); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestReplacedProgramStartsItsOwnCode(t *testing.T) {
	s := newSite(t)
	program := filepath.Join(s.home, "program")
	if err := os.Link("/proc/self/exe", program); err != nil {
		self, err := os.ReadFile("/proc/self/exe")
		testkit.OK(t, errors.Join(err, os.WriteFile(program, self, 0o700)))
	}
	client := exec.Command(program)
	client.Env = s.start("client").Env
	in, err1 := client.StdinPipe()
	out, err2 := client.StdoutPipe()
	client.Stderr = os.Stderr
	testkit.OK(t, errors.Join(err1, err2, client.Start(), os.WriteFile(program+".new", []byte("#!/bin/false\n"), 0o700), os.Rename(program+".new", program)))
	in.Close()
	var h hello
	err := json.NewDecoder(out).Decode(&h)
	if err = errors.Join(err, client.Wait()); err != nil || h.PID == 0 || h.PID == client.Process.Pid {
		t.Errorf("%+v %v", h, err)
	}
}

func TestLogRotates(t *testing.T) {
	s := newSite(t)
	l := &Log{path: s.Log(), maxSize: 1000, redirect: func(*os.File) {}}
	testkit.OK(t, l.open())
	defer l.Close()
	line := []byte(strings.Repeat("x", 99) + "\n")
	var writers sync.WaitGroup
	for range 10 {
		writers.Go(func() {
			for range 5 {
				l.Write(line)
			}
		})
	}
	writers.Wait()
	files := map[string]os.FileMode{".": 0o700 | os.ModeDir, "server.log": 0o600, "server.log.1": 0o600, "server.log.2": 0o600}
	modes(t, s.home, files)
	delete(files, ".")
	for name := range files {
		if text, err := os.ReadFile(filepath.Join(s.home, name)); err != nil || !bytes.Equal(text, bytes.Repeat(line, 10)) {
			t.Errorf("%s has %d bytes, %v", name, len(text), err)
		}
	}
}

func TestKernelRunsInAScopeIfLogindEndsProcesses(t *testing.T) {
	s := newSite(t)
	programs, linger := systemFolders, lingerFolder
	defer func() { systemFolders, lingerFolder = programs, linger }()
	systemFolders, lingerFolder = []string{t.TempDir()}, t.TempDir()
	s.env = append(s.env, "USER=ada")
	write := func(path, text string) {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o700))
	}
	check := func(wantScope bool, wantNote string) {
		t.Helper()
		program, note := CheckLogout(t.Context(), lookUp(s.env))
		if (program != "") != wantScope || wantNote == "" && note != "" || !strings.Contains(note, wantNote) {
			t.Errorf("%q %q", program, note)
		}
	}
	busctl, run := filepath.Join(systemFolders[0], "busctl"), filepath.Join(systemFolders[0], "systemd-run")
	write(busctl, "#!/bin/sh\necho b true\n")
	check(false, "") // there is no systemd
	os.Mkdir(s.folder.root+"/systemd", 0o700)
	check(false, "KillUserProcesses=no")
	write(run, "#!/bin/sh\nexit 1\n")
	check(true, "enable-linger")
	write(filepath.Join(lingerFolder, "ada"), "")
	check(true, "")
	first := s.greet().PID // systemd-run fails
	syscall.Kill(first, syscall.SIGTERM)
	s.waitGone(first)
	write(run, "#!/bin/sh\necho $1 $2 $3 $4 >"+s.home+"/scope; shift 4; exec \"$@\"\n")
	if second := s.greet().PID; second == 0 || second == first {
		t.Errorf("kernel %d", second)
	}
	if used, err := os.ReadFile(s.home + "/scope"); err != nil || string(used) != "--user --scope --quiet --\n" {
		t.Errorf("%q %v", used, err)
	}
	write(busctl, "#!/bin/sh\necho b false\n")
	check(false, "")
}

// A second name of a program stays what it was when another file takes its place.
func TestAKeptProgramStays(t *testing.T) {
	dir := t.TempDir()
	program, second, newer := filepath.Join(dir, "ramet"), filepath.Join(dir, "kept"), filepath.Join(dir, "newer")
	for path, text := range map[string]string{program: "old", newer: "new", second: "left by a kernel that died"} {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o700))
	}
	testkit.OK(t, errors.Join(keepFile(program, second), os.Rename(newer, program)))
	if text, err := os.ReadFile(second); string(text) != "old" {
		t.Errorf("%q %v", text, err)
	}
}
