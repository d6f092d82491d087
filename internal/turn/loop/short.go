package loop

import (
	"fmt"
	"unicode/utf8"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// A message in its short form has its beginning and its end, and says how much of which
// entry is left out; the entry itself is whole in the history. The form depends on
// nothing else, so that it is the same whenever a history is replayed.
const (
	shortResult = 400     // bytes of the beginning, and of the end, of a result
	shortWords  = 2 << 10 // of what the user said
	shortGain   = 256     // a form that spares less is not worth it
)

// shortenItem returns an item in its short form.
func shortenItem(it item) item {
	parts := make([]llm.Part, len(it.message.Parts))
	for i, p := range it.message.Parts {
		switch {
		case p.Type == llm.Image:
			p = llm.Part{Type: llm.Text, Text: fmt.Sprintf("[an image of entry %d is left out here]", it.id)}
		case p.Type == llm.Document:
			p = llm.Part{Type: llm.Text, Text: fmt.Sprintf("[a document of entry %d is left out here]", it.id)}
		case p.Type == llm.ToolResult:
			p.Text = leftOut(p.Text, it.id, shortResult)
		case p.Type == llm.Text && it.kind != history.Assistant:
			p.Text = leftOut(p.Text, it.id, shortWords)
		}
		parts[i] = p
	}
	it.message.Parts, it.short = parts, true
	return it
}

// leftOut returns the ends of a text of an entry.
func leftOut(s string, of id.Message, ends int) string {
	if len(s) <= 2*ends+shortGain {
		return s
	}
	head, tail := s[:ends], s[len(s)-ends:]
	for len(head) > 0 && !utf8.RuneStart(s[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[… %d bytes of entry %d are left out here …]\n%s", head, len(s)-len(head)-len(tail), of, tail)
}

// bytesSaved returns how many bytes the short form of an item is shorter; 0: it has none.
func bytesSaved(it item) int64 {
	if it.short || it.kind != history.ToolResult && !isPrompt(it.kind) {
		return 0
	}
	n := int64(0)
	for i := range it.message.Parts {
		p, ends := &it.message.Parts[i], shortResult
		switch {
		case p.Type == llm.Image:
			n += imageSize - 64
			continue
		case p.Type == llm.Document:
			n += documentSize(p) - 64
			continue
		case p.Type == llm.Text:
			ends = shortWords
		}
		if len(p.Text) > 2*ends+shortGain {
			n += int64(len(p.Text) - 2*ends - 64)
		}
	}
	if n < shortGain/2 {
		return 0
	}
	return n
}
