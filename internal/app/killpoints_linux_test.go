package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/probe"
)

// Everything that ramet keeps is killed again and again while it grows: a command is killed
// before some step that changes a file, chosen by chance; the next one goes on with
// what is left. What was printed is there, once; what was not is there once or not at all;
// and everything verifies. How many kills: RAMET_KILLS, else 200.

// killsWanted is how many kills are asked for.
func killsWanted(t *testing.T) int {
	if text := os.Getenv("RAMET_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("RAMET_KILLS=%q is no number of kills", text)
		}
		return n
	}
	return 200
}

// killsEach is how many a world sees before another begins: what is kept must not be
// read so often that little else happens.
const killsEach = 100

func TestKillPointsSoak(t *testing.T) {
	testkit.SoakOnly(t)
	exe, seed := binary(t), testkit.SoakSeed(t)
	want := killsWanted(t)
	var mu sync.Mutex
	total := map[string]int{}
	t.Run("worlds", func(t *testing.T) {
		for n := 0; n < want; n += killsEach {
			t.Run(strconv.Itoa(n/killsEach), func(t *testing.T) {
				t.Parallel()
				got := newDoomed(t, exe, seed+uint64(n)).suffer(min(killsEach, want-n))
				mu.Lock()
				defer mu.Unlock()
				for kind, n := range got {
					total[kind] += n
				}
			})
		}
	})
	sum := 0
	for _, n := range total {
		sum += n
	}
	if sum != want && !t.Failed() {
		t.Errorf("%d kills, not %d", sum, want)
	}
	t.Logf("%d kills: %v", sum, total)
}

// doomed is a world in which commands are killed.
type doomed struct {
	t    *testing.T
	exe  string
	dir  string
	db   string
	dice *rand.Rand
	next int
	sure map[string]bool // texts that were acknowledged; false: nobody knows
}

// kinds of commands that are killed, by what they change. They are run with a token that
// nothing else has.
var doomedKinds = map[string]func(token string) []string{
	"append": func(x string) []string { return []string{"append", "ada", x} },
	"fork":   func(x string) []string { return []string{"fork", "ada", "--name", x} },
	"send":   func(x string) []string { return []string{"send", "bob", "--from", "ada", x} },
	"read":   func(string) []string { return []string{"read", "bob", "--json"} },
	"run": func(x string) []string {
		return []string{"run", "append", "r", "--type", "GATE_RUN_STARTED", "--payload", `{"gate":"` + x + `"}`}
	},
	"step": func(x string) []string { return []string{"run", "init", "--run-id", x} },
	"ledger": func(x string) []string {
		return []string{"track", "spawn", "--type", "t", "--plan", "1", "--group", "g", "--id", x}
	},
}

func newDoomed(t *testing.T, exe string, seed uint64) *doomed {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := &doomed{t: t, exe: exe, dir: dir, db: filepath.Join(dir, "ramet.db"), dice: rand.New(rand.NewPCG(seed, 13)), sure: map[string]bool{}}
	for _, args := range [][]string{{"append", "0", "hello"}, {"fork", "--name", "ada"}, {"fork", "--name", "bob"}, {"run", "init", "--run-id", "r"}} {
		if out := w.ramet(nil, args...); out.code != 0 {
			t.Fatalf("%v: %s", args, out.stderr)
		}
	}
	return w
}

// ramet runs a command, with variables in its environment.
func (w *doomed) ramet(variables []string, args ...string) outcome {
	w.t.Helper()
	cmd := exec.Command(w.exe, append([]string{"--db", w.db}, args...)...)
	cmd.Dir, cmd.Env = w.dir, append(environment(w.db), variables...)
	return outcomeOf(w.t, cmd)
}

// token is a text, and a name, that nothing else has.
func (w *doomed) token() string {
	w.next++
	return fmt.Sprintf("tok-%d-x", w.next)
}

// learn records the steps of a kind of command, as the world is now.
func (w *doomed) learn(kind string) []probe.Point {
	w.t.Helper()
	return probe.RecordSteps(w.t, 1, func(variable string) {
		token := w.token()
		w.judge(kind, token, w.ramet([]string{variable}, doomedKinds[kind](token)...), "recorded")
	})
}

