package text

import (
	"slices"
	"testing"
)

func TestWord(t *testing.T) {
	names := []string{"reviewer", "writer", "planner", "a"}
	for in, want := range map[string]string{
		"reviwer": "reviewer", "wrietr": "writer", "planner": "planner",
		"zzzzzz": "", "": "a", "b": "a", "plan": "", "writers": "writer",
	} {
		if got := NearestWord(in, names); got != want {
			t.Errorf("Word(%q) = %q, want %q", in, got, want)
		}
	}
	if got := NearestWord("x", nil); got != "" {
		t.Errorf("no candidates: %q", got)
	}
}

func TestWords(t *testing.T) {
	names := []string{"reviews", "review", "review", "deploy", "revue"}
	if got := NearestWords("reviewe", names, 2); !slices.Equal(got, []string{"reviews", "review"}) {
		t.Errorf("%q", got)
	}
	if got := NearestWords("xyzzy", names, 2); got != nil {
		t.Errorf("%q", got)
	}
}
