package sqlite

import (
	"os"
	"strings"

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
	var head [4]byte
	f.Read(head[:])
	if begins := string(head[:]); begins == "\x37\x7f\x06\x82" || begins == "\x37\x7f\x06\x83" || strings.HasPrefix("ramet: a log at rest", begins) {
		step.Remove(path)
	}
}
