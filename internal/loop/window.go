package loop

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/llm"
)

// Window is what was learnt of a model while it was asked, and no table says: how much it
// reads. The turns of a kernel that ask the same model share one; the zero Window knows
// nothing.
type Window struct {
	mu   sync.Mutex
	most int64 // tokens; 0: nothing was learnt
}

func (w *Window) get() int64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// learn takes a window, if it is narrower than what is known.
func (w *Window) learn(tokens int64) {
	if w == nil || tokens <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.most == 0 || tokens < w.most {
		w.most = tokens
	}
}

// window is how much the model reads and writes, in tokens; 0: nobody knows.
func (r *turn) window() int64 {
	out := r.Model.Context
	for _, n := range []int64{r.Learnt.get(), r.narrow} {
		if n > 0 && (out == 0 || n < out) {
			out = n
		}
	}
	return out
}

// meter is what is known of tokens and bytes. Vendors count in their own way, and their
// counts come with each answer; between two of them bytes are counted.
type meter struct {
	tokens int64   // of the last call; 0: nobody counted
	size   int64   // bytes of the conversation then
	in     int64   // tokens that were read, of them
	sent   int64   // bytes that were sent, the fixed part included
	rate   float64 // tokens a byte; 0: not known
}

// Tokens a byte: usually, and within what a count is believed.
const (
	usualRate = 2.0 / 7
	leastRate = 1.0 / 12
	mostRate  = 2.0
)

func (m *meter) tokensOf(bytes int64) int64 {
	rate := m.rate
	if rate == 0 {
		rate = usualRate
	}
	return int64(float64(bytes) * rate)
}

func (m *meter) bytesOf(tokens int64) int64 {
	rate := m.rate
	if rate == 0 {
		rate = usualRate
	}
	return int64(float64(tokens) / rate)
}

// tokens is how much the next request would be, about.
func (r *turn) tokens() int64 {
	m := &r.meter
	if m.tokens > 0 {
		return m.tokens + m.tokensOf(max(0, r.c.state.size-m.size))
	}
	return m.tokensOf(r.fixed + r.c.state.size)
}

// silentCut is from how many bytes on it is noticed that a server reads less than it
// was sent; shorter requests are mostly what tools say of themselves.
const silentCut = 16 << 10

// counted takes what the vendor counted of a call; sent is the bytes of the request. It says
// how much the server reads at most where that was less than was sent: it cuts what is too
// long and does not say so.
func (r *turn) counted(u llm.Usage, sent int64) (cutAt int64) {
	m := &r.meter
	in := u.Input + u.CacheRead + u.CacheWrite
	least, most := int64(float64(sent)*leastRate), int64(float64(sent)*mostRate)+1000
	grown := sent - m.sent
	switch {
	case in == 0:
		m.tokens = 0
		return 0
	case !r.Model.Known && sent > silentCut && in >= 256 &&
		(in < least || m.sent > 0 && grown > silentCut/2 && in < m.in+int64(float64(grown)*leastRate)):
		cutAt = max(in, m.in) + u.Output
		m.tokens, m.in, m.sent = 0, 0, 0
		return cutAt
	case in < least || in > most: // whatever that is, it is no count of this request
		m.tokens = 0
		return 0
	}
	m.tokens, m.size = u.Total(), r.c.state.size
	m.in, m.sent = in, sent
	if sent > 4<<10 {
		m.rate = min(max(float64(in)/float64(sent), leastRate), 1)
	}
	return 0
}

// windowWords are how vendors tell how much a model reads when a request was too long.
var windowWords = regexp.MustCompile(`(?i)(?:maximum context length is|context (?:length|window|size|limit)[^0-9.]{0,24}|tokens? > |\d > |maximum (?:number of )?tokens[^0-9.]{0,24}|n_ctx[^0-9]{0,4})\s*([0-9][0-9,]{2,9})`)

// windowIn is the window that a refusal names.
func windowIn(said string) (int64, bool) {
	found := windowWords.FindStringSubmatch(said)
	if found == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(found[1], ",", ""), 10, 64)
	return n, err == nil && n >= 256
}

// tooLong learns from a request that was refused because it was too long.
func (r *turn) tooLong(why error) {
	sent := r.tokens()
	named, ok := windowIn(why.Error())
	switch window := r.window(); {
	case ok && (window == 0 || named < window):
		r.Learnt.learn(named)
		r.narrow = named
	case !ok && (window == 0 || window > sent):
		r.narrow = sent * 9 / 10
	}
	// Whatever was estimated, it was more.
	if window := r.window(); sent < window {
		bytes := r.fixed + r.c.state.size
		r.meter.rate = min(float64(window)/float64(max(1, bytes)), mostRate)
	}
	r.meter.tokens, r.meter.in, r.meter.sent = 0, 0, 0
}
