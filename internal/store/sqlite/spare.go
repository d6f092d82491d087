package sqlite

import (
	"io"
	"os"
)

// Every process that is the last to close the file removes SQLite's log, and the next one makes it anew.
// Where a file system takes long to free what a file holds, that is longer than all else that a small
// command does; and a log that grows is slower to sync than one that has its size. So the log has a second
// name, under which its blocks stay: the spare. While nobody has the database open it is at rest: empty of
// meaning, whatever it was before.
//
// What SQLite finds under the name of the log is its own log, or one at rest, which it takes for empty:
//
//   - Only a file that has no other name is touched. The log that is in use has two; SQLite removes its name
//     when nobody else has the database open; and who gives it that name again holds the lock of the spare.
//   - Its header is wiped first, and the disk has that before anything else of it is changed or it gets the
//     name of the log: half a log would put old pages back, and so would a whole one of another day.
//   - Then its pages are wiped, so that no word of a history stays in it.
//
// What cannot be done is left undone: SQLite makes a log itself.

func logOf(db string) string { return db + "-wal" }

// spareOf is the second name of the log of a database.
func spareOf(db string) string { return db + "-spare" }

// atRest is how a log begins that holds nothing: as long as the header of one, and none. It is written when the
// disk has the wiped header.
const atRest = "ramet: a log at rest, no content"

// largestSpare is how much of a log is kept: what hundreds of small commands write.
const largestSpare = 1 << 20

// hasLog says whether a database has a log that may hold something.
func hasLog(db string) bool {
	f, err := os.Open(logOf(db))
	if err != nil {
		return false
	}
	defer f.Close()
	var head [len(atRest)]byte
	n, _ := io.ReadFull(f, head[:])
	return n > 0 && string(head[:]) != atRest
}
