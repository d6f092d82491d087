package sqlite

import (
	"os"

	"ramet/internal/base/step"
)

// removeSpare removes the second name that older versions gave to SQLite's log, to keep its blocks. SQLite never
// reads it. A file of that name that is no log is left alone.
func removeSpare(db string) {
	path := db + "-spare"
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	var head [4]byte // of a log in either order of bytes, of one that was put aside, or of one whose wiping was interrupted
	f.Read(head[:])
	switch string(head[:]) {
	case "\x37\x7f\x06\x82", "\x37\x7f\x06\x83", "rame", "\x00\x00\x00\x00":
		step.Remove(path)
	}
}
