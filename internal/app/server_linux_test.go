package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/probe"
)

// server asks the background kernel what it does.
func (w *world) server() (out public.BackgroundKernel) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.ramet("server", "status", "--json")), &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// A terminal whose kernel keeps dying says so, and no longer starts it. It connects to one that its user starts.
func TestATerminalStopsStartingAKernelThatDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.open(130, 24)
	x.see("[0]")
	for range 3 {
		testkit.WaitUntil(t, "a kernel has a client", func() bool { now := w.server(); return len(now.Workspaces) == 1 && now.Workspaces[0].Clients > 0 })
		w.killServer()
	}
	x.see("keeps dying: it died 3 times within a minute", "server.log")
	if w.server().Running {
		t.Error("it was started again")
	}
	w.ramet("server", "restart")
	x.see("Reconnected to the background kernel.")
	x.leave()
}

// A kernel that comes too late ends. The one that runs refuses to stop while an agent works, and leaves nothing when it ends.
func TestAKernelLeavesNothing(t *testing.T) {
	t.Parallel()
	runtime := t.TempDir()
	w := newWorld(t, "XDG_RUNTIME_DIR="+runtime)
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	w.ramet("server", "start")
	late := w.start("server", "run")
	late.Run() // its exit code tells its starter to connect to the other one
	log, err := os.ReadFile(filepath.Join(w.home, "ramet", "server.log"))
	if err != nil || late.ProcessState.ExitCode() != 4 || strings.Contains(string(log), "error[") || !strings.Contains(string(log), "was started first") {
		t.Errorf("one that came too late: %v, %v\n%s", late.ProcessState, err, log)
	}
	x := w.open(90, 24)
	x.see("[0]")
	x.say("run sleep 1000")
	x.see("wants to run")
	if out, err := w.start("server", "stop").CombinedOutput(); err == nil || !strings.Contains(string(out), "error[CONFLICT]") || !strings.Contains(string(out), "--force") {
		t.Errorf("it stopped under an agent: %s", out)
	}
	x.signal(syscall.SIGKILL)
	x.ends()
	w.ramet("server", "stop", "--force")
	if now := w.server(); now.Running {
		t.Errorf("it runs: %+v", now)
	}
	if left, err := filepath.Glob(filepath.Join(runtime, "ramet", "*")); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// A kernel that nothing keeps ends by itself.
func TestAnIdleKernelEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RAMET_SERVER_IDLE=1s")
	w.ramet("server", "start")
	testkit.WaitUntil(t, "it ends", func() bool { return !w.server().Running })
	log, err := os.ReadFile(filepath.Join(w.home, "ramet", "server.log"))
	if err != nil || !strings.Contains(string(log), "ends: nothing happened for 1s") {
		t.Errorf("the log says %q, %v", log, err)
	}
}

