package app_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	book "ramet/internal/ledger"
	"ramet/internal/run/ndjson"
	"ramet/internal/store/sqlite"
	records "ramet/internal/telemetry/store"
	"ramet/internal/testkit"
)

// Power is lost at many moments of a day on which ramet was told
// of everything that it keeps: histories, forks, letters, the log of a run, the ledger,
// telemetry. What the programs wrote was recorded; of what they had not waited for, any part
// may be on the disk. Whatever they had said to be done is there, once; the rest is there once
// or not at all; and everything verifies.
func TestPowerLossImagesSoak(t *testing.T) {
	testkit.SoakOnly(t)
	exe := testkit.Must(built())(t)
	images := 50
	if testkit.SoakOn() {
		images = 700
	}
	d := newDay(t, exe)
	d.happen()
	t.Logf("%d calls were recorded", len(d.tape.motions))
	dice := rand.New(rand.NewPCG(testkit.SoakSeed(t), 1))
	sum, all := 0, d.tape.acknowledged(len(d.tape.motions))
	for _, kind := range []string{"append", "exec", "fork", "send", "run", "init", "ledger", "telemetry"} {
		if !all[kind+" "+kind+"-1"] {
			t.Errorf("nothing is known to have been acknowledged for %s: the test shows nothing", kind)
		}
	}
	var ends []int
	for i, m := range d.tape.motions {
		if m.kind == didRemove && strings.HasSuffix(m.name, "-wal") {
			ends = append(ends, i)
		}
	}
	into := filepath.Join(t.TempDir(), "image")
	for i := 0; i < images && !t.Failed(); i++ {
		n := 1 + dice.IntN(len(d.tape.motions))
		switch {
		case i == 0:
			n = len(d.tape.motions)
		case i%3 == 0: // the log has ended, and is wiped for the next
			n = min(len(d.tape.motions), ends[dice.IntN(len(ends))]+1+dice.IntN(8))
		}
		d.tape.image(n, into, dice)
		said, wrong := d.check(n, into, i%20 == 0)
		if sum += said; len(wrong) > 0 {
			t.Errorf("power was lost before call %d of %d:\n%s", n, len(d.tape.motions), strings.Join(wrong, "\n"))
		}
	}
	// Where nothing is waited for, something is lost: else this test shows nothing.
	d.tape.lies = true
	for i := 0; ; i++ {
		d.tape.image(len(d.tape.motions), into, dice)
		if _, wrong := d.check(len(d.tape.motions), into, false); len(wrong) > 0 {
			break
		}
		if i == 50 {
			t.Error("a disk that lies loses nothing")
			break
		}
	}
	t.Logf("%d images; %d times something had been acknowledged and was there", images, sum)
}

// day is a world in which everything that programs write is recorded.
type day struct {
	t    *testing.T
	exe  string
	dir  string
	tape *tape
	// wrong is what is not as it should be in the image that is looked at.
	wrong []string
}

func newDay(t *testing.T, exe string) *day {
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	return &day{t: t, exe: exe, dir: dir, tape: newTape(t, dir)}
}

// times is how often each thing is done.
const times = 2

// happen does everything.
func (d *day) happen() {
	d.tape.folders[".git"] = true
	d.tape.add(motion{kind: didFolder, name: ".git"})
	d.tape.add(motion{kind: didSettle, name: "."})
	testkit.OK(d.t, os.Mkdir(filepath.Join(d.dir, ".git"), 0o700))
	d.do("", "fork", "--name", "ada")
	d.do("", "run", "init", "--run-id", "r")
	for n := range times {
		token := func(kind string) string { return fmt.Sprintf("%s-%d", kind, n) }
		d.do("append "+token("append"), "append", "ada", token("append"))
		d.do("exec "+token("exec"), "exec", "ada", token("exec"), "--no-tools") // a turn commits several times
		d.do("fork "+token("fork"), "fork", "ada", "--name", token("fork"))
		d.do("send "+token("send"), "send", "ada", token("send"))
		d.do("run "+token("run"), "run", "append", "r", "--type", "GATE_RUN_STARTED", "--payload", `{"gate":"`+token("run")+`"}`)
		d.do("init "+token("init"), "run", "init", "--run-id", token("init"))
		d.do("ledger "+token("ledger"), "track", "spawn", "--type", "t", "--plan", "1", "--group", "g", "--id", token("ledger"))
	}
	d.tell()
}

