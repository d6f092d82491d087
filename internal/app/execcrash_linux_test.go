package app_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/testkit"
	"ramet/internal/testkit/probe"
)

// The real binary runs a turn and is killed with SIGKILL at many points. After
// each: the next turn begins at once, all links hold, what was acknowledged is
// there, every call has one result, what was shown for a second is kept, and no
// process of a tool is alive.

// kills is how often a turn is killed at a time drawn by chance.
func kills() int {
	if testkit.SoakOn() {
		return 1000
	}
	return 20
}

// stubborn is a command line that leaves behind what is hard to end: a double fork
// in a session of its own that ignores every signal that can be ignored, one under
// nohup, one that is stopped.
const stubborn = `(setsid sh -c 'trap \"\" TERM HUP INT QUIT; while :; do sleep 1000; done' &); ` +
	`nohup sh -c '(sleep 1000 &)' >/dev/null 2>&1 & (sh -c 'kill -STOP $$' &); `

// toolLoop is a script of many lines. Its commands leave something behind; the last
// one ends with a command of one's choice.
func toolLoop(t *testing.T, s *stage, leave, last string) string {
	call := func(text, command string) string {
		return `{"steps": [{"text": "` + text + ` "}, {"text": "then "}, {"call": "bash", "args": {"command": "` + command + `"}}]}`
	}
	return s.script(t,
		call("one", leave+`echo up; seq 200`),
		call("two", leave+`echo up; exec false`),
		`{"steps": [{"call": "bash", "args": {"command": "`+leave+`echo a"}}, {"call": "list", "args": {"path": "."}}, {"call": "list", "args": {"path": "."}}]}`,
		call("three", leave+`echo last; `+last),
		`{"steps": [{"text": "the end"}]}`)
}

const (
	toolLoopSays = "one then two then three then the end"
	forever      = "exec sleep 1000"
)

func TestAKilledToolLoopGoesOnSoak(t *testing.T) {
	t.Parallel()
	testkit.SoakOnly(t)
	exe := binary(t)
	s := newStage(t, exe)
	r := s.exec(t, "--model", toolLoop(t, s, stubborn, forever), "go")
	r.need(t, "the last call", prints("last"))
	for begun := time.Now(); len(s.survivors()) < 5; time.Sleep(time.Millisecond) { // they start beside what prints
		if time.Since(begun) > time.Minute {
			t.Fatalf("there is nothing to kill: %v", s.survivors())
		}
	}
	at := r.kill()
	last := len(r.all())
	if err := s.recovered(t, r, at, toolLoopSays); err != nil {
		t.Fatalf("killed at the end: %v", err)
	}
	sample(t, 3, kills(), func(t *testing.T, random *rand.Rand) error {
		s := newStage(t, exe)
		n, later := random.IntN(last), time.Duration(random.IntN(4000))*time.Microsecond
		r := s.exec(t, "--model", toolLoop(t, s, stubborn, forever), "go")
		if !r.until(func(i int, _ seen) bool { return i == n }) && n < last/2 { // output may come in fewer pieces
			return fmt.Errorf("line %d never came:%s\n%s", n, r.told(), &r.stderr)
		}
		<-time.After(later) // this is the point, not a wait for anything
		at := r.kill()
		return wrap(s.recovered(t, r, at, toolLoopSays), "killed %s after line %d", later, n)
	})
}

// A turn that is killed before any step that changes a file goes on.
func TestATurnKilledAtAStepGoesOn(t *testing.T) {
	t.Parallel()
	exe := binary(t)
	var s *stage
	var r *running
	turn := func(variable string) (killed bool) {
		s = newStage(t, exe)
		s.made(t)
		cmd := s.command("exec", "--json", "--allow", "bash", "--model", toolLoop(t, s, "(setsid sleep 1000 &); ", "true"), "go")
		cmd.Env = append(cmd.Env, variable)
		if r = s.begin(t, cmd); !r.ends() {
			t.Fatalf("it does not end:%s", r.told())
		}
		if state := cmd.ProcessState; state.Exited() && state.ExitCode() != 0 {
			t.Fatalf("exit code %d:%s\n%s", state.ExitCode(), r.told(), &r.stderr)
		}
		return !cmd.ProcessState.Exited()
	}
	points := probe.RecordSteps(t, 2, func(variable string) { turn(variable) })
	for _, p := range selected(points, 2) {
		probe.KillAtStep(t, p, turn)
		// When it was killed is not known: no text was shown for sure a second before.
		if err := s.recovered(t, r, time.Time{}, toolLoopSays); err != nil {
			t.Fatalf("killed at %s: %v", p, err)
		}
	}
}

