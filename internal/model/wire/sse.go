package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

var errTooLong = errors.New("event too long")

// scanEvents reads server-sent events: name and data of each. Comments, other
// fields and events without a byte of data, by which some servers say that they are
// still there, are passed over. What stands behind the last empty line is only part of
// an event and is dropped, as the standard demands. When the input ends, err is
// why, or nil for its proper end. The data is good until the next event.
func scanEvents(in io.Reader, err *error) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		lines := &lineReader{r: bufio.NewReaderSize(in, 16<<10)}
		name, data, any := "", []byte(nil), false
		last := "" // the newest name: most events have that of the one before
		for {
			line, e := lines.next()
			if e != nil {
				if !errors.Is(e, io.EOF) {
					*err = e
				}
				return
			}
			if len(line) == 0 {
				if len(data) > 0 && !yield(name, data) {
					return
				}
				name, data, any = "", data[:0], false
				continue
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "event":
				if string(value) != last {
					last = string(value)
				}
				name = last
			case "data":
				if any {
					data = append(data, '\n')
				}
				data, any = append(data, value...), true
				if len(data) > MaxEvent {
					*err = errTooLong
					return
				}
			}
		}
	}
}

// lineReader reads lines that end with LF, CR LF or CR.
type lineReader struct {
	r       *bufio.Reader
	buf     []byte
	afterCR bool // the line before ended with CR: a LF that follows belongs to it
	begun   bool
}

// next returns the next whole line, without its end; a last line without one is not
// whole. It is good until the call after.
func (l *lineReader) next() ([]byte, error) {
	l.buf = l.buf[:0]
	for {
		if _, err := l.r.Peek(1); err != nil {
			return nil, err
		}
		if !l.begun { // a byte order mark may stand before everything
			l.begun = true
			if mark, _ := l.r.Peek(3); string(mark) == "\ufeff" {
				l.r.Discard(3)
				continue
			}
		}
		have, _ := l.r.Peek(l.r.Buffered())
		if l.afterCR {
			l.afterCR = false
			if have[0] == '\n' {
				l.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexByte(have, '\n')
		if cr := bytes.IndexByte(have[:max(end, 0)], '\r'); end >= 0 && cr >= 0 {
			end = cr
		} else if end < 0 {
			end = bytes.IndexByte(have, '\r')
		}
		if end < 0 {
			l.buf = append(l.buf, have...)
			l.r.Discard(len(have))
		} else {
			l.buf = append(l.buf, have[:end]...)
			l.afterCR = have[end] == '\r'
			l.r.Discard(end + 1)
		}
		if len(l.buf) > MaxEvent {
			return nil, errTooLong
		}
		if end >= 0 {
			return l.buf, nil
		}
	}
}
