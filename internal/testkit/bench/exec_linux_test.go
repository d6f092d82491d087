package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
)

// errand is a command that is run and measured by a small process: what a child
// used of memory is counted from the moment of its fork, when it still has the
// memory of who forked it.
type errand struct {
	Path string
	Args []string
	Dir  string
	Env  []string
	Want string // what it must print
}

type used struct {
	Began     time.Time
	Wall, CPU time.Duration
	RSS       int64 // bytes, at its peak
}

var errands = enrol("errand", runErrand)

func runErrand(e errand) (used, error) {
	return timed(e, func(out string) bool { return out == e.Want })
}

// timed runs a command and asks whether it printed what it should.
func timed(e errand, good func(out string) bool) (used, error) {
	c := exec.Command(e.Path, e.Args...)
	c.Dir, c.Env = e.Dir, e.Env
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	begin := time.Now()
	err := c.Run()
	took := time.Since(begin)
	if err != nil || !good(out.String()) {
		return used{}, fmt.Errorf("%v: %w, it printed %q\n%s", e.Args, err, out.String(), errs.Bytes())
	}
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	return used{Began: begin, Wall: took, CPU: c.ProcessState.UserTime() + c.ProcessState.SystemTime(), RSS: usage.Maxrss << 10}, nil
}

// past is one length of it, and what `ramet exec` needed.
type past struct {
	name                              string
	place                             string
	first, wall, cpu, memory, request []float64 // ms, ms, ms, bytes, bytes
}

// `ramet exec` costs little beyond the model: time and memory grow with the bytes
// that are sent, not with the history.
func BenchmarkExec(b *testing.B) {
	sh, server := newShell(b), newVendor(b)
	long := max(20, scaled(10_000))
	pasts := []*past{
		{name: "10 messages", place: sh.past(b, 10, false)},
		{name: "10,000 messages", place: sh.past(b, long, false)},
		{name: "40,000 messages", place: sh.past(b, 4*long, false)},
		{name: "10 messages behind 10,000 cleared", place: sh.past(b, long, true)},
	}
	run := func(p *past) {
		sh.load(b, p.place) // each time the same history
		server.read()
		got := apart[used](b, errands, errand{
			Path: sh.binary, Args: []string{"exec", "one", "Go on.", "--model", "anthropic/bench"}, Dir: sh.project,
			Env: []string{"HOME=" + sh.home, "RAMET_HOME=" + sh.home, "PATH=" + os.Getenv("PATH"),
				"ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=" + server.URL},
			Want: "Hello, world.\n",
		})
		sent, theirs := server.read()
		p.first = append(p.first, float64(server.heard().Sub(got.Began))/1e6)
		p.wall = append(p.wall, float64(got.Wall-theirs)/1e6)
		p.cpu = append(p.cpu, float64(got.CPU)/1e6)
		p.memory = append(p.memory, float64(got.RSS))
		p.request = append(p.request, float64(sent))
	}
	for b.Loop() {
		for range max(1, scaled(10)) {
			for _, p := range pasts {
				run(p)
			}
		}
	}
	for _, p := range pasts {
		title := "`ramet exec` with " + p.name + ": "
		shown(b, title+"wall beyond the server's time", "ms", middle(p.wall))
		if p == pasts[2] { // promised for 10,000; this one shows the growth
			shown(b, title+"to the first byte of the request", "ms", middle(p.first))
			shown(b, title+"peak RSS", "MB", middle(p.memory)/1e6)
		} else {
			atMost(b, title+"to the first byte of the request", "ms", middle(p.first), 60)
			atMost(b, title+"peak RSS", "MB", middle(p.memory)/1e6, 40+4*middle(p.request)/1e6)
		}
		shown(b, title+"CPU", "ms", middle(p.cpu))
		shown(b, title+"request", "MB", middle(p.request)/1e6)
	}
	few, many, more, cleared := pasts[0], pasts[1], pasts[2], pasts[3]
	rate := func(p *past) float64 { // ms for a byte more
		return (middle(p.wall) - middle(few.wall)) / (middle(p.request) - middle(few.request))
	}
	shown(b, "`ramet exec`: wall for a further megabyte of request, at 10,000 messages", "ms", rate(many)*1e6)
	atMost(b, "`ramet exec`: wall for a further byte, at 40,000 messages / at 10,000", "", rate(more)/rate(many), 1.5)
	atMost(b, "`ramet exec`: wall with 10 messages behind 10,000 cleared / with 10", "", middle(cleared.wall)/middle(few.wall), 1.2)
}

// past makes a workspace whose agent, called one, has a conversation of n messages
// behind it, and its database file.
func (sh *shell) past(b *testing.B, n int, cleared bool) string {
	b.Helper()
	place := filepath.Join(b.TempDir(), "ramet.db")
	s := must[*store.Store](b)(sqlite.Open(b.Context(), place, sqlite.Options{Cwd: sh.project}))
	zero := must[agent.Agent](b)(s.Zero(b.Context())).ID
	one := fork(b, s, zero, 1, func(int) string { return "one" })[0].ID
	discuss(b, s, one, n)
	if cleared {
		_, err := s.Append(b.Context(), one, agent.Passing(), history.NewClear())
		check(b, err)
		discuss(b, s, one, 10)
	}
	check(b, s.Close())
	settle(b, place)
	return place
}
