package local

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"ramet/internal/base/text"
)

// ends keeps the beginning and the end of what is written to it, and counts the
// rest. It takes no more memory than these, however much comes.
type ends struct {
	head, tail int    // how many bytes of each
	where      string // a file that has all of it; empty: none

	first []byte
	last  []byte // a ring once it is full
	next  int    // where in the ring the next byte goes
	total int64
}

// Write never fails.
func (e *ends) Write(p []byte) (int, error) {
	n := len(p)
	e.total += int64(n)
	if room := e.head - len(e.first); room > 0 {
		k := min(room, len(p))
		e.first = append(e.first, p[:k]...)
		p = p[k:]
	}
	if len(p) > e.tail {
		p = p[len(p)-e.tail:]
	}
	if room := e.tail - len(e.last); room > 0 {
		k := min(room, len(p))
		e.last = append(e.last, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 && e.tail > 0 {
		k := copy(e.last[e.next:], p)
		e.next = (e.next + k) % e.tail
		p = p[k:]
	}
	return n, nil
}

// String returns what was kept, fit to be shown, with a line in between that says how
// much is missing.
func (e *ends) String() string {
	last := append(append([]byte{}, e.last[e.next:]...), e.last[:e.next]...)
	missing := e.total - int64(len(e.first)) - int64(len(last))
	if missing == 0 {
		return plainOutput(string(e.first) + string(last))
	}
	first := wholeRunes(e.first)
	missing += int64(len(e.first) - len(first))
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
