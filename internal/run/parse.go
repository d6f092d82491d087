package run

import (
	"bytes"
	"errors"
	"fmt"
)

// parse makes entries of the lines, up to the first that is none.
func (b *batch) parse() {
	b.entries = make([]Entry, 0, len(b.Lines))
	offset := b.Offset
	for i, line := range b.Lines {
		e, err := ParseChunk(line)
		if err != nil {
			b.bad = &BadChunk{b.Line + int64(i), offset, err}
			return
		}
		b.entries = append(b.entries, Entry{Event: e, Line: b.Line + int64(i), Offset: offset, Raw: line})
		offset += int64(len(line)) + 1
	}
}

// ParseChunk reads one line and checks its own hash. What it refuses, it explains.
func ParseChunk(line []byte) (Event, error) {
	e, err := ParseLine(line)
	if err != nil {
		return e, explainLine(line, err)
	}
	if !e.Intact() {
		return e, errHash
	}
	return e, nil
}

// explainLine names the usual accidents, which a parser can only call unexpected.
func explainLine(line []byte, err error) error {
	switch {
	case len(line) == 0:
		return errors.New("the line is blank")
	case len(line) > MaxLine:
		return fmt.Errorf("the line is longer than %d bytes", MaxLine)
	case bytes.HasPrefix(line, []byte("\xef\xbb\xbf")):
		return errors.New("the line begins with a byte order mark")
	case bytes.HasSuffix(line, []byte("\r")):
		return errors.New("the line ends with CR LF, not with LF alone")
	case bytes.IndexByte(line, 0) >= 0:
		return fmt.Errorf("a NUL is %d bytes into the line", bytes.IndexByte(line, 0))
	}
	return err
}
