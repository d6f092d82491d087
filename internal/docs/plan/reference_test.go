package plan

import "testing"

func TestWhatIsPublic(t *testing.T) {
	for _, c := range []struct {
		name, language string
		want           bool
	}{
		{"example.org/hello", "go", true},
		{"example.org/hello/internal/x", "go", false},
		{"example.org/hello/examples/x", "go", false},
		{"hello.tests.x", "python", false},
		{"hello._x", "python", false},
		{"hello::example", "rust", false},
		{"@scope/test.js", "javascript", true},
	} {
		if got := public(c.name, c.language); got != c.want {
			t.Errorf("%s is public: %t", c.name, got)
		}
	}
}
