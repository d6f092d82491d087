package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"

	fast "github.com/go-json-experiment/json"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
)

// Entry is an event with its place in the log.
type Entry struct {
	Event
	Line   int64 // from 1
	Offset int64 // of its first byte, where the log is a file
	Raw    []byte
}

// Log is the events of one run, open for reading. Implementations check lines,
// hashes and links as they read; damage is EVENT_CHAIN_BROKEN with line and byte.
// Readers ignore an unfinished last line.
type Log interface {
	// Events streams the events after the first n, in order, all of them
	// verified; for n > 0 the chain is checked from there on, the event before
	// being taken as given. The entries belong to the caller.
	Events(ctx context.Context, after int64) iter.Seq2[Entry, error]
	// Last returns the newest event; ok is false for an empty log. It does not
	// read the log.
	Last(ctx context.Context) (e Entry, ok bool, err error)
	// Close gives back what the reader holds.
	Close() error
}

// Tail describes the bytes that a crash left after the last whole line of a log.
type Tail struct {
	Line   int64 `json:"line"` // the one that it would be
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

// Torn is a log that can end in the middle of a line. The logs of databases cannot.
type Torn interface {
	Torn(ctx context.Context) (tail Tail, torn bool, err error)
}

// Writer is the events of one run, open for appending. There is one at a time for
// each run: opening a second is LOCKED, with its owner. It is safe for concurrent use.
type Writer interface {
	Log
	// Append links the drafts to the end of the log, in order, and returns when
	// they are durable. Events of one call are written together. After a failed
	// sync every later call fails: what is on the disk is not known any more.
	Append(ctx context.Context, drafts ...Draft) ([]Event, error)
}

// CheckLogFile refuses what cannot be the file of a log.
func CheckLogFile(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fault.New(fault.StorageForeign, "%s is a folder, not an event log", path).WithHint("nothing was changed")
	case !info.Mode().IsRegular():
		return fault.New(fault.StorageForeign, "%s is not a file", path).WithHint("nothing was changed")
	}
	return nil
}

// Request asks for an event.
type Request struct {
	Type       Type
	Payload    []byte // any JSON object
	SpanID     string // empty: a new one
	ParentSpan string
}

// Staged is a file of a run that is durable and waits for its name.
type Staged interface {
	// Commit gives the file its name, in place of what had it.
	Commit() error
	// Discard removes the file, unless it has its name already.
	Discard()
}

// Draft is an event that is not linked yet.
type Draft struct {
	ID         string
	RunID      string
	TS         string
	Type       Type
	Payload    []byte // RFC 8785 form; see Check
	TraceID    string
	SpanID     string
	ParentSpan string
}

// Check refuses a draft whose line could not be read again, or whose payload does
// not have the form of its type. A writer asks it before it links anything: what
// ParseLine refuses would be damage of our own making.
func (d Draft) Check() error {
	if err := errors.Join(CheckRunID(d.RunID), CheckType(d.Type), CheckSpans(d.SpanID, d.ParentSpan)); err != nil {
		return err
	}
	line := d.Link("").Line()
	if len(line) > MaxLine {
		return fault.New(fault.InvalidEvent, "event %.60s: it is longer than %d bytes", d.ID, MaxLine)
	}
	if form, err := chain.Canonical(d.Payload); err != nil || !bytes.Equal(form, d.Payload) {
		return fault.New(fault.InvalidEvent, "event %.60s: payload is not in RFC 8785 form", d.ID)
	}
	if _, err := ParseLine(line); err != nil {
		return fault.New(fault.InvalidEvent, "event %.60s: %w", d.ID, err)
	}
	return CheckPayload(d.Type, d.Payload)
}

// Link links the draft to the event before, whose hash is prev.
func (d Draft) Link(prev string) Event {
	e := Event{ID: d.ID, RunID: d.RunID, TS: d.TS, Type: d.Type, Payload: d.Payload, TraceID: d.TraceID,
		SpanID: d.SpanID, ParentSpan: d.ParentSpan, PrevHash: prev}
	e.Hash = e.Sum()
	return e
}

// BadLine is a line that is not an event of the run, or not the next one.
type BadLine struct {
	Line   int64 // from 1
	Offset int64 // of its first byte in the log, or in its export
	Reason error
}

func (b *BadLine) Error() string {
	return fmt.Sprintf("line %d (byte %d): %v", b.Line, b.Offset, b.Reason)
}

// Unwrap returns the reason.
func (b *BadLine) Unwrap() error { return b.Reason }

