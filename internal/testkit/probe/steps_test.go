package probe

import (
	"fmt"
	"slices"
	"testing"
)

func TestSelectKeepsEveryLabelWithItsEnds(t *testing.T) {
	all := []Point{{Label: "link", N: 1}}
	for n := range 10 {
		all = append(all, Point{Label: "write", N: n + 1})
	}
	for most, want := range map[int]string{1: "[link:1 write:1]", 2: "[link:1 write:1 write:10]", 3: "[link:1 write:1 write:6 write:10]", 10: fmt.Sprint(all)} {
		if got := SelectSteps(slices.Clone(all), most); fmt.Sprint(got) != want {
			t.Errorf("at most %d: %v, not %s", most, got, want)
		}
	}
}
