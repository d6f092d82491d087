package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// office is a script in which agent 0 forks boss and waits for mail; boss forks
// workers; boss and workers each run a command for ever.
func office(t *testing.T, s *stage, workers int) string {
	forks := make([]string, workers)
	for i := range forks {
		forks[i] = fmt.Sprintf(`{"call": "fork", "args": {"name": "w%d", "prompt": "toil"}}`, i)
	}
	toil := `[{"call": "bash", "args": {"command": "` + stubborn + `echo toiling; ` + forever + `"}}]`
	return s.script(t,
		`{"when": "begin", "steps": [{"call": "fork", "args": {"name": "boss", "prompt": "hire"}}]}`,
		`{"when": "(boss) is your child", "steps": [{"call": "wait", "args": {"timeout": 600}}]}`,
		`{"when": "was killed", "steps": [{"text": "so be it"}]}`,
		`{"when": "hire", "steps": [`+strings.Join(forks, ", ")+`]}`,
		`{"when": ") is your child", "steps": `+toil+`}`,
		`{"when": "toil", "repeat": true, "steps": `+toil+`}`)
}

// toiling waits until that many agents run their commands.
func (r *running) toiling(t *testing.T, count int) {
	t.Helper()
	at := map[string]bool{}
	r.need(t, "everybody toils", func(l seen) bool {
		if prints("toiling")(l) {
			at[string(l.Agent)] = true
		}
		return len(at) == count
	})
}

func TestNothingOfAKilledSubtreeRuns(t *testing.T) {
	t.Parallel()
	const workers = 15
	s := newStage(t, binary(t))
	r := s.exec(t, "--model", office(t, s, workers), "begin")
	r.toiling(t, workers+1)
	if n := len(s.survivors()); n < 4*(workers+1) {
		t.Fatalf("only %d processes run", n)
	}
	began := time.Now()
	told := s.must(t, "kill", "boss", "--cascade", "--reason", "enough", "--json")
	left := s.survivors() // at once, but for agent 0
	t.Logf("killed in %s", time.Since(began))
	delete(left, r.cmd.Process.Pid)
	if len(left) > 0 && r.cmd.ProcessState == nil {
		t.Errorf("when kill returned these ran: %v", left)
	}
	var killed struct {
		Killed []string
	}
	if err := json.Unmarshal([]byte(told), &killed); err != nil || len(killed.Killed) != workers+1 {
		t.Fatalf("%v: %s", err, told)
	}
	r.end(t, 0)
	if all := r.all(); all[len(all)-1].Outcome == nil || all[len(all)-1].Outcome.Text != "so be it" {
		t.Errorf("agent 0 ended otherwise:%s", r.told())
	}
	for _, dead := range killed.Killed {
		all, err := s.history(dead)
		if err != nil {
			t.Fatal(err)
		}
		if last := all[len(all)-1]; last.Kind != "killed" {
			t.Errorf("the history of %s ends with %+v", dead, last)
		}
	}
	var box struct{ Letters []struct{ Body string } }
	if err := json.Unmarshal([]byte(s.must(t, "mail", "--json")), &box); err != nil || len(box.Letters) != 1 {
		t.Errorf("agent 0 has not one letter: %v %+v", err, box)
	}
	s.must(t, "verify")
}

func TestATurnOnAFullDisk(t *testing.T) {
	t.Parallel()
	exe := binary(t)
	testkit.MountInside(t, func() {
		s := newStage(t, exe)
		disk := s.dir + "/disk"
		testkit.OK(t, os.Mkdir(disk, 0o700))
		testkit.MountSmall(t, disk, "700k")
		s.db = disk + "/ramet.db"
		noise := `{"repeat": true, "steps": [{"text": "more "}, {"call": "bash", "args": {"command": "` + stubborn + `head -c 9000 /dev/urandom | base64 -w 100"}}]}`
		r := s.exec(t, "--model", s.script(t, noise), "go")
		r.end(t, 6)
		if r.code() != "STORAGE_FULL" || !strings.Contains(r.stderr.String(), "STORAGE_FULL") {
			t.Errorf("it says%s\n%s", r.told(), &r.stderr)
		}
		if left := s.survivors(); len(left) > 0 {
			t.Errorf("these run: %v", left)
		}
		s.must(t, "verify")
		all, err := s.history("0")
		if err != nil {
			t.Fatal(err)
		}
		if err := acknowledged(r, all); err != nil {
			t.Error(err)
		}
		back := s.script(t, `{"repeat": true, "steps": [{"text": "I am back."}]}`)
		testkit.OK(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT, "size=3m"))
		s.must(t, "exec", "--model", back, "and now?")
		if all, err = s.history("0"); err != nil {
			t.Fatal(err)
		}
		if err := answered(all); err != nil {
			t.Error(err)
		}
		if err := acknowledged(r, all); err != nil {
			t.Error(err)
		}
		s.must(t, "verify")
	})
}

// stop is SIGSTOP, and returns when it has stopped.
func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cmd.Process.Signal(syscall.SIGSTOP)
	stopped(t, r.cmd.Process.Pid)
}

// stopped waits until a signal that stops a process has taken effect.
func stopped(t *testing.T, pid int) {
	t.Helper()
	stat := fmt.Sprintf("/proc/%d/stat", pid)
	testkit.WaitUntil(t, "it stops", func() bool {
		text, _ := os.ReadFile(stat)
		return strings.Contains(string(text), ") T ")
	})
}

// When we say killed, nothing runs; where that cannot be said, we do not say it.
func TestAKillThatAStoppedHolderDoesNotHear(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	r := s.exec(t, "--model", office(t, s, 2), "begin")
	r.toiling(t, 3)
	r.stop(t)
	began := time.Now()
	out := s.ramet("kill", "boss", "--cascade")
	t.Logf("after %s: %s", time.Since(began), out.stderr)
	if out.code != 4 || out.stdout != "" || !strings.Contains(out.stderr, fmt.Sprintf(":%d:", r.cmd.Process.Pid)) {
		t.Errorf("exit code %d: %s%s", out.code, out.stdout, out.stderr)
	}
	r.cmd.Process.Signal(syscall.SIGCONT)
	r.end(t, 0) // it finds its children dead
	if left := s.survivors(); len(left) > 0 {
		t.Errorf("these run: %v", left)
	}
	s.must(t, "kill", "boss")
	s.must(t, "verify")
}
