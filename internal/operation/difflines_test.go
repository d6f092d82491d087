package operation

import (
	"slices"
	"testing"
)

func TestLinesOfADiffHaveTheirNumbers(t *testing.T) {
	diff := "--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@\n same\n--- odd\n+new\n last\n\\ No newline at end of file\n@@ -9 +9,2 @@\n-gone\n+came\n+++ too\n"
	want := []string{"--- a/x", "+++ b/x", "@@ -3,3 +3,3 @@",
		"    3     3   same", "    4        --- odd", "          4  +new", "    5     5   last", `\ No newline at end of file`,
		"@@ -9 +9,2 @@", "    9        -gone", "          9  +came", "         10  +++ too"}
	if got := slices.Collect(numberDiffLines(diff)); !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}
