package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// driveRow is one thing that a program is to do: try says how it did it, for the table, or fails.
type driveRow struct {
	what string
	try  func(*testing.T, *drive) string
}

var driveRows = []driveRow{
	{"version, and what it advertises", advertises},
	{"a turn: its words are in the history, with session and who says so", isHeard},
	{"a command that no rule permits", isRefused},
	{"a command that a rule permits: call, result and the changed file are in the history", isPermitted},
	{"the next process takes the session up", isTakenUp},
	{"a child goes on", isForked},
	{"goes on with the conversation of another driver", continues},
	{"ramet's tools are offered to its model", hasTools},
	{"100 turns: what ramet counted is what was served; it reported", isCounted},
	{"stopped in the middle of a command: nothing alive", isStopped},
	{"`kill --cascade` in the middle of a command: nothing alive", isKilled},
	{"SIGKILL of ramet in the middle of a command: nothing alive; then: interrupted, nothing repeated", isOrphaned},
	{"a loop of calls stops at the budget", isBounded},
}

func advertises(t *testing.T, d *drive) string {
	var all struct {
		Drivers []struct {
			Name, State, Version string
			Why                  *string
			Asks, Boxed          bool
			Can                  []string
		}
	}
	testkit.OK(t, json.Unmarshal([]byte(d.must(t, "drivers", d.name, "--json")), &all))
	for _, one := range all.Drivers {
		if one.Name != d.name {
			continue
		}
		if one.State != "ready" {
			t.Errorf("%+v", one)
		}
		t.Logf("%+v", one)
		return one.Version + ": " + strings.Join(one.Can, ", ")
	}
	t.Fatal("it is not listed")
	return ""
}

func isHeard(t *testing.T, d *drive) string {
	d.must(t, "fork", "--name", "first", "--driver", d.name)
	if told := d.must(t, "exec", "first", "the fruit is a plum"); !strings.Contains(told, "answer") {
		t.Errorf("it says %q", told)
	}
	log := d.must(t, "log", "first", "--own", "--json")
	said := regexp.MustCompile(`"driver":\{"attested":"reported","name":"` + d.name + `","session":"[^"]+","version":"[^"]+"\}`)
	if !said.MatchString(log) || !strings.Contains(log, `"attested":"wire"`) {
		t.Errorf("its history:\n%s", log)
	}
	return "yes"
}

// exists says whether there is such a file of the project.
func (d *drive) exists(name string) bool {
	_, err := os.Stat(filepath.Join(d.dir, name))
	return err == nil
}

func isRefused(t *testing.T, d *drive) string {
	out := d.ramet("exec", "first", d.asks("touch refused"))
	if d.exists("refused") {
		t.Error("it ran")
	}
	if out.code != 7 {
		t.Errorf("exit code %d: %s%s", out.code, out.stdout, out.stderr)
	}
	if d.free == "" {
		return "asked, and refused"
	}
	d.must(t, "exec", "first", d.run("touch refused"))
	if d.exists("refused") {
		t.Error("its own sandbox let it write")
	}
	return "asked, and refused; what it does not ask for its own sandbox keeps from writing, inside our namespace"
}

func isPermitted(t *testing.T, d *drive) string {
	d.must(t, append([]string{"exec", "first", d.asks("touch permitted")}, d.allow("touch permitted")...)...)
	d.must(t, append([]string{"exec", "first", d.run("seq -s x 41 43")}, d.allow("seq -s x 41 43")...)...)
	if !d.exists("permitted") {
		t.Error("it did not run")
	}
	log := d.must(t, "log", "first", "--own", "--json")
	for _, want := range []string{`"kind":"tool_result"`, `"type":"tool_call"`, "touch permitted", `"kind":"files"`, `"changed":1`} {
		if !strings.Contains(log, want) {
			t.Errorf("its history lacks %s:\n%s", want, log)
		}
	}
	if told := strings.Contains(log, "41x42x43"); told == d.mute {
		t.Errorf("what the command printed is told: %v\n%s", told, log)
	}
	cell := "yes"
	if d.permits != "" {
		cell += ", with `" + d.permits + "`: " + d.why
	}
	if d.mute {
		cell += "; what a command printed it does not tell"
	}
	return cell
}

