package ndjson

import (
	"errors"

	"ramet/internal/run"
)

// pass is one way through the lines of a file.
type pass struct {
	run.VerifiedStream
	log  *file
	size int64 // of the file, when the pass began
	end  int64 // without the NULs at the end

	// Set at the end of the pass: what follows the last line feed.
	rest                 []byte
	restLine, restOffset int64
}

// begin starts a pass after the first n events. The event before is read too, so that the next one is seen to follow.
func (l *file) begin(after int64) (*pass, error) {
	size, err := l.size()
	if err != nil {
		return nil, err
	}
	p := &pass{log: l, size: size}
	if p.end, err = trimNULs(l.f, size); err != nil {
		return nil, l.failed(err)
	}
	p.Given = after > 0
	p.Lines = p.lines(max(after, 1))
	return p, nil
}

// judge turns the error that ended a pass into a fault; nil if it ended at a torn
// tail, which readers ignore.
func (p *pass) judge(err error) error {
	bad := (*run.BadLine)(nil)
	if errors.As(err, &bad) {
		torn, readErr := isHole(p.log.f, bad.Offset, p.end)
		if readErr != nil {
			return p.log.failed(readErr)
		}
		if torn {
			return nil
		}
	}
	return p.log.failed(err)
}

// unfinished returns the bytes after the last line feed, NULs at the end aside. A whole
// line and one byte more was not left by a crash: that byte was a line feed.
func (p *pass) unfinished() ([]byte, error) {
	if len(p.rest) < 2 {
		return p.rest, nil
	}
	if _, err := run.VerifyLine(p.rest[:len(p.rest)-1]); err == nil {
		return nil, run.ChainBroken(p.log.path, p.restLine, p.restOffset, "the line ends with %q, not with a line feed", p.rest[len(p.rest)-1])
	}
	return p.rest, nil
}
