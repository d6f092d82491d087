package deep

import (
	"runtime/debug"
	"testing"
	"unsafe"
)

// A stack that is copied lies elsewhere afterwards.
func moved(room func(func()) func(), use func(int) int) bool {
	answer := make(chan bool)
	go room(func() {
		var here int
		before := uintptr(unsafe.Pointer(&here))
		use(0)
		answer <- uintptr(unsafe.Pointer(&here)) != before
	})()
	return <-answer
}

//go:noinline
func verbs(n int) int {
	if n > 0 {
		var frame [20 << 10]byte
		return verbs(int(frame[n-1]))
	}
	return n
}

//go:noinline
func turns(n int) int {
	if n > 0 {
		var frame [50 << 10]byte
		return turns(int(frame[n-1]))
	}
	return n
}

func TestAStackWithRoomIsNotCopied(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which makes stacks smaller
	for _, c := range []struct {
		name  string
		room  func(func()) func()
		use   func(int) int
		moves bool
	}{
		{"a verb without room", func(f func()) func() { return f }, verbs, true},
		{"a verb", Verb, verbs, false},
		{"a turn with room for a verb", Verb, turns, true},
		{"a turn", Turn, turns, false},
	} {
		if got := moved(c.room, c.use); got != c.moves {
			t.Errorf("%s: its stack is copied: %t", c.name, got)
		}
	}
}
