// Package deep gives a goroutine its stack in one piece. A stack grows by copies, each twice
// as large, and each copy looks up every frame in the tables of the program, which lie all over
// its file: on the way into SQLite four copies read megabytes of it that nothing else needs.
//
// Promises:
//
//   - what Verb returns, called first of all in a goroutine, has room for a verb of the store, down to
//     SQLite's own calls, what Turn returns for a turn of an agent: on the way there nothing is copied, and
//     before it the same few frames are, wherever the goroutine began;
//   - no page of it is touched before it is used; what stays unused goes when garbage is collected;
//   - the first goroutine has room before other packages begin: some compile expressions then.
package deep

// What is needed: the sizes of stacks are powers of two, and a few kilobytes are in use already.
const (
	verb  = 28 << 10
	turn  = 60 << 10
	begin = 120 << 10
)

func init() { forBegin(0) }

// Verb is f, in a goroutine that has room for a verb of the store.
func Verb(f func()) func() {
	return func() {
		forVerb(0)
		f()
	}
}

// Turn is f, in a goroutine that has room for a turn of an agent.
func Turn(f func()) func() {
	return func() {
		forTurn(0)
		f()
	}
}

// Each of these has a large frame, which it does not touch: who calls it must have the stack for
// it. They differ in nothing but the frame, whose size is a constant of the function.

//go:noinline
func forVerb(n int) int {
	if n > 0 {
		var frame [verb]byte
		return forVerb(int(frame[n-1])) // of a frame that nobody could use nothing would be left
	}
	return n
}

//go:noinline
func forTurn(n int) int {
	if n > 0 {
		var frame [turn]byte
		return forTurn(int(frame[n-1]))
	}
	return n
}

//go:noinline
func forBegin(n int) int {
	if n > 0 {
		var frame [begin]byte
		return forBegin(int(frame[n-1]))
	}
	return n
}