func (d *day) command(trace string, args ...string) *exec.Cmd {
	cmd := exec.Command("strace", append([]string{"-D", "-f", "-y", "-xx", "-q", "-s", "4194304", "-o", trace, "-e", "trace=" + imageCalls,
		d.exe, "--db", filepath.Join(d.dir, "ramet.db")}, args...)...)
	cmd.Dir, cmd.Env = d.dir, append(environment(filepath.Join(d.dir, "ramet.db")), "GOMAXPROCS=1")
	return cmd
}

// do carries out a command, and records it. What it prints acknowledges what.
func (d *day) do(what string, args ...string) {
	d.t.Helper()
	trace := filepath.Join(d.t.TempDir(), "trace")
	cmd := d.command(trace, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("%v: %v %s", args, err, out)
	}
	d.ended(trace, cmd.Process.Pid)
	d.tape.read(trace, func(fd int, _ []byte) (string, bool) { return what, fd == 1 && what != "" })
}

// ended waits until strace has written everything down.
func (d *day) ended(trace string, pid int) {
	d.t.Helper()
	end := regexp.MustCompile(fmt.Sprintf(`(?m)^%d +\+\+\+ exited with`, pid)) // short numbers stand before more room
	testkit.WaitUntil(d.t, "the record ends", func() bool {
		text, err := os.ReadFile(trace)
		return err == nil && end.Match(text)
	})
}

// tell has a server keep telemetry.
func (d *day) tell() {
	d.t.Helper()
	trace := filepath.Join(d.t.TempDir(), "trace")
	cmd := d.command(trace, "serve", "--addr", "127.0.0.1:0")
	d.t.Run("serve", func(t *testing.T) { // whose end stops it
		s := serveWith(t, cmd, filepath.Join(d.dir, "home", ".local", "share", "ramet"))
		for n := range times {
			body := fmt.Sprintf(`{"event_id":"%s","run_id":"x%d","agent_name":"a","job_type":"llm_call","start_time":"2026-01-01T00:00:00Z"}`, eventID(n), n)
			if status := s.ask("POST", "/api/v1/runs", body, &struct{}{}); status != 201 {
				t.Fatalf("status %d", status)
			}
		}
		cmd.Process.Signal(syscall.SIGINT)
	})
	d.ended(trace, cmd.Process.Pid)
	n := 0
	d.tape.read(trace, func(_ int, data []byte) (string, bool) {
		if !bytes.HasPrefix(data, []byte("HTTP/1.1 201")) {
			return "", false
		}
		n++
		return fmt.Sprintf("telemetry telemetry-%d", n-1), true
	})
}

func eventID(n int) string { return fmt.Sprintf("11111111-2222-4333-8444-55555555555%d", n) }

// check compares an image with what was said before call n, and gives how much that was.
// whole: the program itself looks, too.
func (d *day) check(n int, dir string, whole bool) (said int, wrong []string) {
	d.wrong = nil
	there := map[string]int{}
	d.histories(dir, there)
	d.log(dir, there)
	d.ledger(dir, there)
	d.telemetry(dir, there)
	acknowledged := d.tape.acknowledged(n)
	for what := range acknowledged {
		if there[what] == 0 {
			d.bad("%s was acknowledged and is not there", what)
		}
	}
	for what, n := range there {
		if n > 1 {
			d.bad("%s is there %d times", what, n)
		}
	}
	if whole && len(acknowledged) > 0 {
		d.whole(dir, acknowledged)
	}
	return len(acknowledged), d.wrong
}

func (d *day) bad(format string, args ...any) {
	d.wrong = append(d.wrong, fmt.Sprintf(format, args...))
}

