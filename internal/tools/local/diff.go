package local

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff"

	"ramet/internal/base/text"
)

const (
	mostDiffed = 1 << 20  // bytes that are compared line by line
	mostShown  = 64 << 10 // bytes of a diff
)

// diffForPeople returns what changed, for people.
func diffForPeople(rel, before, after string) string {
	if len(before)+len(after) > mostDiffed {
		return fmt.Sprintf("%s: %s before, %s now", showPath(rel), sizeOf(before), sizeOf(after))
	}
	from, to := "a/"+showPath(rel), "b/"+showPath(rel)
	if before == "" {
		from = "/dev/null"
	}
	d := text.Safe(udiff.Unified(from, to, before, after))
	if len(d) > mostShown {
		d = string(wholeRunes([]byte(d[:mostShown]))) + "\n[the rest of the changes is not shown]\n"
	}
	return d
}
