package probe

import (
	"path/filepath"
	"testing"

	"ramet/internal/testkit"
)

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
