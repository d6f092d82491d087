package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// wake gives the spare the name of the log, before SQLite looks for one.
func wake(db string) {
	spare(db, func(f *os.File) {
		if !rests(f) && wipe(f) != nil {
			return
		}
		os.Link(spareOf(db), logOf(db)) // somebody may have made one meanwhile
	})
}

// keep gives the log its second name, before SQLite removes the first.
func keep(db string) {
	if info, err := os.Lstat(logOf(db)); err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size() <= largestSpare {
		os.Link(logOf(db), spareOf(db)) // mostly there is one
	}
}

// rest wipes the log of which only the spare is left.
func rest(db string) {
	spare(db, func(f *os.File) {
		if !rests(f) {
			wipe(f)
		}
	})
}

// spare opens the spare, locks it, and calls use if it is nothing but that. One that others may read or
// write than the database is let go.
func spare(db string, use func(*os.File)) {
	f, err := os.OpenFile(spareOf(db), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	var is, of unix.Stat_t
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || unix.Fstat(int(f.Fd()), &is) != nil || unix.Stat(db, &of) != nil {
		return
	}
	switch {
	case is.Mode != of.Mode, is.Uid != of.Uid, is.Gid != of.Gid:
		os.Remove(spareOf(db))
	case is.Nlink == 1:
		use(f)
	}
}

func rests(f *os.File) bool {
	var head [len(atRest)]byte
	_, err := f.ReadAt(head[:], 0)
	return err == nil && string(head[:]) == atRest
}

// wipe ends where there is nothing any more: a log is written from its beginning.
func wipe(f *os.File) error {
	if _, err := f.WriteAt(make([]byte, len(atRest)), 0); err != nil {
		return err
	}
	if err := unix.Fsync(int(f.Fd())); err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Size() > largestSpare {
		f.Truncate(largestSpare)
	}
	piece := make([]byte, 16<<10)
	for at := int64(len(atRest)); ; at += int64(len(piece)) {
		n, _ := f.ReadAt(piece, at)
		if blank(piece[:n]) {
			break
		}
		clear(piece)
		if _, err := f.WriteAt(piece[:n], at); err != nil {
			return err
		}
	}
	_, err := f.WriteAt([]byte(atRest), 0)
	return err
}

func blank(b []byte) bool {
	for _, one := range b {
		if one != 0 {
			return false
		}
	}
	return true
}
