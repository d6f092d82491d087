package ndjson

import (
	"context"
	"errors"
	"io"

	"ramet/internal/run"
)

// pass is one way through the lines of a file.
type pass struct {
	run.VerifiedStream
	log  *file
	from *lines
	size int64 // of the file, when the pass began
	end  int64 // without the NULs at the end
}

// begin starts a pass after the first n events.
func (l *file) begin(ctx context.Context, after int64) (*pass, error) {
	size, err := l.size()
	if err != nil {
		return nil, err
	}
	p := &pass{log: l, size: size}
	if p.end, err = trimNULs(l.f, size); err != nil {
		return nil, l.failed(err)
	}
	p.from = &lines{r: l.f, end: p.end, line: 1}
	if after > 0 {
		// The event before is read too, so that the next one is seen to follow.
		p.Given = true
		if err := p.seek(ctx, after); err != nil {
			return nil, l.failed(err)
		}
	}
	p.Next = p.from.next
	return p, nil
}

// seek goes to the beginning of a line, from the known one if that is before it or next
// to it.
func (p *pass) seek(ctx context.Context, line int64) error {
	if known := p.log.known.Count; known > 0 && known <= line+1 {
		at, ok, err := findHash(p.log.f, p.end, p.log.known.Hash)
		if err != nil {
			return err
		}
		if !ok {
			return run.ChainBroken(p.log.path, known, p.end, "no event has the hash %.16s… that event %d had", p.log.known.Hash, known)
		}
		p.from.at, p.from.line = at, known
		if known > line {
			if err := p.back(); err != nil {
				return err
			}
		}
	}
	if err := p.from.skip(ctx, line); !errors.Is(err, io.EOF) {
		return err
	}
	return run.ChainBroken(p.log.path, p.from.line, p.from.at, "the log ends here, before event %d", line)
}

// back goes to the line before.
func (p *pass) back() error {
	if p.from.at == 0 {
		return run.ChainBroken(p.log.path, 1, 0, "it is the event that was number %d", p.from.line)
	}
	feed, err := lastFeed(p.log.f, p.from.at-1)
	p.from.at, p.from.line = feed+1, p.from.line-1
	return err
}

// judge turns the error that ended a pass into a fault; nil if it ended at a torn
// tail, which readers ignore.
func (p *pass) judge(err error) error {
	bad := (*run.BadChunk)(nil)
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
	rest := p.from.rest
	if len(rest) < 2 {
		return rest, nil
	}
	if _, err := run.ParseChunk(rest[:len(rest)-1]); err == nil {
		return nil, run.ChainBroken(p.log.path, p.from.line, p.from.at-int64(len(rest)), "the line ends with %q, not with a line feed", rest[len(rest)-1])
	}
	return rest, nil
}
