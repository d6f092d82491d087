package probe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ramet/internal/base/step"
	"ramet/internal/run"
	"ramet/internal/runner"
	"ramet/internal/testkit"
)

// The variables. They apply to the process that finds them, and not to its children.
const (
	Steps = "RAMET_TEST_STEPS"  // FILE: a line is appended for each step, before it is taken
	DieAt = "RAMET_TEST_DIE_AT" // POINT: the process kills itself before this step
	// FailAt is a list, with commas, of POINT=ERROR: this step fails; or POINT+=ERROR: it and all later ones of its
	// label fail. ERROR is EIO or ENOSPC.
	FailAt = "RAMET_TEST_FAIL_AT"
)

// Point is a step of a process: the N-th one with its label, from 1.
//
// A label is "package/operation" for files that ramet changes itself, "wal/…", "db/…", "journal/…" and "folder/sync"
// for those that SQLite changes. A point may also have an operation alone as its label: then the steps of all labels
// with that operation are counted together.
type Point struct {
	Label string
	N     int
}

func (p Point) String() string { return p.Label + ":" + strconv.Itoa(p.N) }

// Op returns the operation.
func (p Point) Op() string { return p.Label[strings.LastIndexByte(p.Label, '/')+1:] }

// ParsePoint reads what String wrote.
func ParsePoint(text string) (Point, error) {
	label, number, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(number)
	if err != nil || label == "" || n < 1 {
		return Point{}, fmt.Errorf("%q is not a point", text)
	}
	return Point{label, n}, nil
}

// ReadPoints reads the points that a process recorded.
func ReadPoints(path string) ([]Point, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []Point
	for line := range strings.Lines(string(text)) {
		p, err := ParsePoint(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// PointFromEnvironment has the steps of this process counted if one of the variables is set, and reports whether it is.
// It must be called before the first step.
func PointFromEnvironment() bool {
	c := &counter{seen: map[string]int{}}
	set := false
	for variable, use := range map[string]func(string) error{Steps: c.record, DieAt: c.die, FailAt: c.fail} {
		value := os.Getenv(variable)
		if value == "" {
			continue
		}
		set = true
		os.Unsetenv(variable)
		if err := use(value); err != nil {
			panic(variable + ": " + err.Error())
		}
	}
	if set {
		step.Hook = c.step
	}
	return set
}

// counter counts the steps of a process.
type counter struct {
	mu    sync.Mutex
	seen  map[string]int // by label, and by operation
	log   *os.File
	dies  Point
	fails []failure
}

// failure selects what happens to the step at a point, or from there on.
type failure struct {
	Point
	onward bool
	errno  syscall.Errno
}

func (c *counter) record(path string) (err error) {
	c.log, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	return err
}

func (c *counter) die(text string) (err error) {
	c.dies, err = ParsePoint(text)
	return err
}

func (c *counter) fail(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		at, name, _ := strings.Cut(one, "=")
		at, onward := strings.CutSuffix(at, "+")
		errno := map[string]syscall.Errno{"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC}[name]
		p, err := ParsePoint(at)
		if err != nil || errno == 0 {
			return fmt.Errorf("%q is not a failure", one)
		}
		c.fails = append(c.fails, failure{p, onward, errno})
	}
	return nil
}

// step is the hook. While it decides, no other step of the process begins.
func (c *counter) step(label string) error {
	op := label
	if !strings.Contains(label, "/") {
		label = caller() + "/" + label
	} else {
		op = Point{Label: label}.Op()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[label]++
	c.seen[op]++
	if c.log != nil {
		fmt.Fprintln(c.log, Point{label, c.seen[label]})
	}
	for _, p := range []Point{{label, c.seen[label]}, {op, c.seen[op]}} {
		if p == c.dies {
			kill()
		}
		for _, f := range c.fails {
			if p == f.Point || f.onward && p.Label == f.Label && p.N > f.N {
				return f.errno
			}
		}
	}
	return nil
}

// kill ends this process as SIGKILL does, while the lock is held.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

const module = "ramet/internal/"

// caller returns the package whose step it is, without the first part of its path.
func caller() string {
	var counters [32]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		f, more := frames.Next()
		if path, ours := strings.CutPrefix(f.Function, module); ours && !helps(path) {
			slash := strings.LastIndexByte(path, '/') + 1
			name, _, _ := strings.Cut(path[slash:], ".")
			return path[:slash] + name
		}
		if !more {
			return "other"
		}
	}
}

// helps reports whether a function only takes steps for others.
func helps(path string) bool {
	for _, name := range []string{"base/step.", "testkit/probe.", "base/durable."} {
		if strings.HasPrefix(path, name) {
			return true
		}
	}
	return false
}

// RecordSteps lets a program run so many times, with a variable in its environment, and returns the points that it came
// to each time, in the order of the last run. Programs whose goroutines race need more than one run.
func RecordSteps(t testing.TB, runs int, run func(variable string)) []Point {
	t.Helper()
	var points []Point
	seen := map[Point]int{}
	for range runs {
		file := filepath.Join(t.TempDir(), "steps")
		run(Steps + "=" + file)
		points = testkit.Must(ReadPoints(file))(t)
		for _, p := range points {
			seen[p]++
		}
	}
	var out []Point
	for _, p := range points {
		if seen[p] == runs {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		t.Fatal("it changes nothing")
	}
	return out
}

// maxTries limits how often a program runs until it comes to a point.
const maxTries = 10

// KillAtStep lets a program run, with a variable in its environment, until it was killed at a point. It fails the test
// if the program ended before it came there, every time.
func KillAtStep(t testing.TB, p Point, run func(variable string) (killed bool)) {
	t.Helper()
	for range maxTries {
		if run(DieAt + "=" + p.String()) {
			return
		}
	}
	t.Fatalf("%d runs did not come to %s", maxTries, p)
}

// FailStep returns the variable with which all steps of a label fail from the n-th on.
func FailStep(label string, n int, errno string) string {
	return FailAt + "=" + Point{Label: label, N: n}.String() + "+=" + errno
}

// SelectSteps returns at most so many points of each label: the first, then the last, then some between them at equal
// distances.
func SelectSteps(points []Point, most int) []Point {
	count := map[string]int{}
	for _, p := range points {
		count[p.Label]++
	}
	var out []Point
	seen := map[string]int{}
	for _, p := range points {
		n, i := count[p.Label], seen[p.Label]
		seen[p.Label]++
		if n <= most || i == 0 || i*(most-1)/(n-1) != (i-1)*(most-1)/(n-1) {
			out = append(out, p)
		}
	}
	return out
}

// mortal is a log with a last event. Of several that are written together only the first
// may have reached the disk.
type mortal struct {
	runner.Log
	last int64
}

func (m mortal) Append(ctx context.Context, requests ...run.Request) ([]run.Event, error) {
	left := m.last - m.Now().EventCount
	dies := left <= int64(len(requests))
	if dies {
		requests = requests[:max(0, left)]
	}
	events, err := m.Log.Append(ctx, requests...)
	if dies && err == nil {
		die()
	}
	return events, err
}

// die ends this process as SIGKILL does.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
		select {}
	}
}
