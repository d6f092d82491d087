package httpapi

import (
	"testing"

	"ramet/internal/turn/tool"
)

// A question about a file says what would be written into it.
func TestAQuestionShowsWhatWouldBeWritten(t *testing.T) {
	patch := "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n"
	for _, c := range []struct {
		patch string
		want  Change
	}{
		{patch, Change{Patch: patch}},
		{tool.PatchWithoutPlaces + "+package a\n", Change{Added: "package a\n"}},
		{tool.PatchWithoutPlaces + "-a\n+b\n--- c\n++d\n", Change{Removed: "a\n-- c\n", Added: "b\n+d\n"}},
	} {
		if got := changeOf(c.patch); *got != c.want {
			t.Errorf("%q: %+v", c.patch, got)
		}
	}
	if changeOf("") != nil {
		t.Error("a change without a patch")
	}
}