// whole lets the program verify an image.
func (d *day) whole(dir string, said map[string]bool) {
	for _, args := range [][]string{{"verify"}, {"run", "verify", "r"}, {"track", "list"}} {
		if args[0] == "run" && !said["run run-0"] {
			continue
		}
		cmd := exec.Command(d.exe, append([]string{"--db", filepath.Join(dir, "ramet.db")}, args...)...)
		cmd.Dir, cmd.Env = dir, environment(filepath.Join(dir, "ramet.db"))
		if out, err := cmd.CombinedOutput(); err != nil {
			d.bad("%v: %v %s", args, err, out)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (d *day) histories(dir string, there map[string]int) {
	db := filepath.Join(dir, "ramet.db")
	if !exists(db) {
		return
	}
	ctx := d.t.Context()
	ws, err := sqlite.Open(ctx, db, sqlite.Options{Cwd: dir})
	if err != nil {
		d.bad("open: %v", err)
		return
	}
	defer ws.Close()
	if _, err := ws.Audit(ctx, nil); err != nil {
		d.bad("verify: %v", err)
	}
	agents, err := ws.Agents(ctx, agent.Filter{})
	if err != nil {
		d.bad("%v", err)
		return
	}
	for _, a := range agents {
		there["fork "+a.Name]++
		for e, err := range ws.QueryRange(ctx, history.Range{Agent: a.ID}, history.Selection{}) {
			if err != nil {
				d.bad("%v", err)
				return
			}
			parts, err := e.Parts()
			if err != nil {
				d.bad("%v", err)
				return
			}
			for _, p := range parts {
				if kind, _, ok := strings.Cut(p.Text, "-"); ok && (kind == "append" || kind == "exec") && e.Kind == history.User {
					there[kind+" "+p.Text]++
				}
			}
		}
		letters, err := ws.Letters(ctx, a.ID, mail.Filter{})
		if err != nil {
			d.bad("%v", err)
			return
		}
		for _, l := range letters {
			there["send "+l.Body]++
		}
	}
	delete(there, "fork ") // those that have no name
}

func (d *day) log(dir string, there map[string]int) {
	runs, err := filepath.Glob(filepath.Join(dir, ".ramet", "runs", "*", "events.ndjson"))
	if err != nil {
		d.bad("%v", err)
		return
	}
	for _, path := range runs {
		w, err := ndjson.OpenWriter(context.Background(), path)
		if err != nil {
			d.bad("%s: %v", path, err)
			continue
		}
		for e, err := range w.Events(d.t.Context(), 0) {
			if err != nil {
				d.bad("%s: %v", path, err)
				break
			}
			switch {
			case e.Type == "RUN_CREATED":
				there["init "+filepath.Base(filepath.Dir(path))]++
			case e.Type == "GATE_RUN_STARTED":
				_, rest, _ := strings.Cut(string(e.Payload), `"gate":"`)
				gate, _, _ := strings.Cut(rest, `"`)
				there["run "+gate]++
			}
		}
		if err := w.Close(); err != nil {
			d.bad("%v", err)
		}
	}
}

func (d *day) ledger(dir string, there map[string]int) {
	v, err := book.FolderAt(filepath.Join(dir, ".ramet"), book.FolderOptions{}).Read(d.t.Context())
	if err != nil {
		d.bad("the ledger: %v", err)
		return
	}
	for _, e := range v.Entries() {
		there["ledger "+e.ID]++
	}
}

func (d *day) telemetry(dir string, there map[string]int) {
	path := filepath.Join(dir, "home", ".local", "share", "ramet", "telemetry.db")
	if !exists(path) {
		return
	}
	s, err := records.OpenFile(d.t.Context(), path)
	if err != nil {
		d.bad("telemetry: %v", err)
		return
	}
	defer s.Close()
	for n := range times {
		switch _, err := s.Get(d.t.Context(), eventID(n)); {
		case err == nil:
			there[fmt.Sprintf("telemetry telemetry-%d", n)]++
		case !fault.Is(err, fault.NotFound):
			d.bad("telemetry: %v", err)
		}
	}
}
