package app_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ramet/internal/operation/public"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// shown is an entry that a process printed: it is acknowledged.
type shown struct {
	agent id.Agent
	id    id.Message
	hash  chain.Hash
	by    int // the process, each time that it held the agent
}

// turmoil is hosts that are stopped, continued and killed at random.
type turmoil struct {
	*team
	model string

	mu    sync.Mutex
	acked []shown
	codes map[string]int
}

// Four hosts work on eight agents. Whatever happens to them, an agent has one writer
// at a time, and nothing that was printed is lost.
func TestHostsInTurmoilSoak(t *testing.T) {
	testkit.SoakOnly(t)
	rounds := 3
	if testkit.SoakOn() {
		rounds = 400
	}
	m := &turmoil{team: newTeam(t), codes: map[string]int{}}
	m.db += "&lock_timeout=500ms" // one that sleeps in a transaction is not waited for
	home := m.host("zero")
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprintf("agent%d", i))
		home.ramet(0, "fork", "--name", names[i])
	}
	m.model = m.script(`{"when": "mark", "repeat": true, "steps": [{"text": "I look"}, {"call": "ps", "args": {}}, {"call": "ps", "args": {}}]}`,
		`{"repeat": true, "steps": [{"text": "ok"}]}`)
	seed := testkit.SoakSeed(t)
	var working sync.WaitGroup
	for n := range 4 {
		// Each has a neighbour, which takes over what sleeps here.
		h, next := m.host(fmt.Sprintf("host%d", n)), m.host(fmt.Sprintf("next%d", n))
		dice := rand.New(rand.NewPCG(seed, uint64(n)))
		working.Go(func() {
			for round := range rounds {
				m.round(h, next, n*1_000_000+round, names[dice.IntN(len(names))], 1+dice.IntN(5), (n+round)%4)
			}
		})
	}
	working.Wait()
	t.Logf("%d entries were printed; the ends: %v", len(m.acked), m.codes)
	if m.codes["0"] == 0 || m.codes["killed"] == 0 || len(m.acked) == 0 {
		t.Error("nothing was tested")
	}
	m.check()
	home.ramet(0, "verify")
}

// What happens to a process.
const (
	itIsKilled = iota
	itSleepsAndIsReplaced
	itSleeps
	nothing
)

// round runs one turn, to which something happens after some of its lines.
func (m *turmoil) round(h, next *host, number int, name string, at, what int) {
	cmd := exec.Command(h.exe, "--db", h.db, "exec", "--json", name, fmt.Sprintf("mark %d", number), "--model", m.model)
	cmd.Dir = h.dir
	cmd.Env = []string{"HOME=" + h.home, "RAMET_HOME=" + filepath.Join(h.home, "data"), "PATH=" + os.Getenv("PATH"), "RAMET_TEST_SCRIPTS=1", "RAMET_TEST_LEASE=1s"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Error(err)
		return
	}
	lines := bufio.NewReader(out)
	by := -1 - number // until its turn it mends what the dead left, and lets go of that again
	for n := 0; ; n++ {
		if n == at {
			m.happens(cmd, next, number, name, what)
		}
		text, err := lines.ReadBytes('\n')
		if err != nil {
			break // a line without an end says nothing
		}
		var l public.Line
		if err := json.Unmarshal(text, &l); err != nil {
			m.t.Errorf("%s: %v", text, err)
		}
		if l.Message != nil {
			if l.Message.Kind == history.User {
				by = number
			}
			m.mu.Lock()
			m.acked = append(m.acked, shown{l.Message.Agent, l.Message.ID, l.Message.Hash, by})
			m.mu.Unlock()
		}
	}
	cmd.Wait() // the code says how
	end := fmt.Sprint(cmd.ProcessState.ExitCode())
	switch end {
	case "-1":
		end = "killed"
	case "0":
	case "4": // LEASED, FENCED, or LOCKED by one that sleeps in a transaction
		_, code, _ := strings.Cut(stderr.String(), `"code":"`)
		end, _, _ = strings.Cut(code, `"`)
	default:
		m.t.Errorf("exit code %s: %s", end, stderr.String())
	}
	m.mu.Lock()
	m.codes[end]++
	m.mu.Unlock()
}

func (m *turmoil) happens(cmd *exec.Cmd, next *host, number int, name string, what int) {
	switch what {
	case itIsKilled:
		cmd.Process.Signal(syscall.SIGKILL)
	case itSleeps, itSleepsAndIsReplaced:
		cmd.Process.Signal(syscall.SIGSTOP)
		if what == itSleepsAndIsReplaced {
			if !comes(m.expired(name)) {
				m.t.Errorf("the lease of %s does not end", name)
			}
			m.round(next, nil, number+500_000, name, 0, nothing)
		}
		cmd.Process.Signal(syscall.SIGCONT)
	}
}

// check compares what was printed with what is there.
func (m *turmoil) check() {
	m.t.Helper()
	stored := map[id.Message]chain.Hash{}
	kept := map[id.Agent]bool{}
	for _, s := range m.acked {
		if kept[s.agent] {
			continue
		}
		kept[s.agent] = true
		for e, err := range m.ws.QueryRange(context.Background(), history.Range{Agent: s.agent, End: history.NoLimit}, history.Selection{}) {
			if err != nil {
				m.t.Fatal(err)
			}
			stored[e.ID] = e.Hash
		}
	}
	slices.SortFunc(m.acked, func(a, b shown) int { return cmp.Compare(a.id, b.id) })
	last, gone := map[id.Agent]int{}, map[int]bool{}
	for _, s := range m.acked {
		if hash, ok := stored[s.id]; !ok || hash != s.hash {
			m.t.Errorf("entry %d of %s was printed and is lost", s.id, s.agent)
		}
		if before, ok := last[s.agent]; ok && before != s.by {
			gone[before] = true
		}
		if gone[s.by] {
			m.t.Errorf("turn %d wrote entry %d after another had taken its agent", s.by, s.id)
		}
		last[s.agent] = s.by
	}
}