// VerifiedStream is one pass over the lines of a log.
type VerifiedStream struct {
	// Lines yields entries that have a place and Raw, and no event yet.
	Lines iter.Seq2[Entry, error]
	// Given skips the check of the first line: its hash is what the next line must name. It is not yielded.
	Given bool
	// Chain is the chain after the last event that was yielded; nil before the first.
	Chain *Chain
	// Last is the last event that was yielded, or taken as given.
	Last Entry
}

// Events runs the pass. It can be run once. A line that does not fit is a *BadLine.
func (s *VerifiedStream) Events(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(Entry{}, CancelledRead("read events", err))
			return
		}
		for e, err := range s.Lines {
			if cause := ctx.Err(); cause != nil {
				err = CancelledRead("read events", cause)
			}
			if err == nil {
				if err = s.follow(&e); err != nil {
					err = &BadLine{e.Line, e.Offset, err}
				}
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			s.Last = e
			if s.Given {
				s.Given = false
			} else if !yield(e, nil) {
				return
			}
		}
	}
}

// follow reads the event of a line and adds it to the chain.
func (s *VerifiedStream) follow(e *Entry) (err error) {
	if e.Event, err = VerifyLine(e.Raw); err != nil {
		return err
	}
	if s.Given {
		s.Chain = NewChain(e.RunID, e.Hash)
		return nil
	}
	if s.Chain == nil {
		if s.Chain, err = BeginChain(e.Event); err != nil {
			return err
		}
	}
	return s.Chain.Follow(e.Event)
}

// CancelledRead returns the fault of a verb that was cancelled by its context.
func CancelledRead(verb string, cause error) error {
	code := fault.Cancelled
	if errors.Is(cause, context.DeadlineExceeded) {
		code = fault.TimedOut
	}
	return fault.New(code, "%s: %w", verb, cause)
}

// VerifyLine reads one line and checks its hash.
func VerifyLine(line []byte) (Event, error) {
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
	case bytes.HasPrefix(line, []byte("\xef\xbb\xbf")):
		return errors.New("the line begins with a byte order mark")
	case bytes.HasSuffix(line, []byte("\r")):
		return errors.New("the line ends with CR LF, not with LF alone")
	case bytes.IndexByte(line, 0) >= 0:
		return fmt.Errorf("a NUL is %d bytes into the line", bytes.IndexByte(line, 0))
	}
	return err
}

// FatalError marks an error after which the end of the log is not known.
type FatalError struct{ Err error }

func (f *FatalError) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *FatalError) Unwrap() error { return f.Err }

// Appender links drafts to the end of one log and has them written. It is safe for concurrent use.
type Appender struct {
	place string
	// write appends events, all or none, and returns when they are durable. It may set Offset. After an error none
	// of them is in the log, unless the error is a FatalError.
	write func([]Entry) error

	mu     sync.Mutex // guards what follows
	chain  *Chain     // nil: the log is empty
	last   Entry
	failed error // after which nothing is written
}

// NewAppender makes an appender for a log that ends with last.
func NewAppender(place string, chain *Chain, last Entry, write func([]Entry) error) *Appender {
	return &Appender{place: place, chain: chain, last: last, write: write}
}

// Last implements Log.
func (a *Appender) Last(context.Context) (Entry, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last, a.chain != nil, nil
}

// Count returns the number of events in the log.
func (a *Appender) Count() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.Line
}

// Close waits for the call that is being written, and refuses later ones.
func (a *Appender) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed == nil {
		a.failed = fault.New(fault.Conflict, "append to %s: %w", a.place, fs.ErrClosed)
	}
}

// Append implements Writer.
func (a *Appender) Append(ctx context.Context, drafts ...Draft) ([]Event, error) {
	for _, d := range drafts {
		if err := d.Check(); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, CancelledRead("append", err)
	}
	if a.failed != nil || len(drafts) == 0 {
		return nil, a.failed
	}
	entries, events, err := a.link(drafts)
	if err != nil {
		return nil, err
	}
	if err := a.write(entries); err != nil {
		if fatal := (*FatalError)(nil); errors.As(err, &fatal) {
			err = fatal.Err
			a.failed = fault.New(fault.CodeOf(err), "%s: an earlier write failed, so nothing more is written: %w", a.place, err).
				WithHint("start again; what was acknowledged is on disk")
		}
		return nil, err
	}
	if a.chain == nil {
		a.chain = NewChain(events[0].RunID, events[0].PrevHash)
	}
	for _, e := range events {
		a.chain.follow(e)
	}
	a.last = entries[len(entries)-1]
	return events, nil
}

