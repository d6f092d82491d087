// Package steptest kills a program at each of the steps by which it changes files (see probe.Point).
package steptest

import (
	"path/filepath"
	"testing"

	"ramet/internal/testkit/probe"
)

// Record lets a program run so many times, with a variable in its environment, and returns the points that it came
// to each time, in the order of the last run. Programs whose goroutines race need more than one run.
func Record(t testing.TB, runs int, run func(variable string)) []probe.Point {
	t.Helper()
	var points []probe.Point
	seen := map[probe.Point]int{}
	for range runs {
		file := filepath.Join(t.TempDir(), "steps")
		run(probe.Steps + "=" + file)
		var err error
		if points, err = probe.ReadPoints(file); err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			seen[p]++
		}
	}
	var out []probe.Point
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

// Kill lets a program run, with a variable in its environment, until it was killed at a point. It fails the test
// if the program ended before it came there, every time.
func Kill(t testing.TB, p probe.Point, run func(variable string) (killed bool)) {
	t.Helper()
	for range maxTries {
		if run(probe.DieAt + "=" + p.String()) {
			return
		}
	}
	t.Fatalf("%d runs did not come to %s", maxTries, p)
}

// Fail returns the variable with which all steps of a label fail from the n-th on.
func Fail(label string, n int, errno string) string {
	return probe.FailAt + "=" + probe.Point{Label: label, N: n}.String() + "+=" + errno
}

// Select returns at most so many points of each label: the first, then the last, then some between them at equal
// distances.
func Select(points []probe.Point, most int) []probe.Point {
	count := map[string]int{}
	for _, p := range points {
		count[p.Label]++
	}
	var out []probe.Point
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
