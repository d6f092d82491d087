package rundir

import (
	"fmt"
	"strings"
)

// maxDiff is how many differing lines are shown.
const maxDiff = 20

// diffLines shows where two texts differ, line by line, as people read it: - is what
// the log says, + what the file says. Equal lines at the beginning and the end
// are left out.
func diffLines(want, have []byte) []string {
	a, b := strings.Split(string(want), "\n"), strings.Split(string(have), "\n")
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	endA, endB := len(a), len(b)
	for endA > from && endB > from && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	var out []string
	add := func(sign string, lines []string) {
		for i, line := range lines {
			if i == maxDiff {
				out = append(out, fmt.Sprintf("%s … %d lines more", sign, len(lines)-i))
				break
			}
			out = append(out, fmt.Sprintf("%s %d: %s", sign, from+i+1, line))
		}
	}
	add("-", a[from:endA])
	add("+", b[from:endB])
	return out
}
