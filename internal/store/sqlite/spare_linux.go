package sqlite

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"ramet/internal/base/step"
)

// wake gives the spare the name of the log, before SQLite looks for one.
func wake(db string) {
	spare(db, func(f *step.File) {
		if !rests(f) && wipe(f) != nil {
			return
		}
		step.Link(spareOf(db), logOf(db)) // somebody may have made one meanwhile
	})
}

// keep gives the log its second name, before SQLite removes the first.
func keep(db string) {
	if info, err := os.Lstat(logOf(db)); err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size() <= largestSpare {
		step.Link(logOf(db), spareOf(db)) // mostly there is one
	}
}

// rest wipes the log of which only the spare is left.
func rest(db string) {
	spare(db, func(f *step.File) {
		if !rests(f) {
			wipe(f)
		}
	})
}

// spare opens the spare, locks it, and calls use if it is nothing but that. What somebody else has put there, such as
// a copy of the database, is left alone. A spare that others may read or write than the database is let go.
func spare(db string, use func(*step.File)) {
	f, err := step.OpenFile(spareOf(db), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	var is, of unix.Stat_t
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || unix.Fstat(int(f.Fd()), &is) != nil || unix.Stat(db, &of) != nil {
		return
	}
	switch {
	case is.Mode&unix.S_IFMT != unix.S_IFREG, !isLog(f):
	case is.Mode != of.Mode, is.Uid != of.Uid, is.Gid != of.Gid:
		step.Remove(spareOf(db))
	case is.Nlink == 1:
		use(f)
	}
}

// isLog says whether a file begins as a log does: one of SQLite's, in either order of bytes, one at rest, one whose
// wiping was broken off, or one that is empty.
func isLog(f *step.File) bool {
	var head [len(atRest)]byte
	n, _ := f.ReadAt(head[:], 0)
	magic := string(head[:4])
	return blank(head[:n]) || string(head[:n]) == atRest || n == len(head) && (magic == "\x37\x7f\x06\x82" || magic == "\x37\x7f\x06\x83")
}

func rests(f *step.File) bool {
	var head [len(atRest)]byte
	_, err := f.ReadAt(head[:], 0)
	return err == nil && string(head[:]) == atRest
}

func wipe(f *step.File) error {
	if _, err := f.WriteAt(make([]byte, len(atRest)), 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Size() > largestSpare {
		f.Truncate(largestSpare)
	}
	if err := blankPages(f); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(atRest), 0)
	return err
}

// blankPages wipes what is behind the header, up to where there is nothing any more: a log is written from its
// beginning. The end comes first, so that this holds as well where it was broken off.
func blankPages(f interface {
	io.ReaderAt
	io.WriterAt
}) error {
	piece := make([]byte, 16<<10)
	var sizes []int
	for {
		n, _ := f.ReadAt(piece, int64(len(atRest)+len(sizes)*len(piece)))
		if blank(piece[:n]) {
			break
		}
		sizes = append(sizes, n)
	}
	clear(piece)
	for i := len(sizes) - 1; i >= 0; i-- {
		if _, err := f.WriteAt(piece[:sizes[i]], int64(len(atRest)+i*len(piece))); err != nil {
			return err
		}
	}
	return nil
}

func blank(b []byte) bool {
	for _, one := range b {
		if one != 0 {
			return false
		}
	}
	return true
}
