package probe

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"ramet/internal/base/step"
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
