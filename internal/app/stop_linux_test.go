package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// The table of stops: who asks, where the turn runs, what it is doing. Of the 144 cells
// 31 are played, with nearly every pair of two columns; make soak plays all.
var (
	stopFaces  = []string{"esc", "ctrl+c", "page", "http", "kill", "sigint"}
	stopPlaces = []string{"own", "served", "background", "far"}
	stopPhases = []string{"streaming", "thinking", "tool", "permission", "mail", "compacting"}
)

func TestAStopEndsEverything(t *testing.T) { playStops(t, false) }

func TestEveryStopSoak(t *testing.T) {
	testkit.SoakOnly(t)
	playStops(t, testkit.SoakOn())
}

func playStops(t *testing.T, all bool) {
	t.Parallel()
	t.Run("cells", func(t *testing.T) {
		for f, face := range stopFaces {
			for p, phase := range stopPhases {
				for at, place := range stopPlaces {
					// Each face meets each phase once, and each of them every place; the page,
					// which does what http does, meets the first.
					if !all && (at != (f+p+p/4*2)%len(stopPlaces) || face == "page" && p > 0) {
						continue
					}
					t.Run(face+"/"+place+"/"+phase, func(t *testing.T) {
						t.Parallel()
						newCell(t, face, place, phase).play()
					})
				}
			}
		}
	})
}

// cell is one case.
type cell struct {
	t                  *testing.T
	face, place, phase string
	v                  *vendor
	here, there        *world // who asks; where the turn runs
	server             *served
	far                *served // of the one that runs the turn, where exec alone could not
	term               *terminal
	shows              *page
	turn               *exec.Cmd // exec, where that is what began it
	ended              chan error
}

func newCell(t *testing.T, face, place, phase string) *cell {
	c := &cell{t: t, face: face, place: place, phase: phase}
	w := newWorld(t)
	nap := fmt.Sprintf("sleep 9%d.%d", os.Getpid(), stages.Add(1))
	c.v = newVendor(t, nap, "git push --force")
	w.env = append(w.env, c.v.env()...)
	c.here, c.there = w, w
	if place == "far" {
		far := newWorld(t)
		far.project = w.project
		far.env = append(far.env, c.v.env()...)
		// Nobody dies here: a lease that runs out on a busy machine is not what this is about.
		shared := []string{"RAMET_DB=" + pgtest.URL(t), "RAMET_TEST_LEASE=" + testLease}
		w.env, far.env = append(w.env, shared...), append(far.env, shared...)
		c.there = far
		if face == "sigint" { // the signal reaches the one who runs it
			c.here = far
		}
	}
	w.ramet("fork", "--name", "ada")
	w.ramet("exec", "ada", "hello "+strings.Repeat("and again ", 100))
	return c
}

// play begins a turn, stops it and looks at what is left.
func (c *cell) play() {
	switch c.place {
	case "served":
		c.server = c.there.serve()
	case "background":
		c.server = c.there.background()
	}
	if c.phase == "permission" && c.face != "esc" && c.face != "ctrl+c" && c.server == nil || c.phase == "permission" && c.place == "far" {
		// An exec of its own asks nobody; that of a server waits.
		c.far = c.there.serve()
	}
	if c.far != nil && c.here == c.there {
		c.server = c.far
	}
	if c.server == nil && (c.far == nil || c.here != c.there) && c.place != "background" && (c.face == "page" || c.face == "http") {
		c.server = c.here.serve()
	}
	c.begin()
	c.reached()
	queued := c.queue()
	if c.face == "page" {
		c.shows = c.page()
		c.shows.says("enabled")
	}
	asked := time.Now()
	c.stop()
	c.over(asked)
	c.truth()
	if queued {
		c.once()
	}
}

// begin gives ada the prompt, by the face that will stop it.
func (c *cell) begin() {
	prompt := "phase=" + c.phase
	switch {
	case (c.face == "esc" || c.face == "ctrl+c") && c.place != "far":
		c.screen()
		c.term.say(prompt)
		return
	case (c.face == "page" || c.face == "http") && c.place != "far":
		if code := c.server.ask("POST", "/api/v1/agents/ada/prompt", fmt.Sprintf(`{"text":%q}`, prompt), new(any)); code != 202 {
			c.t.Fatalf("the prompt: %d", code)
		}
		return
	}
	c.turn = exec.Command(c.there.exe, "exec", "ada", prompt)
	c.turn.Dir, c.turn.Env = c.there.project, c.there.env
	tty, err := pty.Start(c.turn) // who can ask has a terminal
	if err != nil {
		c.t.Fatal(err)
	}
	c.ended = make(chan error, 1)
	go func() {
		b := make([]byte, 4096)
		for {
			if _, err := tty.Read(b); err != nil {
				break
			}
		}
		c.ended <- c.turn.Wait()
	}()
	c.t.Cleanup(func() { c.turn.Process.Kill(); tty.Close() })
	if c.face == "esc" || c.face == "ctrl+c" {
		c.screen()
	}
}

// screen opens the terminal at ada.
func (c *cell) screen() {
	c.term = c.here.open(100, 30)
	c.term.see("[0]")
	c.term.say("/switch ada")
	c.term.see("[ada]")
}

