package public

import (
	"encoding/json"

	"ramet/internal/base/text"
)

// Hide is a line of JSON without secrets. One can seem to begin in one value and to
// end in another; then each value is looked at alone, so that it stays JSON.
func Hide(line string, hide func(string) string) string {
	if out := hide(line); out == line || json.Valid([]byte(out)) {
		return out
	}
	return string(text.Strings([]byte(line), hide))
}
