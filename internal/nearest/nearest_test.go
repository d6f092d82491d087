package nearest

import "testing"

func TestWord(t *testing.T) {
	names := []string{"reviewer", "writer", "planner", "a"}
	for in, want := range map[string]string{
		"reviwer": "reviewer", "wrietr": "writer", "planner": "planner",
		"zzzzzz": "", "": "a", "b": "a", "plan": "", "writers": "writer",
	} {
		if got := Word(in, names); got != want {
			t.Errorf("Word(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Word("x", nil); got != "" {
		t.Errorf("no candidates: %q", got)
	}
}
