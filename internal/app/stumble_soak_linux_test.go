package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pg "ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// What a command said of what it was to do.
const (
	saidDone    = "done"
	saidUndone  = "not done"
	saidUnknown = "unknown"
)

// deed is something that was asked for, under a word that nothing else has.
type deed struct {
	verb, word string
	said       string
	answer     string // of a command that was not done
}

// rough is hosts whose networks to the database fail all the time.
type rough struct {
	*team
	until time.Time
	model string

	mu    sync.Mutex // guards what follows
	deeds []deed
	codes map[string]int
	ended int // sessions, by the server
}

// For half a minute, or ten, three hosts work on one
// database, each over a network that is cut, stalls, is away and loses commits, and the server
// ends sessions. A fourth one begins runs; there is a worker that takes up what is orphaned.
// Afterwards the database is compared with what was said: what is said to be done is there
// once, what is said not to be done is not there, nobody was refused for what its own kernel
// did, and every run that was begun is DONE, without a hand.
func TestTheSharedDatabaseStumblesSoak(t *testing.T) {
	testkit.SoakOnly(t)
	last := 30 * time.Second
	if testkit.SoakOn() {
		last = 10 * time.Minute
	}
	r := &rough{team: newTeam(t), codes: map[string]int{}}
	r.model = r.script(`{"when": "toil", "repeat": true, "steps": [{"text": "I look"}, {"call": "ps", "args": {}}]}`, `{"repeat": true, "steps": [{"text": "ok"}]}`)
	r.until = time.Now().Add(last)
	seed := testkit.SoakSeed(t)
	var working sync.WaitGroup
	for n := range 3 {
		h := r.host(fmt.Sprintf("host%d", n))
		h.lease, h.pulse = "15s", ""
		h.ramet(0, "fork", "--name", fmt.Sprintf("own%d", n))
		network := h.through()
		dice := rand.New(rand.NewPCG(seed, uint64(n)))
		working.Go(func() { r.trouble(network, rand.New(rand.NewPCG(seed, uint64(100+n)))) })
		working.Go(func() {
			for i := 0; time.Now().Before(r.until); i++ {
				r.act(h, fmt.Sprintf("own%d", n), fmt.Sprintf("w%dx%dw", n, i), dice.IntN(5))
			}
		})
	}
	runs := r.begin(&working, rand.New(rand.NewPCG(seed, 200)))
	working.Wait()
	t.Logf("%d deeds; %v; the server ended %d sessions", len(r.deeds), r.codes, r.ended)
	runs()
	if r.codes[saidDone] == 0 {
		t.Error("nothing was tested")
	}
	r.check()
}

// trouble has a network fail, one way after the other.
func (r *rough) trouble(network *pgtest.Proxy, dice *rand.Rand) {
	for time.Now().Before(r.until) {
		switch dice.IntN(7) {
		case 0:
			network.Cut()
		case 1:
			network.LoseNext(pgtest.Fate(1 + dice.IntN(3)))
		case 2:
			every := 2 + dice.IntN(3)
			network.Lose(func(n int) (pgtest.Fate, bool) { return pgtest.Fate(1 + n%3), n%every == 0 })
		case 3:
			network.Down(true)
			time.Sleep(time.Duration(100+dice.IntN(900)) * time.Millisecond)
			network.Down(false)
		case 4:
			network.Stall(true)
			time.Sleep(time.Duration(100+dice.IntN(2500)) * time.Millisecond)
			network.Stall(false)
		case 5:
			network.Delay(time.Duration(dice.IntN(20)) * time.Millisecond)
		case 6:
			n, err := network.Terminate(context.Background())
			if err != nil {
				r.t.Error(err)
			}
			r.mu.Lock()
			r.ended += n
			r.mu.Unlock()
		}
		time.Sleep(time.Duration(50+dice.IntN(500)) * time.Millisecond)
	}
	network.Lose(nil)
	network.Delay(0)
}

// act does something, and notes what was said of it.
func (r *rough) act(h *host, own, word string, what int) {
	verb, args := "append", []string{"append", own, "say " + word}
	switch what {
	case 1:
		verb, args = "send", []string{"send", own, "letter " + word}
	case 2:
		verb, args = "fork", []string{"fork", own, "--name", word}
	case 3:
		verb, args = "exec", []string{"exec", own, "toil " + word, "--model", r.model}
	case 4:
		r.act(h, own, word, 2)
		verb, args = "kill", []string{"kill", word}
	}
	k := h.try(args...)
	if k == nil {
		return
	}
	<-k.over
	d := deed{verb: verb, word: word, answer: k.stderr.String()}
	code := ""
	if _, rest, ok := strings.Cut(d.answer, "error["); ok {
		code, _, _ = strings.Cut(rest, "]")
	}
	switch exit := k.cmd.ProcessState.ExitCode(); {
	case exit == 0:
		d.said = saidDone
	case code == "UNKNOWN_OUTCOME":
		d.said = saidUnknown
	case code == "INTERRUPTED" && verb == "exec":
		d.said = saidUnknown // the history says how far it came
	case code == "STORAGE_UNREACHABLE", code == "LOCKED", code == "NOT_FOUND" && verb == "kill":
		d.said = saidUndone
	default:
		r.t.Errorf("%s %s: exit code %d: %s", verb, word, exit, d.answer)
		d.said = saidUnknown
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deeds = append(r.deeds, d)
	r.codes[d.said]++
	if code != "" {
		r.codes[code]++
	}
}

// check reads the tables, with nothing of ours but their names.
func (r *rough) check() {
	to := testkit.Must(pg.ParsePostgres(r.db))(r.t)
	ctx := context.Background()
	conn := testkit.Must(pgx.ConnectConfig(ctx, to.Config))(r.t)
	defer conn.Close(ctx)
	there := map[string]int{}
	words := regexp.MustCompile(`(say|toil|letter) (w\d+x\d+w)`)
	for _, query := range []string{`SELECT convert_from(content, 'UTF8') FROM messages WHERE kind = 'user' AND content IS NOT NULL`, `SELECT body FROM mail`,
		`SELECT 'name ' || name FROM agents WHERE name IS NOT NULL`, `SELECT 'dead ' || name FROM agents WHERE name IS NOT NULL AND status = 'dead'`} {
		rows := testkit.Must(conn.Query(ctx, query))(r.t)
		texts := testkit.Must(pgx.CollectRows(rows, pgx.RowTo[string]))(r.t)
		for _, text := range texts {
			if strings.HasPrefix(text, "name ") || strings.HasPrefix(text, "dead ") {
				there[text]++
			}
			for _, found := range words.FindAllString(text, -1) {
				there[found]++
			}
		}
	}
	prefix := map[string]string{"append": "say ", "send": "letter ", "exec": "toil ", "fork": "name ", "kill": "dead "}
	for _, d := range r.deeds {
		n := there[prefix[d.verb]+d.word]
		if n > 1 || d.said == saidDone && n != 1 || d.said == saidUndone && n != 0 {
			r.t.Errorf("%s %s is said to be %s, and is there %d times: %s", d.verb, d.word, d.said, n, d.answer)
		}
	}
}
