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
		lines := bufio.NewScanner(in)
		lines.Buffer(make([]byte, 16<<10), MaxEvent)
		lines.Split(splitLines())
		name, data, any := "", []byte(nil), false
		last := "" // the newest name: most events have that of the one before
		for first := true; lines.Scan(); first = false {
			line := lines.Bytes()
			if first { // a byte order mark may stand before everything
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
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
		if *err = lines.Err(); errors.Is(*err, bufio.ErrTooLong) {
			*err = errTooLong
		}
	}
}

// splitLines splits at LF, CR LF or CR. What follows the last of them is no whole line.
func splitLines() bufio.SplitFunc {
	afterCR := false // a LF that follows belongs to the line before
	return func(data []byte, atEOF bool) (advance int, line []byte, err error) {
		start := 0
		if afterCR && len(data) > 0 {
			if afterCR = false; data[0] == '\n' {
				start = 1
			}
		}
		end := bytes.IndexAny(data[start:], "\r\n")
		switch {
		case end >= 0:
			end += start
			afterCR = data[end] == '\r'
			return end + 1, data[start:end], nil
		case atEOF:
			return len(data), nil, nil
		}
		return start, nil, nil
	}
}