// A kernel that ends while it is asked is one that no longer runs: reading commands say so, others start the next one.
func TestAKernelEndsWhileItIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ramet("server", "start")
	w.ramet("server", "stop")
	getenv := func(name string) string {
		for _, pair := range w.env {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
	place := testkit.Must(control.FindPlace(getenv, filepath.Join(w.home, "ramet")))(t)
	for _, args := range [][]string{{"server", "status"}, {"ps"}, {"exec", "hello"}} {
		testkit.OK(t, os.MkdirAll(filepath.Dir(place.Socket()), 0o700)) // the kernel removed it
		ending := testkit.Must(net.Listen("unix", place.Socket()))(t)
		go func() {
			conn, err := ending.Accept()
			ending.Close() // which removes the socket
			if err == nil {
				io.ReadFull(conn, make([]byte, 4)) // the request is there, and no answer comes
				conn.Close()
			}
		}()
		if out := w.ramet(args...); args[0] == "server" && !strings.Contains(out, "No background kernel runs") {
			t.Errorf("%s: %s", args, out)
		}
	}
}

// Files of a turn have the modes that the umask of its client says, whatever that of the kernel is.
func TestTheUmaskIsTheClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	under := func(umask string, args ...string) {
		t.Helper()
		cmd := exec.Command("sh", append([]string{"-c", `umask "$0"; exec "$@"`, umask, w.exe}, args...)...)
		cmd.Dir, cmd.Env = w.project, w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	calls := `"steps": [{"call": "bash", "args": {"command": "touch free; mkdir by", "outside": "to see"}}, {"call": "bash", "args": {"command": "touch confined"}}, ` +
		`{"call": "write", "args": {"path": "made/on/way", "content": "text"}}]}`
	forks := func(umask string) string {
		return `{"when": "child of ` + umask + `", "steps": [{"call": "fork", "args": {"prompt": "rest", "name": "made-` + umask + `", "worktree": true}}]}`
	}
	testkit.WriteFile(t, filepath.Join(w.project, "tracked"), "text")
	for _, args := range [][]string{{"init", "-q"}, {"add", "tracked"}, {"commit", "-q", "-m", "one"}} {
		testkit.Git(t, w.project, args...)
	}
	w.script(forks("0002"), forks("0027"), forks("0077"), `{"when": "of 0002", `+calls, `{"when": "of 0027", `+calls, `{"when": "of 0077", `+calls, `{"repeat": true, "steps": [{"text": "done"}]}`)
	under("0077", "mode", "0", "box")
	under("0077", "server", "start")
	for umask, want := range map[string][2]os.FileMode{"0002": {0o664, 0o775}, "0027": {0o640, 0o750}, "0077": {0o600, 0o700}} {
		under(umask, "exec", "--fork", "--allow", "bash!(touch free; mkdir by)", "--allow", "bash", "--allow", "write", "of "+umask)
		for i, names := range [][]string{{"free", "confined", "made/on/way"}, {"by", "made", "made/on"}} {
			for _, name := range names {
				if info, err := os.Stat(filepath.Join(w.project, name)); err != nil {
					t.Error(err)
				} else if info.Mode().Perm() != want[i] {
					t.Errorf("umask %s: %s is %v", umask, name, info.Mode())
				}
			}
		}
		for _, name := range []string{"free", "confined", "by", "made"} {
			os.RemoveAll(filepath.Join(w.project, name))
		}
		// git makes the files of a worktree: for a command, and in a turn.
		under(umask, "fork", "--worktree", "--name", "by-"+umask)
		under(umask, "exec", "--no-wait", "--fork", "--name", "of-"+umask, "--allow", "fork", "child of "+umask)
		for _, name := range []string{"by-" + umask, "made-" + umask} {
			var made struct{ Cwd string }
			if err := json.Unmarshal([]byte(w.ramet("show", name, "--json")), &made); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(filepath.Join(made.Cwd, "tracked")); err != nil || info.Mode().Perm() != want[0] {
				t.Errorf("umask %s: in the worktree of %s: %v %v", umask, name, info, err)
			}
		}
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(w.server().PID), "status"))
	if err != nil || !strings.Contains(string(status), "Umask:\t0077\n") {
		t.Errorf("the kernel's own umask changed: %v", err)
	}
}

