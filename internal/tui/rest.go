package tui

import (
	"reflect"
	"sync"
	"time"
	"unsafe"

	tea "charm.land/bubbletea/v2"
)

// frame is how often the screen is written while something happens: a key waits for the next
// one, and at 60 in a second that alone takes up to 17 ms.
const frame = time.Second / 120

// rested is how long after the last message nothing is left to be written.
const rested = 100 * time.Millisecond

// rest lets the renderer sleep while nothing happens. The library's own ticker compares an
// unchanged view 120 times a second, which costs an idle terminal more than a hundredth of a
// processor; it has no switch for that (docs/decisions/052).
type rest struct {
	mu     sync.Mutex
	ticker *time.Ticker // the renderer's; nil: it cannot be had, and is left alone
	timer  *time.Timer
	asleep bool
}

// take finds the ticker of a program that runs.
func (r *rest) take(p *tea.Program) {
	field := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return
	}
	r.ticker = *(**time.Ticker)(unsafe.Pointer(field.UnsafeAddr()))
}

// wake lets it write what a message changes, and then sleep again. Every message passes
// here, those of the library itself too, before anybody follows it.
func (r *rest) wake(p *tea.Program) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ticker == nil {
		if r.take(p); r.ticker == nil {
			return
		}
		r.timer = time.AfterFunc(rested, r.sleep)
		return
	}
	if r.asleep {
		r.ticker.Reset(frame)
		r.asleep = false
	}
	r.timer.Reset(rested)
}

func (r *rest) sleep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticker.Stop()
	r.asleep = true
}
