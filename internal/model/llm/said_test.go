package llm

import "testing"

func TestFailuresAreSaidOnce(t *testing.T) {
	for _, c := range []struct {
		text  string
		fails bool
		want  string
	}{
		{"fine", false, "fine"},
		{"There is no a.go.", true, "error: There is no a.go."},
		{"--- FAIL: TestAdd\n[exit code 1]", true, "--- FAIL: TestAdd\n[exit code 1]"},
		{"[exit code 1]\n[ramet] It failed twice.", true, "[exit code 1]\n[ramet] It failed twice."},
		{"[exit code 1] and more", true, "error: [exit code 1] and more"},
	} {
		if got := (Part{Type: ToolResult, Text: c.text, IsError: c.fails}).Failure(); got != c.want {
			t.Errorf("%q: %q", c.text, got)
		}
	}
}
