package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// readings run a command whose output nobody keeps: there is a gigabyte of it.
var readings = enrol("reading", func(e errand) (used, error) {
	c := exec.Command(e.Path, e.Args...)
	c.Dir, c.Env = e.Dir, e.Env
	var errs bytes.Buffer
	c.Stderr = &errs
	begin := time.Now()
	if err := c.Run(); err != nil {
		return used{}, fmt.Errorf("%v: %w\n%s", e.Args, err, errs.Bytes())
	}
	took := time.Since(begin)
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	return used{Wall: took, CPU: c.ProcessState.UserTime() + c.ProcessState.SystemTime(), RSS: usage.Maxrss << 10}, nil
})

// What reads a million messages takes seconds, with both processors, and no more memory than for a
// tenth of them.
func BenchmarkEverythingIsRead(b *testing.B) {
	sh := newShell(b)
	all := max(1000, scaled(1_000_000))
	places := []string{sh.past(b, all/10, false), sh.past(b, all, false)}
	commands := []struct {
		args  []string
		limit float64 // s
	}{{[]string{"log", "one"}, 6}, {[]string{"export", "one"}, 8}, {[]string{"verify"}, 5}}
	wall, cpu, memory := make([][]float64, len(commands)), make([][]float64, len(commands)), make([][2][]float64, len(commands))
	for b.Loop() {
		for size, place := range places {
			sh.load(b, place)
			for i, c := range commands {
				got := apart[used](b, readings, errand{Path: sh.binary, Args: c.args, Dir: sh.project,
					Env: []string{"HOME=" + sh.home, "RAMET_HOME=" + sh.home, "PATH=" + os.Getenv("PATH")}})
				memory[i][size] = append(memory[i][size], float64(got.RSS))
				if size == 1 {
					wall[i], cpu[i] = append(wall[i], got.Wall.Seconds()), append(cpu[i], got.CPU.Seconds())
				}
			}
		}
	}
	for i, c := range commands {
		title := "`ramet " + c.args[0] + "` of 1,000,000 messages"
		atMost(b, title, "s", middle(wall[i]), c.limit)
		shown(b, title+", CPU", "s", middle(cpu[i]))
		atMost(b, title+", peak RSS", "MB", middle(memory[i][1])/1e6, 200)
		atMost(b, title+", peak RSS / of 100,000", "", middle(memory[i][1])/middle(memory[i][0]), 1.5)
	}
}
