package llm

import "ramet/internal/base/text"

// ended is the last line of a command's output that says how it ended; we may have said
// something behind it.
var ended = text.Regexp(`\[exit code -?\d+\]\s*(\n\[ramet\] [^\n]*\s*)?$`)

// Failure returns a result for protocols that have no other place for saying that it is one of a
// failure. What a command printed stays as it was printed where its end says so by itself.
func (p Part) Failure() string {
	if !p.IsError || ended().MatchString(p.Text) {
		return p.Text
	}
	return "error: " + p.Text
}
