// Package stir tells that files in a folder changed, so that whoever waits for that need not
// look again and again.
//
// # Promises
//
//   - What is written, made, renamed or removed in the folder itself after Watch returned is
//     told: many changes as one, none is lost.
//   - Where the system cannot tell, Watch says so, and its caller looks by himself.
//   - What is mapped into memory is not told, nor what happens in folders below.

package durable