// Not beside other tests: a second is a second of this machine.
func TestAKilledReplyIsKeptSoak(t *testing.T) {
	testkit.SoakOnly(t)
	exe := binary(t)
	sample(t, 7, kills(), func(t *testing.T, random *rand.Rand) error {
		s := newStage(t, exe)
		path, gate := s.pipe(t)
		steps, says := []string{}, ""
		for n := range 400 {
			piece := fmt.Sprintf("piece %d. ", n)
			says += piece
			steps = append(steps, `{"text": "`+piece+`"}`, `{"wait": "`+path+`"}`)
		}
		r := s.exec(t, "--model", s.script(t, `{"steps": [`+strings.Join(steps, ", ")+`]}`), "tell me")
		if !r.until(func(_ int, l seen) bool { return l.Type == "text_delta" }) {
			return fmt.Errorf("no text came:%s\n%s", r.told(), &r.stderr)
		}
		length := time.Duration(random.IntN(2400)) * time.Millisecond
		ends := time.After(length)
		for tick := time.Tick(8 * time.Millisecond); ; {
			select {
			case <-tick:
				gate.Write([]byte("."))
				continue
			case <-ends:
			}
			break
		}
		at := r.kill()
		return wrap(s.recovered(t, r, at, says), "killed after %s", length)
	})
}

// sample runs a trial at all points, a few at a time.
func sample(t *testing.T, width, times int, trial func(*testing.T, *rand.Rand) error) {
	t.Helper()
	watchLate()
	seed := testkit.SoakSeed(t)
	var work sync.WaitGroup
	slots := make(chan struct{}, width)
	for n := range times {
		slots <- struct{}{}
		if t.Failed() {
			break
		}
		work.Go(func() {
			defer func() { <-slots }()
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				if err := trial(t, rand.New(rand.NewPCG(seed, uint64(n)))); err != nil {
					t.Errorf("seed %d, point %d: %v", seed, n, err)
				}
			})
		})
	}
	work.Wait()
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// recovered checks everything that is promised after a kill at that time, of a turn
// in which the model says that.
func (s *stage) recovered(t *testing.T, r *running, at time.Time, says string) error {
	if err := s.quiet(patience); err != nil {
		return err
	}
	next := s.ramet("exec", "--model", s.script(t, `{"repeat": true, "steps": [{"text": "I am back."}]}`), "and now?")
	if next.code != 0 || next.stdout != "I am back.\n" {
		return fmt.Errorf("the next turn: exit code %d\n%s%s", next.code, next.stdout, next.stderr)
	}
	if out := s.ramet("verify"); out.code != 0 {
		return fmt.Errorf("verify: exit code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
	all, err := s.history("0")
	if err != nil {
		return err
	}
	if err := errors.Join(acknowledged(r, all), answered(all), kept(r, all, at, says)); err != nil {
		return fmt.Errorf("%w\nshown:%s\nkept: %+v", err, r.told(), all)
	}
	return nil
}

// acknowledged checks that every entry of the agent that was shown is in its history.
func acknowledged(r *running, all []entry) error {
	hashes := map[string]bool{}
	for _, e := range all {
		hashes[e.Hash] = true
	}
	for _, l := range r.all() {
		if l.Type == "entry" && string(l.Message.Agent) == all[0].Agent && !hashes[l.Message.Hash.String()] {
			return fmt.Errorf("entry %d was shown and is lost", l.Message.ID)
		}
	}
	return nil
}

// kept checks that text that was shown more than a second before the end stands
// in the history, and nothing twice or unsaid.
func kept(r *running, all []entry, at time.Time, says string) error {
	var history, shown strings.Builder
	for _, e := range all {
		if e.Kind == "assistant" || e.Kind == "interrupted" {
			history.WriteString(e.text())
		}
	}
	had := strings.ReplaceAll(history.String(), "I am back.", "") // twice, where letters wait unread
	for _, l := range r.all() {
		if l.Type == "text_delta" && at.Sub(l.at) > time.Second {
			shown.WriteString(l.Text)
		}
	}
	if !strings.HasPrefix(had, shown.String()) || !strings.HasPrefix(says, had) {
		return fmt.Errorf("shown a second before the end: %q\nin the history: %q", shown.String(), had)
	}
	return nil
}
