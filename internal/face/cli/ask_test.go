package cli

import (
	"strings"
	"testing"
)

// Who answers with something else is told what to type, and nothing is decided meanwhile.
func TestWhatIsNoAnswerIsExplained(t *testing.T) {
	for said, want := range map[string]string{"": "type once", "yes": "did you mean once?", "n": "did you mean no?", "onec": "did you mean once?", "rm": `"rm" is not an answer`} {
		if v, ok := parseAnswer(said); ok {
			t.Errorf("%q decides: %+v", said, v)
		}
		if got := noAnswer(said, false); !strings.Contains(got, want) {
			t.Errorf("%q: %s", said, got)
		}
	}
}
