package local

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"ramet/internal/base/text"
)

// ends keeps the beginning and the end of what is written to it, and counts the rest.
type ends struct {
	text.EndsBuffer
	where string // a file that has all of it; empty: none
}

func newEnds(head, tail int) *ends { return &ends{EndsBuffer: text.EndsBuffer{Head: head, Tail: tail}} }

// String returns what was kept, fit to be shown, with a line in between that says how
// much is missing.
func (e *ends) String() string {
	first, last, missing := e.Kept()
	if missing == 0 {
		return plainOutput(string(first) + string(last))
	}
	missing += len(first)
	first = text.WholeRunes(first)
	missing -= len(first)
	for n := 0; n < utf8.UTFMax-1 && len(last) > 0 && !utf8.RuneStart(last[0]); n++ {
		last = last[1:]
		missing++
	}
	note := ""
	if e.where != "" {
		note = "; all of it is in " + e.where + ", for read and grep"
	}
	return fmt.Sprintf("%s\n[… %d bytes are left out here%s …]\n%s", strings.TrimSuffix(plainOutput(string(first)), "\n"), missing, note, plainOutput(string(last)))
}

// escapes are the sequences by which a program moves the cursor, changes colours,
// sets titles and the like. None goes over the end of a line.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-OQ-WYZ\\` + "`" + `-~])`)
})

// plainOutput returns output without escape codes. Of a line that was written over, as
// progress bars do, the last version stays.
func plainOutput(s string) string {
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = escapes().ReplaceAllString(s, "")
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		var b strings.Builder
		for line := range strings.Lines(s) {
			body, ended := strings.CutSuffix(line, "\n")
			body = strings.TrimRight(body, "\r")
			b.WriteString(body[strings.LastIndexByte(body, '\r')+1:])
			if ended {
				b.WriteByte('\n')
			}
		}
		s = b.String()
	}
	return text.Safe(s)
}