func isTakenUp(t *testing.T, d *drive) string {
	d.must(t, "exec", "first", "which fruit?")
	if asked := d.model.asked(); !strings.Contains(asked, "plum") || strings.Count(asked, "which fruit?") != 1 {
		t.Errorf("its model was asked\n%s", asked)
	}
	if strings.Contains(d.must(t, "log", "first", "--own", "--json"), `"rendered":true`) {
		return "in words"
	}
	return "its own session"
}

func isForked(t *testing.T, d *drive) string {
	d.must(t, "fork", "first", "--name", "second")
	d.must(t, "exec", "second", "and this one?")
	if asked := d.model.asked(); !strings.Contains(asked, "plum") || !strings.Contains(asked, "and this one?") {
		t.Errorf("its model was asked\n%s", asked)
	}
	if strings.Contains(d.must(t, "log", "second", "--own", "--json"), `"rendered":true`) {
		return "in words"
	}
	return "in a fork of the session"
}

func continues(t *testing.T, d *drive) string {
	d.must(t, "fork", "--name", "ours")
	d.must(t, "exec", "ours", "--model", d.script(t, `{"steps": [{"text": "the colour is mauve"}]}`), "which colour?")
	d.must(t, "fork", "ours", "--name", "theirs", "--driver", d.name)
	d.must(t, "exec", "theirs", "tell me more")
	if asked := d.model.asked(); !strings.Contains(asked, "mauve") {
		t.Errorf("its model was asked\n%s", asked)
	}
	return "in words"
}

var offeredTool = regexp.MustCompile(`"(mcp__ramet__|ramet_|ramet__|mcp_ramet_)(fork|send)"|"name":"mcp__ramet"`)

func hasTools(t *testing.T, d *drive) string {
	d.must(t, "exec", "first", "what can you do?")
	found := offeredTool.FindString(d.model.asked())
	if found == "" {
		t.Errorf("its model was asked\n%s", d.model.asked())
	}
	if d.name == "goose" { // it asks for each; those on agents need no rule
		if d.must(t, "exec", "first", `call ramet__send {"to":"0","body":"from goose"}`); !strings.Contains(d.must(t, "mail", "0", "--json"), "from goose") {
			t.Errorf("its letter did not come:\n%s", d.must(t, "log", "first", "--own", "--json"))
		}
	}
	return "yes, as " + found
}

// turns lets an agent answer so often.
func (s *stage) turns(t *testing.T, name string, n int) {
	t.Helper()
	const atOnce = 20 // of one process
	for done := 0; done < n; done += atOnce {
		b := connect(t, s.over())
		for i := range min(atOnce, n-done) {
			if _, refusal := b.call("prompt", fmt.Sprintf(`{"agent":%q,"text":"hello %d"}`, name, done+i)); refusal != "" {
				t.Fatal(refusal)
			}
		}
		b.session.Close()
	}
}

func isCounted(t *testing.T, d *drive) string {
	d.must(t, "fork", "--name", "many", "--driver", d.name)
	before := d.model.served.Load()
	d.turns(t, "many", 100)
	served := d.model.served.Load() - before
	if got := d.spent(t, "many").Tokens; got != served {
		t.Errorf("%d tokens are counted, and %d were served", got, served)
	}
	var all struct {
		Agents []struct {
			Name   *string
			Driven *struct {
				Reported *struct{ Tokens int64 }
			}
		}
	}
	listed := d.must(t, "ps", "--json")
	testkit.OK(t, json.Unmarshal([]byte(listed), &all))
	t.Log(listed)
	for _, a := range all.Agents {
		if a.Name == nil || *a.Name != "many" || a.Driven == nil || a.Driven.Reported == nil {
			continue
		}
		if r := a.Driven.Reported.Tokens; r != served {
			return fmt.Sprintf("yes; %d of %d tokens", r, served)
		}
		return "yes; the same"
	}
	return "yes; nothing"
}

