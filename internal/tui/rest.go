package tui

import (
	"reflect"
	"sync"
	"time"
	"unsafe"

	tea "charm.land/bubbletea/v2"
)

// frame is how often the screen is written while something happens: at 60 in a second a
// change waits up to 17 ms.
const frame = time.Second / 120

// soon is how often it is looked at just after a key, for as long as haste: who types waits
// for no frame.
const (
	soon  = 2 * time.Millisecond
	haste = 24 * time.Millisecond
)

// rested is how long after the last message nothing is left to be written.
const rested = 100 * time.Millisecond

// rest lets the renderer sleep while nothing happens. The library's own ticker compares an
// unchanged view 120 times a second, which costs an idle terminal more than a hundredth of a
// processor; it has no switch for that (docs/decisions/052).
type rest struct {
	mu     sync.Mutex
	ticker *time.Ticker // the renderer's; nil: it cannot be had, and is left alone
	timer  *time.Timer
	pace   time.Duration // how often it ticks; 0: it sleeps
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
func (r *rest) wake(p *tea.Program, msg tea.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ticker == nil {
		if r.take(p); r.ticker == nil {
			return
		}
		r.pace = frame
		r.timer = time.AfterFunc(rested, r.slower)
	}
	if _, key := msg.(tea.KeyPressMsg); key {
		r.to(soon)
	} else {
		r.stay()
	}
}

// drawn lets it write what was drawn of a message, however long that took.
func (r *rest) drawn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ticker != nil {
		r.stay()
	}
}

// stay keeps it awake; the haste after a key is not made longer by other messages.
func (r *rest) stay() {
	if r.pace != soon {
		r.to(frame)
	}
}

// to sets the pace. A ticker that keeps its pace is not touched: set anew by every message,
// it would never tick.
func (r *rest) to(pace time.Duration) {
	if r.pace != pace {
		r.ticker.Reset(pace)
		r.pace = pace
	}
	if pace == soon {
		r.timer.Reset(haste)
	} else {
		r.timer.Reset(rested)
	}
}

// slower ends the haste, and after it everything.
func (r *rest) slower() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pace == soon {
		r.to(frame)
		return
	}
	r.ticker.Stop()
	r.pace = 0
}