// in returns the world as it is in another project of the same home.
func (w *world) in(project string) *world {
	w.t.Helper()
	other := *w
	other.project = filepath.Join(filepath.Dir(w.project), project)
	if err := os.MkdirAll(filepath.Join(other.project, ".ramet"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return &other
}

// A sync of the disk that fails closes a workspace for good, even if the next one would succeed. Others are not
// disturbed; when nothing keeps them, the kernel ends, and the next one opens the workspace again.
func TestAFailedSyncClosesTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.in("other")
	w.ramet("append", "0", "hello")
	other.ramet("append", "0", "hello")
	cmd := exec.Command(w.exe, "server", "run")
	cmd.Env = append(slices.Clone(w.env), probe.FailAt+"=wal/sync:5=EIO")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.WaitUntil(t, "it runs", func() bool { return w.server().Running })
	x := other.open(90, 24)
	x.see("[0]")
	unsynced := func() (written int) {
		t.Helper()
		for range 10 {
			if out, err := w.start("append", "0", "more").CombinedOutput(); err != nil {
				if !strings.Contains(string(out), "error[STORAGE_IO]") || !strings.Contains(string(out), "did not confirm a write") {
					t.Errorf("%s", out)
				}
				break
			}
			written++
		}
		return written
	}
	before := unsynced()
	if again := unsynced(); again > 0 || before == 10 {
		t.Fatalf("%d were written, and %d after the failure", before, again)
	}
	testkit.WaitUntil(t, "it is closed", func() bool {
		return slices.ContainsFunc(w.server().Workspaces, func(one public.HeldWorkspace) bool { return one.Failed != "" })
	})
	x.say("hello")
	x.see("[offline model]", " idle ")
	x.leave()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the kernel ends with %v", err)
	}
	w.ramet("append", "0", "more")
	w.ramet("verify")
}

// A kernel of another version keeps its databases as they are: clients are refused, and nothing is migrated. At a terminal
// an idle one is restarted.
func TestAKernelOfAnotherVersionIsRestartedOrLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	place, err := control.FindPlace(func(name string) string {
		for _, pair := range w.env {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}, filepath.Join(w.home, "ramet"))
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := place.Hold()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(out http.ResponseWriter, _ *http.Request) {
		io.WriteString(out, `{"output": {"running": true, "version": "0.0.9", "workspaces": []}}`)
	})
	mux.HandleFunc("POST /stop", func(out http.ResponseWriter, _ *http.Request) {
		io.WriteString(out, `{}`)
		time.AfterFunc(time.Millisecond, func() { kernel.Lived(); kernel.Close() })
	})
	go http.Serve(kernel.Acceptor(), mux)

	old, err := os.ReadFile(filepath.Join(upgraded, "ramet.db"))
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(w.home, "old.db")
	w.write(db, string(old))
	for _, args := range [][]string{{"exec", "--no-tools", "hello", "--db", db}, {"server", "start"}, {"web"}} {
		if out, err := w.start(args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "error[CONFLICT]: the background kernel is version 0.0.9") {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
	if now, err := os.ReadFile(db); err != nil || !bytes.Equal(now, old) {
		t.Errorf("the database was changed: %v", err)
	}
	x := w.open(130, 24, "--db", db)
	x.see("version 0.0.9", "restart it? [y/N]")
	x.press("y", enter)
	x.see("[0]")
	x.leave()
}

// A workspace on a server that hangs delays no other: each is asked over connections and in goroutines of its own.
func TestAHangingServerDelaysNoOtherWorkspace(t *testing.T) {
	t.Parallel()
	network := pgtest.Through(t, pgtest.URL(t))
	w := newWorld(t)
	remote := w.in("remote")
	remote.env = append(slices.Clone(w.env), "RAMET_DB="+network.URL)
	w.ramet("server", "start")
	// fastest returns the shortest time in which a command is carried out: others use the processor as well.
	fastest := func() time.Duration {
		least := time.Hour
		for range 15 {
			began := time.Now()
			w.ramet("append", "0", "hello")
			least = min(least, time.Since(began))
		}
		return least
	}
	remote.ramet("append", "0", "hello")
	before := fastest()
	network.Stall(true)
	defer network.Stall(false)
	hanging := remote.start("append", "0", "hello")
	if err := hanging.Start(); err != nil {
		t.Fatal(err)
	}
	if after := fastest(); after > 3*before {
		t.Errorf("a command takes %s, and %s while the other server hangs", before, after)
	}
	if now := w.server(); len(now.Workspaces) != 2 {
		t.Errorf("it holds %+v", now.Workspaces)
	}
	network.Stall(false)
	if err := hanging.Wait(); err != nil {
		t.Errorf("the command that hung ends with %v", err)
	}
}

// An agent at work, an open question, a kept command and a client keep the kernel, each without the others.
func TestWhatKeepsTheKernel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate, open := newGate(t, w, "gate")
	w.script(`{"when": "think", "steps": [{"text": "a long thought begins"}, {"wait": "`+gate+`"}, {"text": ", and its end"}]}`,
		`{"when": "question", "steps": [{"call": "bash", "args": {"command": "echo made it"}}]}`, `{"when": "made it", "steps": [{"text": "it is made"}]}`,
		`{"when": "keep", "steps": [{"call": "bash", "args": {"command": "echo ready; sleep 1000", "background": true}}]}`,
		`{"when": "Command 1 runs", "steps": [{"text": "job started"}]}`)
	keeps := func(what string, is func(public.HeldWorkspace) bool) {
		t.Helper()
		testkit.WaitUntil(t, what, func() bool {
			now := w.server()
			return len(now.Workspaces) == 1 && is(now.Workspaces[0]) && now.IdleUntil == nil
		})
	}
	idle := func() {
		t.Helper()
		testkit.WaitUntil(t, "nothing keeps it", func() bool { return w.server().IdleUntil != nil })
	}
	say := func(line, shown string) {
		t.Helper()
		x := w.open(130, 24)
		x.see("[0]")
		keeps("a client", func(one public.HeldWorkspace) bool {
			return one.Clients > 0 && one.Working+one.Commands+one.Questions == 0
		})
		x.say(line)
		x.see(shown)
		x.signal(syscall.SIGHUP)
		x.ends()
	}
	say("think", "a long thought")
	keeps("an agent at work", func(one public.HeldWorkspace) bool { return one.Working == 1 && one.Clients == 0 })
	open()
	idle()
	say("question", "wants to run")
	keeps("a question", func(one public.HeldWorkspace) bool { return one.Questions == 1 && one.Clients == 0 })
	x := w.open(130, 24)
	x.decide("Allow once")
	x.see("it is made", " idle ")
	x.leave()
	idle()
	w.ramet("config", "set", "allow", "bash")
	say("keep", "job started")
	keeps("a command", func(one public.HeldWorkspace) bool { return one.Commands == 1 && one.Working == 0 && one.Clients == 0 })
}

