package llmtest

import (
	"regexp"
	"strings"
	"testing"

	"ramet/internal/base/fault"
)

// miscounted: whoever counts less than nothing is not believed in anything.
func (s Suite) miscounted(t *testing.T) {
	for _, number := range []string{"12", "5"} {
		count := regexp.MustCompile(`("[a-z_]*[tT]oken[A-Za-z_]*"\s*:\s*)` + number + `\b`)
		text := read(t, "text.sse")
		wrong := count.ReplaceAllString(text, "${1}-"+number)
		if wrong == text {
			t.Fatalf("text.sse has no count %s", number)
		}
		_, usage, _, err := collect(t, s.server(t, play(wrong)), s.request())
		if !fault.Is(err, fault.ProviderProtocol) || !strings.Contains(err.Error(), "tokens") {
			t.Errorf("-%s tokens: %+v, %v", number, usage, err)
		}
	}
}
