package loop

import (
	"sync"
)

// Window records the size of a model's context as learnt from its refusals, which no table has: how much it
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

// meter relates tokens to bytes. Vendors count in their own way, and their
// counts come with each answer; between two of them bytes are counted.
type meter struct {
	tokens int64   // of the last call; 0: nobody counted
	size   int64   // bytes of the conversation then
	in     int64   // tokens that were read, of them
	sent   int64   // bytes that were sent, the fixed part included
	rate   float64 // tokens a byte; 0: not known
}

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

// Tokens a byte: usually, and within what a count is believed.
const (
	usualRate = 2.0 / 7
	leastRate = 1.0 / 12
	mostRate  = 2.0
)
