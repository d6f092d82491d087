package ledger

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ramet/internal/testkit"
)

// Eight processes write, and are killed with SIGKILL again and again in the middle of it.
// Every update that was acknowledged is there at the end, and whoever reads meanwhile
// sees a whole file.
func TestEightWritersLoseNothing(t *testing.T) {
	updates, seed := 20, uint64(1)
	if testkit.SoakOn() {
		updates, seed = 1000, testkit.SoakSeed(t)
	}
	f := FolderAt(t.TempDir(), FolderOptions{})
	put(t, f, FileName, `{"version":"1.0","max_entries":1000000,"entries":[]}`)

	var over atomic.Bool
	polled := make(chan int)
	go func() {
		n := 0
		for ; !over.Load() || n == 0; n++ {
			data, err := os.ReadFile(f.path())
			if err != nil || !json.Valid(data) {
				t.Errorf("a reader saw %v, %.80q…", err, data)
				break
			}
		}
		polled <- n
	}()

	var writers sync.WaitGroup
	acknowledged, kills := make([]map[string]Status, 8), make([]int, 8)
	for i := range 8 {
		writers.Go(func() {
			acknowledged[i] = map[string]Status{}
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for got, next := 0, 0; got < updates; {
				more, last := storm(t, f.dir, fmt.Sprintf("w%d", i), next, min(updates-got, 1+random.IntN(20)), acknowledged[i])
				got += more
				next = last + 2 // the next number may be in the file already, not acknowledged
				kills[i]++
			}
		})
	}
	writers.Wait()
	over.Store(true)
	reads := <-polled

	begin(t, f, "last") // under whose lock the leftovers of the killed are swept
	if got := namesFile(t, f); got != FileName+" "+PointerName {
		t.Errorf("the folder holds %s", got)
	}
	v := testkit.Must(f.Read(t.Context()))(t)
	have := map[string]Status{}
	for _, e := range v.Entries() {
		if _, twice := have[e.ID]; twice {
			t.Errorf("%s is there twice", e.ID)
		}
		have[e.ID] = e.Status
	}
	total, killed := 0, 0
	for i, acks := range acknowledged {
		for id, status := range acks {
			if got := have[id]; got != status && !(status == Spawned && got == Completed) {
				t.Errorf("%s was acknowledged as %s and is %q", id, status, got)
			}
		}
		total += len(acks)
		killed += kills[i]
	}
	t.Logf("%d agents, %d kills, %d reads", total, killed, reads)
}

func TestEightWritersLoseNothingSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestEightWritersLoseNothing(t)
}

// storm lets one writer write until it has acknowledged quota updates, and kills it. It
// returns how many it acknowledged and the last number that it used.
func storm(t *testing.T, dir, name string, from, quota int, acks map[string]Status) (got, last int) {
	p := start(t, "write", dir, name, strconv.Itoa(from))
	last = from
	for p.lines.Scan() {
		status, id, ok := strings.Cut(p.lines.Text(), " ")
		if !ok || status == "error:" {
			t.Errorf("%s says %q", name, p.lines.Text())
			break
		}
		acks[id] = Status(status)
		_, number, _ := strings.Cut(id, "-")
		last, _ = strconv.Atoi(number)
		if got++; got == quota {
			p.Process.Kill() // and what it acknowledged before that is still read
		}
	}
	p.Wait()
	return got, last
}
