package tui

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// frame is how often the screen is written while something happens: at 60 in a second a
// change waits up to 17 ms.
const frame = time.Second / 120

// burst is how often it is written for keys that come at once, as those of a paste do. One
// key waits for nothing.
const burst = 2 * time.Millisecond

// frames says when the screen is written: what a key drew at once, anything else with the next
// frame, and nothing where nothing was drawn. The library has a ticker for that, which compares
// an unchanged view 120 times a second and lets a key wait for it; it has no switch.
// What it has to write itself, modes and the way to our screen, is asked for
// behind every message but those that come often.
type frames struct {
	canvas *canvas
	taken  bool           // the library writes when it is told
	write  chan time.Time // its renderer reads it instead of its ticker
	keys   chan struct{}  // a key was drawn
	drew   chan struct{}  // something was
	hurry  bool           // what is drawn next is of a key; used by the program's own loop
	modes  atomic.Bool    // the library may have something to write

	mu     sync.Mutex
	newest drawing // guarded by mu
}

// drawnMsg follows what was drawn through the program's loop: when it comes out, the renderer
// has it.
type drawnMsg struct{}

func newFrames(o Options) *frames {
	f := &frames{write: make(chan time.Time, 1), keys: make(chan struct{}, 1), drew: make(chan struct{}, 1)}
	f.canvas = newCanvas(o.Out, o.Env, func() { nudge(f.keys, struct{}{}) })
	return f
}

// program is one that shows a model and writes when these frames say so.
func (f *frames) program(ctx context.Context, o Options, m tea.Model) *tea.Program {
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(f.canvas.output()),
		tea.WithEnvironment(o.Env), tea.WithoutSignalHandler(), tea.WithFPS(int(time.Second/frame)),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg { return f.filter(msg) }))
	f.taken = f.take(p)
	go f.run(ctx, p.Send)
	return p
}

// take puts itself in the place of the ticker of a program that has not begun. Where there is no
// such ticker, the library goes on by its own.
func (f *frames) take(p *tea.Program) bool {
	field := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return false
	}
	own := time.NewTicker(time.Hour) // the library sets and stops it; nobody reads it, so it never wakes
	own.C = f.write
	*(**time.Ticker)(unsafe.Pointer(field.UnsafeAddr())) = own
	return true
}

// filter sees every message before anybody follows it, those of the library too.
func (f *frames) filter(msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case drawnMsg:
		nudge(f.write, time.Now())
		return nil
	case tea.KeyPressMsg:
		f.hurry = true
	case eventsMsg, tickMsg, tea.MouseMsg: // of which the library makes nothing
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset {
			f.canvas.together()
		}
		f.modes.Store(true)
	default:
		f.modes.Store(true)
	}
	return msg
}

// blank is what the library is given to draw; where it is empty, it takes the screen for no screen.
const blank = " "

// drawn takes a screen that was made.
func (f *frames) drawn(d drawing) {
	f.mu.Lock()
	f.newest = d
	f.mu.Unlock()
	if f.hurry {
		nudge(f.keys, struct{}{})
	} else {
		nudge(f.drew, struct{}{})
	}
	f.hurry = false
}

// nudge lets who reads a channel with room for one know; who was told and has not looked yet will.
func nudge[T any](who chan T, what T) {
	select {
	case who <- what:
	default:
	}
}

// run writes what was drawn, until the end. send gives the program a message, and returns when
// it is taken.
func (f *frames) run(ctx context.Context, send func(tea.Msg)) {
	var last, key time.Time // when anything, and a key, was written
	for {
		hasty := false
		select {
		case <-f.keys:
			hasty = true
		case <-f.drew:
			hasty = f.wait(ctx, last.Add(frame), f.keys)
		case <-ctx.Done():
			return
		}
		if hasty {
			f.wait(ctx, key.Add(burst), nil)
			key = time.Now()
		}
		last = time.Now()
		f.mu.Lock()
		newest := f.newest
		f.mu.Unlock()
		f.canvas.show(newest)
		if f.modes.Swap(false) && f.taken {
			send(drawnMsg{})
		}
	}
}

// wait waits for a moment, and says whether a key came before it.
func (f *frames) wait(ctx context.Context, moment time.Time, keys <-chan struct{}) bool {
	left := time.Until(moment)
	if left <= 0 {
		return false
	}
	late := time.NewTimer(left)
	defer late.Stop()
	select {
	case <-keys:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}
