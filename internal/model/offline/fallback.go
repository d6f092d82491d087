package offline

import "ramet/internal/base/text"

// fallback matches the part of an order that says what to write if the model can do no better: a file,
// and a text between lines of five tildes.
var fallback = text.Regexp("(?s)[Ii]f you can do no better, write to `([^`\n]+)` this text:\n\n~~~~~\n(.*?)\n~~~~~\n")

// answerFallback carries out an order that has such a text: this model can do no better. ok is
// false for all others.
func (w *work) answerFallback(order string) (ok bool) {
	m := fallback().FindStringSubmatch(order)
	if m == nil {
		return false
	}
	w.carryOut(oneCall("write", "write "+showName(m[1]), map[string]any{"path": m[1], "content": m[2] + "\n"})[0])
	return true
}
