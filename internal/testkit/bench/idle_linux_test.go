package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/base/secret"
	"ramet/internal/core/agent"
	"ramet/internal/kernel"
	"ramet/internal/store/sqlite"
	"ramet/internal/tools/local"
	"ramet/internal/turn/tool"
)

// rest asks for a process whose kernel has all agents of a workspace live.
type rest struct {
	Place, Cwd string
	Watch      time.Duration // how long it is looked at
}

// rested is what such a process needs.
type rested struct {
	Agents    int
	RSS, Peak int64 // bytes
	Before    int64 // of RSS, with none of them live
	CPU       time.Duration
}

// resting lets every agent have a turn, with the tools of its folder, as the binary
// does, and then does nothing.
var resting = enrol("resting", func(r rest) (rested, error) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, r.Place, sqlite.Options{Cwd: r.Cwd})
	if err != nil {
		return rested{}, err
	}
	defer s.Close()
	o := ports(s, instant)
	env := os.Environ()
	o.Tools = func(agent.Agent) (tool.Box, error) {
		tools, err := local.New(local.Options{Root: r.Cwd, Env: env})
		if err != nil {
			return nil, err
		}
		return tools.Tools(), nil
	}
	o.Clean = secret.New(nil).Own
	k, err := kernel.Start(ctx, o)
	if err != nil {
		return rested{}, err
	}
	defer k.Stop()
	agents, err := s.Agents(ctx, agent.Filter{})
	if err != nil {
		return rested{}, err
	}
	before, err := inStatus("VmRSS")
	if err != nil {
		return rested{}, err
	}
	for _, a := range agents {
		t, err := k.Exec(ctx, a.ID, kernel.Prompt{Text: "Go on."})
		if err == nil {
			_, err = t.Wait()
		}
		if err != nil {
			return rested{}, err
		}
	}
	idle := cpu()
	<-time.After(r.Watch)
	out := rested{Agents: len(agents), Before: before, CPU: cpu() - idle}
	if out.RSS, err = inStatus("VmRSS"); err == nil {
		out.Peak, err = inStatus("VmHWM")
	}
	return out, err
})

// cpu is what this process has used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// inStatus is a size, in bytes, that the system knows of this process.
func inStatus(field string) (int64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), field+":"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/self/status", field)
}

// Agents that wait cost little memory and no time.
func BenchmarkIdleAgents(b *testing.B) {
	var memory, peak, each, busy []float64
	watch := time.Duration(scale * float64(12*time.Second)) // leases are looked after every 5 s
	for b.Loop() {
		s, place := engines[0].make(b)
		family(b, s, scaled(10_000))
		check(b, s.Close())
		got := apart[rested](b, resting, rest{place, must[string](b)(os.Getwd()), watch})
		if got.Agents < scaled(10_000) {
			b.Fatalf("only %d agents", got.Agents)
		}
		memory, peak = append(memory, float64(got.RSS)), append(peak, float64(got.Peak))
		each = append(each, float64(got.RSS-got.Before)/float64(got.Agents))
		busy = append(busy, 100*float64(got.CPU)/float64(watch))
	}
	atMost(b, "10,000 live idle agents: RSS", "MB", middle(memory)/1e6, (1<<30)/1e6)
	atMost(b, "10,000 live idle agents: RSS of one", "kB", middle(each)/1e3, 10)
	shown(b, "10,000 live idle agents: RSS at its peak", "MB", middle(peak)/1e6)
	atMost(b, "10,000 live idle agents: share of one core", "%", middle(busy), 2)
}