// link links drafts to the end of the log.
func (a *Appender) link(drafts []Draft) (entries []Entry, events []Event, err error) {
	runID, prev := drafts[0].RunID, ""
	if a.chain != nil {
		runID, prev = a.chain.runID, a.chain.prev
	} else if prev, err = RootHash(drafts[0].Type, drafts[0].Payload); err != nil {
		return nil, nil, fault.New(fault.InvalidEvent, "%s: %w", a.place, err)
	}
	ids := map[string]bool{}
	for i, d := range drafts {
		switch {
		case d.RunID != runID:
			return nil, nil, fault.New(fault.InvalidEvent, "%s: event %s is one of run %s, the log is that of run %s", a.place, d.ID, d.RunID, runID)
		case ids[d.ID] || a.chain != nil && a.chain.Has(d.ID):
			return nil, nil, fault.New(fault.Conflict, "%s: event %s is in the log already", a.place, d.ID).
				WithHint("every event has an id of its own")
		}
		ids[d.ID] = true
		e := d.Link(prev)
		prev = e.Hash
		events = append(events, e)
		entries = append(entries, Entry{Event: e, Line: a.last.Line + int64(i) + 1, Raw: e.Line()})
	}
	return entries, events, nil
}

// AppendGuard refuses events that cannot follow the log: it knows the open model calls, and the event that ended
// the run. Only writers use it. The reducer does not: a log that was written without such checks is read, replayed
// and verified as it is.
type AppendGuard struct {
	calls map[string]bool // by id: whether the call is open
	ended Type            // the event that ended the run; empty: it has not ended
}

// Ended reports whether an event ended the run, unless the run was resumed since.
func (c *AppendGuard) Ended() bool { return c.ended != "" }

// Note records the next event of the log.
func (c *AppendGuard) Note(t Type, payload []byte) {
	switch t {
	case LLMCallStarted:
		if c.calls == nil {
			c.calls = map[string]bool{}
		}
		c.calls[callOf(payload)] = true
	case LLMCallFinished, LLMCallFailed:
		if id := callOf(payload); c.calls[id] {
			c.calls[id] = false
		}
	case RunCompleted, RunFailed, RunCancelled:
		c.ended = t
	case RunReopened, RunForked, ResumeRewind:
		c.ended = ""
	case RunStateChanged:
		if to, ok := stepTo(payload); ok && !to.Terminal() {
			c.ended = ""
		}
	}
}

// Check refuses an event that cannot follow: the answer to a call that was never made
// or is answered, a second end of the run, a pull request before there is anything to
// propose. state is the run's.
func (c *AppendGuard) Check(state State, t Type, payload []byte) error {
	switch t {
	case LLMCallFinished, LLMCallFailed:
		id := callOf(payload)
		open, made := c.calls[id]
		switch {
		case !made:
			return fault.New(fault.InvalidEvent, "%s ends model call %.80q, which never started", t, id).
				WithHint("append its %s first", LLMCallStarted)
		case !open:
			return fault.New(fault.InvalidEvent, "%s ends model call %.80q a second time", t, id).
				WithHint("a call that is made again gets a new %s", LLMCallStarted)
		}
	case RunCompleted, RunFailed, RunCancelled:
		if c.ended != "" {
			return fault.New(fault.InvalidStateTransition, "%s: the run ended already, with %s", t, c.ended).
				WithHint("a run ends once; a FAILED one can be reopened")
		}
	case PullRequestOpened:
		if state != Validating && state != ReadyForPR && state != PROpened {
			return fault.New(fault.InvalidStateTransition, "%s: the run is %s", t, state).
				WithHint("it must be %s or %s", ReadyForPR, PROpened)
		}
	}
	return nil
}

// EndsRun reports whether a RUN_STATE_CHANGED goes to a state that is terminal.
func EndsRun(t Type, payload []byte) bool {
	to, ok := stepTo(payload)
	return t == RunStateChanged && ok && to.Terminal()
}

func callOf(payload []byte) string {
	var p struct {
		CallID string `json:"call_id"` // of any event of a call
	}
	if fast.Unmarshal(payload, &p) != nil {
		return ""
	}
	return p.CallID
}

func stepTo(payload []byte) (State, bool) {
	var p struct {
		New State `json:"new_state"`
	}
	err := fast.Unmarshal(payload, &p)
	return p.New, err == nil
}