// suffer kills so many commands, and tells of which kinds.
func (w *doomed) suffer(kills int) map[string]int {
	kinds, done := slices.Sorted(maps.Keys(doomedKinds)), map[string]int{}
	for n, tries := 0, 0; n < kills && !w.t.Failed(); tries++ {
		if tries > 10*kills {
			w.t.Fatalf("%d kills in %d tries", n, tries)
		}
		kind := kinds[n%len(kinds)]
		points := w.learn(kind)
		p := points[w.dice.IntN(len(points))]
		what := fmt.Sprintf("%s killed at %s", kind, p)
		token := w.token()
		out := w.ramet([]string{probe.DieAt + "=" + p.String()}, doomedKinds[kind](token)...)
		if w.judge(kind, token, out, what); !out.killed {
			continue // the world grew, and this command took fewer steps than the recorded one
		}
		n++
		done[kind]++
		again := w.token()
		w.judge(kind, again, w.ramet(nil, doomedKinds[kind](again)...), what+", the next one")
	}
	w.verify()
	return done
}

// judge looks for what a command said that it did.
func (w *doomed) judge(kind, token string, out outcome, what string) {
	w.t.Helper()
	if !out.killed && out.code != 0 {
		w.t.Errorf("%s: exit code %d: %s", what, out.code, out.stderr)
	}
	said := out.stdout != ""
	switch kind {
	case "read":
		w.wasRead(out.stdout, what)
		return
	case "ledger":
		if list := w.ramet(nil, "track", "list", "--json"); said && !strings.Contains(list.stdout, `"`+token+`"`) {
			w.t.Errorf("%s: %s was printed and is not in the ledger: %s%s", what, token, list.stdout, list.stderr)
		}
		return
	case "step":
		if _, err := os.Stat(filepath.Join(w.dir, ".ramet", "runs", token)); err != nil && said {
			w.t.Errorf("%s: run %s was printed and is not there", what, token)
		} else if err == nil {
			if out := w.ramet(nil, "run", "verify", token); out.code != 0 {
				w.t.Errorf("%s: %s", what, out.stderr)
			}
		}
		return
	}
	w.sure[kind+" "+token] = said
}

// wasRead: a letter that was shown is read.
func (w *doomed) wasRead(stdout, what string) {
	w.t.Helper()
	var said struct {
		Letter *struct{ Number int64 }
	}
	if stdout == "" || json.Unmarshal([]byte(stdout), &said) != nil || said.Letter == nil {
		return
	}
	out := w.ramet(nil, "read", "bob", strconv.FormatInt(said.Letter.Number, 10), "--peek", "--json")
	if out.code != 0 || strings.Contains(out.stdout, `"read_at": null`) {
		w.t.Errorf("%s: letter %d was shown and is unread: %s%s", what, said.Letter.Number, out.stdout, out.stderr)
	}
}

// verify looks at everything: each token once, or where nobody said so at most once.
func (w *doomed) verify() {
	w.t.Helper()
	for _, args := range [][]string{{"verify"}, {"run", "verify", "r"}, {"run", "replay", "r", "--check"}} {
		if out := w.ramet(nil, args...); out.code != 0 {
			w.t.Errorf("%v: %s", args, out.stderr)
		}
	}
	found := w.found()
	for what, said := range w.sure {
		if n := found[what]; n > 1 || n == 0 && said {
			w.t.Errorf("%s is there %d times; it was acknowledged: %t", what, n, said)
		}
	}
}

// found counts what is there.
func (w *doomed) found() map[string]int {
	w.t.Helper()
	out, ctx := map[string]int{}, w.t.Context()
	ws, err := sqlite.Open(ctx, w.db, sqlite.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer ws.Close()
	agents, err := ws.Agents(ctx, agent.Filter{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range agents {
		out["fork "+a.Name]++
		for e, err := range ws.QueryRange(ctx, history.Range{Agent: a.ID}, history.Selection{}) {
			if err != nil {
				w.t.Fatal(err)
			}
			parts, err := e.Parts()
			if err != nil {
				w.t.Fatal(err)
			}
			for _, p := range parts {
				out["append "+p.Text]++
			}
		}
		letters, err := ws.Letters(ctx, a.ID, mail.Filter{})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, l := range letters {
			out["send "+l.Body]++
		}
	}
	for line := range strings.Lines(w.ramet(nil, "run", "events", "r", "--json").stdout) {
		var e struct {
			Payload struct{ Gate string }
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Payload.Gate != "" {
			out["run "+e.Payload.Gate]++
		}
	}
	return out
}