// A command line that a command of an agent gives is carried out by the kernel that works for the agent, with the rights of
// the agent and the model of the client. For the background kernel, see TestTheKernelKnowsWhoseCommandAsks.
func TestACommandOfAnAgentRunsInItsKernel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inner := w.exe + ` exec kid hello; ` + w.exe + ` fork --name own; ` + w.exe + ` kill bob; ` + w.exe + ` server stop --force`
	command := fmt.Sprintf(`{"call": "bash", "args": {"command": %q, "outside": "it acts on agents"}}`, inner)
	w.script(`{"when": "begin", "steps": [`+command+`]}`, `{"when": "hello", "steps": [{"text": "the kid is here"}]}`, `{"repeat": true, "steps": [{"text": "done"}]}`)
	w.ramet("fork", "--name", "ada")
	w.ramet("fork", "ada", "--name", "kid")
	w.ramet("fork", "--name", "bob")
	w.ramet("exec", "ada", "--allow", "bash!("+inner+")", "begin")
	log := w.ramet("log", "ada", "--own", "--json")
	for _, want := range []string{"the kid is here", "error[DENIED]: kill bob", "error[DENIED]: stop the background kernel"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	if list := w.ramet("ps"); !strings.Contains(list, "own") || !strings.Contains(list, "bob") {
		t.Errorf("%s\n%s", list, log)
	}
}

