package ndjson

import (
	"bytes"
	"io"

	"ramet/internal/run"
)

// sector is what a disk writes at least. Where a crash lost a part of a write,
// the NULs in its place end with a sector.
const sector = 512

// longestHole bounds what a crash can have left behind the last whole line: more
// than is written at once.
const longestHole = run.MaxLine + 32<<20

// isHole reports whether the file, from a line that is no event on, is what a crash
// leaves of a write that the disk did in another order: NULs up to the end of a
// sector, and no event behind. Two NULs at least: one may be a flipped bit.
func isHole(r io.ReaderAt, from, end int64) (bool, error) {
	if end-from > longestHole {
		return false, nil
	}
	data := make([]byte, end-from)
	if err := readAt(r, data, from); err != nil {
		return false, err
	}
	first, _, _ := bytes.Cut(data, []byte{'\n'})
	if !endsSector(first, from) {
		return false, nil
	}
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		// What the disk did keep may begin in the middle of a line.
		line = line[bytes.LastIndexByte(line, 0)+1:]
		if _, err := run.ParseChunk(line); err == nil {
			return false, nil
		}
	}
	return true, nil
}

// endsSector looks for NULs that go up to the end of a sector.
func endsSector(line []byte, at int64) bool {
	for i := 1; i < len(line); i++ {
		if line[i] == 0 && line[i-1] == 0 && (at+int64(i)+1)%sector == 0 {
			return true
		}
	}
	return false
}