// sleeps lets an agent run a command that takes long, and gives its seconds, which are nobody else's.
func (d *drive) sleeps(t *testing.T, name string) (*running, string) {
	t.Helper()
	d.must(t, "fork", "--name", name, "--driver", d.name)
	long := fmt.Sprintf("8%d%d", os.Getpid(), stages.Add(1))
	r := d.exec(t, append([]string{name, d.run("true; sleep " + long)}, d.allow("true; sleep "+long)...)...)
	testkit.WaitUntil(t, "its command runs", func() bool {
		if r.cmd.ProcessState != nil {
			t.Fatalf("it ended before:%s\n%s", r.told(), &r.stderr)
		}
		return len(tools("sleep\x00"+long)) > 0
	})
	r.need(t, "the call stands in the history", func(l seen) bool { return l.Type == "call_started" }) // Codex tells of it after it began
	return r, long
}

// gone demands that nothing of it is alive.
func (d *drive) gone(t *testing.T, long string, since time.Time) string {
	t.Helper()
	if err := d.quiet(patience); err != nil {
		t.Error(err)
	}
	took := time.Since(since)
	if left := tools(long); len(left) > 0 {
		t.Errorf("these run: %v", left)
	}
	return fmt.Sprintf("yes, after %.1f s", took.Seconds())
}

func isStopped(t *testing.T, d *drive) string {
	r, long := d.sleeps(t, "stopped")
	since := time.Now()
	r.cmd.Process.Signal(syscall.SIGINT)
	r.end(t, 130)
	return d.gone(t, long, since)
}

func isKilled(t *testing.T, d *drive) string {
	r, long := d.sleeps(t, "killed")
	since := time.Now()
	d.must(t, "kill", "killed", "--cascade")
	if !r.ends() {
		t.Fatalf("it does not end:%s", r.told())
	}
	return d.gone(t, long, since)
}

func isOrphaned(t *testing.T, d *drive) string {
	r, long := d.sleeps(t, "orphaned")
	r.kill()
	told := d.gone(t, long, time.Now())
	d.must(t, "exec", "orphaned", "what now?")
	log := d.must(t, "log", "orphaned", "--own", "--json")
	for what, want := range map[string]int{`"kind":"interrupted"`: 1, `"text":"interrupted: outcome unknown"`: 1, `"kind":"user"`: 2} {
		if got := strings.Count(log, what); got != want {
			t.Errorf("%q stands %d times in the history, not %d:\n%s", what, got, want, log)
		}
	}
	if left := tools("sleep\x00" + long); len(left) > 0 {
		t.Error("it was repeated")
	}
	if strings.Contains(log, `"rendered":true`) {
		return told + "; goes on in words"
	}
	return told + "; goes on in its session"
}

func isBounded(t *testing.T, d *drive) string {
	const reads, limit = 20_000, 500_000
	d.model.reads.Store(reads)
	d.must(t, "fork", "--name", "looping", "--driver", d.name)
	before := d.model.served.Load()
	var commands []string
	for n := range int64(200) {
		commands = append(commands, fmt.Sprint("true ", d.model.n.Load()+n))
	}
	out := d.ramet(append([]string{"exec", "looping", "--max-tokens", fmt.Sprint(limit), "loop " + fmt.Sprintf(d.shell, "true NUMBER")}, d.allow(commands...)...)...)
	d.model.loops.Store(nil)
	t.Logf("it ended with %d: %s %s", out.code, out.stdout, out.stderr)
	more := d.model.served.Load() - before
	if more > limit || more < 2*reads || d.spent(t, "looping").Tokens != more {
		t.Errorf("%d tokens were served, %+v are counted", more, d.spent(t, "looping"))
	}
	if log := d.must(t, "log", "looping", "--own", "--json"); !strings.Contains(log+out.stderr, "BUDGET_EXCEEDED") {
		t.Errorf("something else ended it:\n%s", log)
	}
	return fmt.Sprintf("yes, after %d of %d tokens", more, limit)
}
