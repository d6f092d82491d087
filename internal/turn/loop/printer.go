package loop

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// longestLine limits how much of an unfinished line is held back.
const longestLine = 4 << 10

// printer passes on what a tool prints, line by line: a credential never stands
// on two, and no letter is torn.
type printer struct {
	turn *turn
	job  *job
	mu   sync.Mutex // a tool may print from several goroutines
	rest []byte
}

func (p *printer) print(piece []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, piece...)
	n := bytes.LastIndexAny(p.rest, "\n\r") + 1
	if n == 0 && len(p.rest) >= longestLine {
		n = len(p.rest)
		for i := 1; i < utf8.UTFMax && i < n; i++ {
			if last := p.rest[n-i:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					n -= i
				}
				break
			}
		}
	}
	p.pass(n)
}

func (p *printer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass(len(p.rest))
}

func (p *printer) pass(n int) {
	if n == 0 {
		return
	}
	text := p.turn.kept(string(p.rest[:n]))
	p.rest = append(p.rest[:0], p.rest[n:]...)
	p.turn.emit(Event{Type: CallOutput, CallID: p.job.call.CallID, Tool: p.job.call.Name, Text: text})
}