// now is the state of ada, as another process tells it.
func (c *cell) now(w *world) (word, detail, status string) {
	var list struct {
		Agents []struct {
			Name, Status string
			State        struct{ Word, Detail string }
		}
	}
	testkit.OK(c.t, json.Unmarshal([]byte(w.ramet("ps", "--all", "--json")), &list))
	for _, a := range list.Agents {
		if a.Name == "ada" {
			return a.State.Word, a.State.Detail, a.Status
		}
	}
	c.t.Fatal("there is no ada")
	return
}

// reached waits until the turn does what the cell is about, as ps of another process says.
func (c *cell) reached() {
	want := map[string]string{"streaming": "working writes", "thinking": "working thinks", "tool": "working runs bash",
		"permission": "asks ", "mail": "waits for mail", "compacting": "working compacts"}[c.phase]
	last := ""
	streams := c.phase == "streaming" || c.phase == "thinking" || c.phase == "compacting"
	defer func() {
		if c.t.Failed() {
			c.t.Logf("it is %q%s", last, c.shown())
		}
	}()
	testkit.WaitUntil(c.t, "it is "+want, func() bool {
		if reading, _ := c.v.quiet(); streams && reading || c.phase == "tool" && c.naps() == 0 {
			return false // ps is asked last: it costs a process
		}
		word, detail, _ := c.now(c.there)
		last = word + " " + detail
		return strings.HasPrefix(last, want)
	})
	if c.place == "far" && c.here != c.there {
		if word, _, _ := c.now(c.here); word != "working" {
			c.t.Errorf("another host says %q", word)
		}
	}
}

func (c *cell) shown() string {
	if c.term == nil {
		return ""
	}
	return "\n" + c.term.text()
}

// naps counts the processes of the tool.
func (c *cell) naps() int { return len(tools(strings.ReplaceAll(c.v.command, " ", "\x00") + "\x00")) }

// queue types something that waits, where there is a terminal.
func (c *cell) queue() bool {
	if c.term == nil || c.phase == "permission" {
		return false
	}
	c.term.see("Esc stops")
	c.term.say("queued words")
	c.term.see("(queued)")
	return true
}

func (c *cell) stop() {
	switch c.face {
	case "esc":
		c.term.press(escape)
	case "ctrl+c":
		c.term.press(ctrlC)
	case "page":
		c.shows.press()
	case "http":
		var got struct{ Interrupted bool }
		if code := c.server.ask("POST", "/api/v1/agents/ada/interrupt", `{}`, &got); code != 200 || !got.Interrupted {
			c.t.Errorf("interrupt: %d %+v", code, got)
		}
	case "kill":
		if out := c.here.ramet("kill", "ada", "--reason", "enough"); !strings.Contains(out, "killed ada") {
			c.t.Errorf("kill: %s", out)
		}
	case "sigint":
		testkit.OK(c.t, c.turn.Process.Signal(syscall.SIGINT))
	}
}

// over waits until nothing of the turn is left.
func (c *cell) over(asked time.Time) {
	var at time.Time
	testkit.WaitUntil(c.t, "no client reads and no process is left", func() (silent bool) {
		silent, at = c.v.quiet()
		return silent && c.naps() == 0
	})
	if took := at.Sub(asked); took > 0 {
		c.t.Logf("no client read after %s", took.Round(time.Millisecond))
	}
	if c.ended != nil {
		select {
		case <-c.ended:
		case <-time.After(patience):
			c.t.Error("exec does not end")
		}
	}
}

// truth looks at the history and at what is said of the agent.
func (c *cell) truth() {
	want := "interrupted"
	if c.face == "kill" {
		want = "killed"
	}
	word, detail, status := "", "", ""
	testkit.WaitUntil(c.t, "it is "+want, func() bool {
		word, detail, status = c.now(c.here)
		return word == want
	})
	if (status == "dead") != (want == "killed") {
		c.t.Errorf("it is %s (%s), %s", word, detail, status)
	}
	if c.term != nil {
		c.term.see(want)
		c.term.gone("stopping")
	}
	if c.shows != nil {
		c.shows.says("interrupted")
	}
	if c.server != nil {
		var now struct{ State struct{ Word string } }
		if c.server.ask("GET", "/api/v1/agents/ada", "", &now); now.State.Word != want {
			c.t.Errorf("over HTTP it is %q", now.State.Word)
		}
		var asks struct{ Asks []any }
		if c.server.ask("GET", "/api/v1/permissions", "", &asks); len(asks.Asks) != 0 {
			c.t.Errorf("it still asks: %v", asks)
		}
	}
	log := c.here.ramet("log", "ada", "--own")
	if err := closed(c.here, want); err != nil {
		c.t.Errorf("%v\n%s", err, log)
	}
	c.here.ramet("verify")
}

// closed says whether a history ends with that kind, and every call in it has a result.
func closed(w *world, kind string) error {
	all, err := entries(w.ramet("log", "ada", "--own", "--json"))
	if err = errors.Join(err, answered(all)); err == nil && all[len(all)-1].Kind != kind {
		err = fmt.Errorf("it ends with %s", all[len(all)-1].Kind)
	}
	return err
}

// once looks for what was queued: it is in the prompt, and nowhere else.
func (c *cell) once() {
	c.term.see("❯ queued words")
	if log := c.here.ramet("log", "ada", "--own"); strings.Contains(log, "queued words") {
		c.t.Errorf("it was also sent:\n%s", log)
	}
	c.term.gone("(queued)")
}
