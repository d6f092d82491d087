package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ramet/internal/launch/sandbox"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// scale is how much of the full size is measured.
var scale = func() float64 {
	f, err := strconv.ParseFloat(os.Getenv("RAMET_BENCH_SCALE"), 64)
	if err != nil || f <= 0 {
		return 0.01
	}
	return min(f, 1)
}()

// scaled is a full size at the scale of this run.
func scaled(n int) int { return max(1, int(float64(n)*scale)) }

// workshop is the folder of this run's databases.
var workshop string

func TestMain(m *testing.M) {
	sandbox.Main() // commands of tools run below this binary
	if play := roles[os.Getenv(roleVariable)]; play != nil {
		os.Exit(play())
	}
	var err error
	if workshop, err = os.MkdirTemp("", "ramet-bench-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := pgtest.Main(m)
	printPromises()
	if err := os.RemoveAll(workshop); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// fresh is the path of a database that does not exist yet.
func fresh(b *testing.B) string {
	b.Helper()
	dir := testkit.Must(os.MkdirTemp(workshop, "db-*"))(b)
	b.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "ramet.db")
}

// promise is one figure and its limit.
type promise struct {
	name    string
	unit    string // "" for a ratio
	limit   float64
	atLeast bool // the limit is a floor
	noLimit bool // shown, not promised
	got     float64
}

var promises []promise

// atMost records a figure that must not be above its limit.
func atMost(b *testing.B, name, unit string, got, limit float64) {
	record(b, promise{name: name, unit: unit, got: got, limit: limit})
}

// atLeast records a figure that must not be below its limit.
func atLeast(b *testing.B, name, unit string, got, limit float64) {
	record(b, promise{name: name, unit: unit, got: got, limit: limit, atLeast: true})
}

// shown records a figure that nobody promised.
func shown(b *testing.B, name, unit string, got float64) {
	record(b, promise{name: name, unit: unit, got: got, noLimit: true})
}

func record(b *testing.B, p promise) {
	promises = append(promises, p)
	unit := strings.Join(strings.Fields(p.name+" "+p.unit), "-")
	b.ReportMetric(0, "ns/op") // the time of a round means nothing
	b.ReportMetric(p.got, unit)
}

func (p promise) String() string {
	figure := func(f float64) string { return strings.TrimSpace(fmt.Sprintf("%.3g %s", f, p.unit)) }
	if p.noLimit {
		return fmt.Sprintf("%-8s%-80s %14s", "-", p.name, figure(p.got))
	}
	sign, used := "<=", p.got/p.limit
	if p.atLeast {
		sign, used = ">=", p.limit/p.got
	}
	verdict := "ok"
	switch {
	case scale < 1:
		verdict = "smoke"
	case used > 1:
		verdict = "MISSED"
	}
	return fmt.Sprintf("%-8s%-80s %14s %s %-10s %4.0f %% of the limit", verdict, p.name, figure(p.got), sign, figure(p.limit), 100*used)
}

func printPromises() {
	if len(promises) == 0 {
		return
	}
	fmt.Printf("\nPromises at scale %g, %d cores, %s\n", scale, runtime.NumCPU(), runtime.Version())
	for _, p := range promises {
		fmt.Println(p)
	}
}

// times are the durations of one side.
type times []time.Duration

func (t *times) of(f func()) {
	begin := time.Now()
	f()
	*t = append(*t, time.Since(begin))
}

// at is a percentile, 0.5 the median.
func (t times) at(p float64) float64 {
	sorted := slices.Sorted(slices.Values(t))
	return float64(sorted[min(len(sorted)-1, int(p*float64(len(sorted))))])
}

// must ends a benchmark that cannot go on.
func must[T any](b *testing.B) func(T, error) T {
	return func(v T, err error) T {
		b.Helper()
		testkit.OK(b, err)
		return v
	}
}

func check(b *testing.B, err error) {
	b.Helper()
	testkit.OK(b, err)
}

// middle is the median.
func middle(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[len(sorted)/2]
}