// The kernel knows from the connection which agent's command asks. A request that names another agent has the limits of its
// own, confined or not; a confined command sees only its kernel's socket, on which it can do what the agent can do over MCP.
func TestTheKernelKnowsWhoseCommandAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ramet("fork", "--name", "ada")
	w.ramet("fork", "ada", "--name", "kid")
	bob := strings.TrimSpace(w.ramet("fork", "--name", "bob"))
	ask := func(socket, path string) string {
		claims := fmt.Sprintf(`{"Version": "0.1.0-dev", "Agent": %q, "Args": ["kill", "bob"]}`, bob)
		return "curl -sS -N --max-time 20 --unix-socket " + socket + " -H Ramet-Control:4 -H Connection:Upgrade -H Upgrade:ramet -d '" + claims + "' http://kernel" + path
	}
	const denied, deniedFrame = "error[DENIED]", "ZXJyb3JbREVOSUVEX"
	tries := []struct{ command, free, boxed string }{
		{w.exe + " fork --name $1", "", ""},
		{w.exe + " kill bob", denied, denied},
		{w.exe + " exec kid hello", "the kid is here", denied},
		{w.exe + " backup $1.db", "copied to", denied},
		{w.exe + " fork ada --name $1run --prompt hello --run", "the kid is here", denied},
		{w.exe + " log ada -n 1", "assistant", "assistant"},
		{ask("$socket", "/command"), deniedFrame, deniedFrame},
		{ask("$socket", "/states"), "", "DENIED"},
		{"curl -sS --max-time 20 --unix-socket $socket http://kernel/status", "CONFLICT", "CONFLICT"},
		{w.exe + " server stop --force", denied, denied},
		{"ls " + filepath.Join(w.home, "ramet", "kernels"), "", "No such file"},
	}
	var script strings.Builder
	fmt.Fprintf(&script, "socket=${RAMET_SOCKET:-$(echo %s/ramet/kernels/*/*.sock)}\n", w.home)
	for i, try := range tries {
		fmt.Fprintf(&script, "{ %s; } > $1.%d 2>&1\n", try.command, i)
	}
	w.write("try.sh", script.String())
	w.script(wants("free", "sh try.sh free", "it acts on agents"), wants("boxed", "sh try.sh boxed"),
		`{"when": "hello", "repeat": true, "steps": [{"text": "the kid is here"}]}`, `{"repeat": true, "steps": [{"text": "done"}]}`)
	w.ramet("mode", "ada", "box")
	w.ramet("server", "start")
	for _, how := range []string{"free", "boxed"} {
		w.ramet("exec", "ada", "--allow", "bash!(sh try.sh free)", how)
		for i, try := range tries {
			out, err := os.ReadFile(filepath.Join(w.project, fmt.Sprintf("%s.%d", how, i)))
			want := map[string]string{"free": try.free, "boxed": try.boxed}[how]
			if err != nil || !strings.Contains(string(out), want) || want == "" && strings.Contains(string(out), "error") {
				t.Errorf("%s: %s: %v: %s", how, try.command, err, out)
			}
			if strings.Contains(want, "DENIED") || try.boxed == "No such file" {
				testkit.Attack(t, "voice", how+": "+strings.ReplaceAll(strings.ReplaceAll(try.command, w.home, "HOME"), w.exe, "ramet"))
			}
		}
	}
	sockets, err := filepath.Glob(filepath.Join(w.home, "ramet", "kernels", "*", "*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatal(sockets, err)
	}
	if out, err := exec.Command("sh", "-c", ask(sockets[0], "/command")).CombinedOutput(); err != nil || !strings.Contains(string(out), "DENIED") {
		t.Errorf("another process: %v: %s", err, out)
	}
	list := w.ramet("ps")
	for _, name := range []string{"bob", "free", "freerun", "boxed"} {
		if !strings.Contains(list, name+" ") {
			t.Errorf("%s is not there:\n%s", name, list)
		}
	}
	if strings.Contains(list, "boxedrun") {
		t.Error(list)
	}
}
