package operation

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"ramet/internal/base/text"
)

var hunkHeader = text.Regexp(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// numberDiffLines yields the lines of a unified diff, each with its numbers before and after. Lines
// outside of hunks have none.
func numberDiffLines(diff string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var at, left [2]int // before and after: the next line, and how many the hunk still has
		for line := range strings.Lines(diff) {
			line = strings.TrimSuffix(line, "\n")
			sides := []int{}
			switch {
			case left[0] == 0 && left[1] == 0:
				if m := hunkHeader().FindStringSubmatch(line); m != nil {
					for i := range at {
						at[i], left[i] = parseCount(m[1+2*i], 0), parseCount(m[2+2*i], 1)
					}
				}
			case strings.HasPrefix(line, "-"):
				sides = []int{0}
			case strings.HasPrefix(line, "+"):
				sides = []int{1}
			case strings.HasPrefix(line, " "):
				sides = []int{0, 1}
			}
			if len(sides) > 0 {
				shown := [2]string{}
				for _, i := range sides {
					shown[i] = strconv.Itoa(at[i])
					at[i]++
					left[i]--
				}
				line = fmt.Sprintf("%5s %5s  %s", shown[0], shown[1], line)
			}
			if !yield(line) {
				return
			}
		}
	}
}

func parseCount(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return otherwise
	}
	return n
}
