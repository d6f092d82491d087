package ndjson

import (
	"context"
	"fmt"
	"os"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Repair is what was done to a torn tail.
type Repair struct {
	Line   int64  // the line that was torn, from 1
	Offset int64  // where it begins
	Kept   bool   // it was whole and only had no line feed; now it has
	Cut    int64  // how many bytes were cut off
	Saved  string // the file that holds them; empty: none were cut
}

// String is for people.
func (r Repair) String() string {
	switch {
	case r.Kept && r.Cut > 0:
		return fmt.Sprintf("line %d (byte %d) was whole and was ended; %d bytes behind it were cut and kept in %s", r.Line, r.Offset, r.Cut, r.Saved)
	case r.Kept:
		return fmt.Sprintf("line %d (byte %d) was whole and was ended", r.Line, r.Offset)
	}
	return fmt.Sprintf("line %d (byte %d) was torn; %d bytes were cut and kept in %s", r.Line, r.Offset, r.Cut, r.Saved)
}

// Torn tells of what follows the last whole line, without changing anything: what the
// next writer would end or cut. It implements run.Torn. Beside a writer it may be a line
// that is being written.
func (l *file) Torn(ctx context.Context) (run.Tail, bool, error) {
	p, err := l.begin(ctx, l.Count)
	if err != nil {
		return run.Tail{}, false, err
	}
	for _, err = range p.Events(ctx) {
	}
	if err != nil {
		err = p.judge(err)
	}
	if err != nil {
		return run.Tail{}, false, err
	}
	tail := run.Tail{Line: p.Last.Line + 1, Offset: p.good()}
	tail.Bytes = p.size - tail.Offset
	return tail, tail.Bytes > 0, nil
}

// good is where the last whole line ends.
func (p *pass) good() int64 {
	if p.Chain == nil {
		return 0
	}
	return p.Last.Offset + int64(len(p.Last.Raw)) + 1
}

// finish verifies the rest of the log, repairs its tail and returns where the log
// ends, in events and in bytes.
func (p *pass) finish(ctx context.Context) (state run.CommitState, size int64, repair *Repair, err error) {
	var rest []byte
	for _, err = range p.Events(ctx) {
	}
	if err != nil {
		err = p.judge(err) // torn; nothing of it can be kept
	} else {
		rest, err = p.unfinished()
	}
	if err != nil {
		return state, 0, nil, err
	}
	good := p.good()
	state = run.CommitState{Chain: p.Chain, Count: p.Last.Line, Last: p.Last}
	if good == p.size {
		return state, good, nil, nil
	}
	repair = &Repair{Line: state.Count + 1, Offset: good}
	if e, err := run.ParseChunk(rest); err == nil && p.follows(e) {
		repair.Kept = true
		state = run.CommitState{Chain: p.Chain, Count: repair.Line, Last: run.Entry{Event: e, Line: repair.Line, Offset: good, Raw: rest}}
		good += int64(len(rest))
	}
	if repair.Cut = p.size - good; repair.Cut > 0 {
		if repair.Saved, err = p.save(good); err != nil {
			return state, 0, nil, err
		}
		if err := p.log.f.Truncate(good); err != nil {
			return state, 0, nil, durable.Failure("cut", p.log.path, err)
		}
	}
	if repair.Kept {
		if _, err := p.log.f.WriteAt([]byte{'\n'}, good); err != nil {
			return state, 0, nil, durable.Failure("end the last line of", p.log.path, err)
		}
		good++
	}
	return state, good, repair, syncFailure(p.log.path, datasync(p.log.f))
}

// follows takes a line that had no line feed, if it is the next one.
func (p *pass) follows(e run.Event) bool {
	chain := p.Chain
	if chain == nil {
		var err error
		if chain, err = run.BeginChain(e); err != nil {
			return false
		}
	}
	if chain.Follow(e) != nil {
		return false
	}
	p.Chain = chain
	return true
}

// mostNULs is how many NULs of a tail are kept: they tell nothing, and a file
// system may leave a great many.
const mostNULs = 1 << 20

// save keeps what is going to be cut, durably, in a file of its own.
func (p *pass) save(from int64) (string, error) {
	cut := make([]byte, max(0, p.end-from)+min(p.size-max(p.end, from), mostNULs))
	if err := readAt(p.log.f, cut, from); err != nil {
		return "", p.log.failed(err)
	}
	mode := os.FileMode(0o600)
	if info, err := p.log.f.Stat(); err == nil {
		mode = info.Mode().Perm()
	}
	for {
		name := p.log.path + ".torn-" + time.Now().UTC().Format("20060102T150405.000000000Z")
		if err := durable.CreateFile(name, cut, mode); !fault.Is(err, fault.Conflict) {
			return name, err
		}
	}
}
