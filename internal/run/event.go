package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
)

// Event is one line of a log. Its members are in the order of the line.
type Event struct {
	Hash       string         `json:"event_hash"`
	ID         string         `json:"event_id"`
	ParentSpan string         `json:"parent_span_id,omitempty"` // empty: none
	Payload    jsontext.Value `json:"payload"`                  // an object in RFC 8785 form
	PrevHash   string         `json:"prev_hash"`                // empty: the first
	RunID      string         `json:"run_id"`
	SpanID     string         `json:"span_id"`
	TraceID    string         `json:"trace_id"`
	TS         string         `json:"ts"`
	Type       Type           `json:"type"`
}

// MaxLine is the longest line that is read or written, in bytes.
const MaxLine = 64 << 20

// Sum returns the event's hash by the formula in the package comment.
func (e Event) Sum() string {
	sum := sha256.Sum256([]byte(e.ID + e.TS + string(e.Type) + string(e.Payload) + e.PrevHash))
	return hex.EncodeToString(sum[:])
}

// Intact reports whether the event has the hash that the formula gives.
func (e Event) Intact() bool { return e.Hash == e.Sum() }

// Line returns the event's line in the log, without the line feed; nil if the payload is not JSON.
func (e Event) Line() []byte {
	line, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	return line
}

// EventShape is the shape that all events have in common.
var EventShape = sync.OnceValue(func() *shape.Shape {
	span := shape.Hex(16)
	return shape.Object(
		shape.Must("event_id", shape.Match(uuidExpr).With("A UUID, unique in the run.")),
		shape.Must("run_id", runID),
		shape.Must("ts", Moment().With("RFC 3339, UTC.")),
		shape.Must("type", shape.Match(`[A-Z_]+`)),
		shape.Must("payload", shape.Open()),
		shape.Must("trace_id", shape.Hex(32).With("One for the whole run.")),
		shape.Must("span_id", span),
		shape.May("parent_span_id", span),
		shape.Must("prev_hash", shape.Match(`(?:[0-9a-f]{64})?`).With("The event_hash of the event before; empty for the first.")),
		shape.Must("event_hash", hash256),
	)
})

// Moment is the shape of an RFC 3339 time in UTC. It does not check the days of each month.
var Moment = sync.OnceValue(func() *shape.Shape {
	return shape.Match(`[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?Z`)
})

// ParseLine reads a line, without its line feed, and accepts exactly what Line
// writes. It does not check the hash.
func ParseLine(line []byte) (Event, error) {
	var e Event
	if form, err := chain.Canonical(line); err != nil {
		return e, fmt.Errorf("not an event line in RFC 8785 form: %w", err)
	} else if !bytes.Equal(form, line) {
		return e, errors.New("not an event line in RFC 8785 form")
	}
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil || !e.isPlain(line) {
		if err := EventShape().CheckValid(line); err != nil {
			return e, err
		}
		if err != nil {
			return e, err
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, e.TS); err != nil {
		return e, fmt.Errorf("/ts: %q is no time", e.TS)
	}
	return e, nil
}

// isPlain reports whether an event that was read from line obviously has EventShape, which takes as long to check as the rest of
// a replay. False says nothing: the first event of a log, for instance, names no event before it.
func (e Event) isPlain(line []byte) bool {
	_, err := uuid.Parse(e.ID)
	return err == nil && len(e.ID) == 36 && strings.ToLower(e.ID) == e.ID && isHex(e.Hash, 64) && isHex(e.PrevHash, 64) && isHex(e.SpanID, 16) && isHex(e.TraceID, 32) &&
		(isHex(e.ParentSpan, 16) || e.ParentSpan == "" && !bytes.Contains(line, []byte(`"parent_span_id"`))) &&
		IsRunID(e.RunID) && bytes.HasPrefix(e.Payload, []byte("{")) && strings.Trim(string(e.Type), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && e.Type != "" &&
		len(e.TS) == len("2006-01-02T15:04:05.000000Z") && e.TS[10] == 'T' && e.TS[19] == '.' && e.TS[26] == 'Z'
}

// isHex reports whether s consists of n small hexadecimal digits.
func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// IsRunID reports whether s can be the id of a run.
func IsRunID(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 64
}

// CheckRunID refuses what cannot be the id of a run.
func CheckRunID(s string) error {
	if IsRunID(s) {
		return nil
	}
	return fault.New(fault.InvalidID, "%.80q is not a run id", s).
		WithHint("use 1 to 64 characters of A-Z a-z 0-9 _ -")
}

// FormatTime returns the time of an event.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Chain checks that events follow each other: one run, unique ids, and each hash
// on the one before. Its memory grows with the events, 16 bytes and a map's share
// for each.
type Chain struct {
	runID string
	prev  string
	ids   map[uuid.UUID]struct{}
}

// NewChain begins a run's chain. prev is "" unless the run was forked: then it is
// the hash of the parent's event at the fork point.
func NewChain(runID, prev string) *Chain {
	return &Chain{runID: runID, prev: prev, ids: map[uuid.UUID]struct{}{}}
}

// BeginChain makes the chain of a log's first event, which is still to be added with Follow.
func BeginChain(first Event) (*Chain, error) {
	prev, err := RootHash(first.Type, first.Payload)
	if err != nil {
		return nil, err
	}
	return NewChain(first.RunID, prev), nil
}

// Follow adds the next event, which is Intact. The reason of a refusal names no line: the caller knows it.
func (c *Chain) Follow(e Event) error {
	switch {
	case e.RunID != c.runID:
		return fmt.Errorf("it is an event of run %s, not of %s", e.RunID, c.runID)
	case e.PrevHash != c.prev:
		return fmt.Errorf("prev_hash is %.16q…, the event before has %.16q…", e.PrevHash, c.prev)
	}
	if c.Has(e.ID) {
		return fmt.Errorf("event_id %s appears twice", e.ID)
	}
	c.follow(e)
	return nil
}

func (c *Chain) follow(e Event) {
	id, _ := uuid.Parse(e.ID) // ParseLine has checked its form
	c.ids[id] = struct{}{}
	c.prev = e.Hash
}

var errHash = errors.New("event_hash does not fit the event")

// RootHash returns the prev_hash of a log's first event: "" unless it continues another
// run (RUN_FORKED); then the hash of that run's event, which its payload names.
func RootHash(t Type, payload []byte) (string, error) {
	if t != RunForked {
		return "", nil
	}
	f, err := ParseFork(Event{Type: t, Payload: payload})
	return f.EventHash, err
}

// Prev returns the hash that the next event must name.
func (c *Chain) Prev() string { return c.prev }

// Has reports whether an event of this id was taken.
func (c *Chain) Has(eventID string) bool {
	id, _ := uuid.Parse(eventID)
	_, has := c.ids[id]
	return has
}

// ChainBroken returns the error of a damaged log. Lines count from 1, bytes from 0.
func ChainBroken(place string, line, offset int64, format string, args ...any) error {
	return fault.New(fault.EventChainBroken, "%s line %d (byte %d): %s", place, line, offset, fmt.Sprintf(format, args...)).
		WithHint("the log was changed or cut; compare with a copy kept elsewhere")
}

// Tree is the Merkle tree over the lines of a log, with all its hashes: 64 bytes for each line. It implements
// tlog.HashReader.
//
// Leaf and node hashes are those of RFC 6962: SHA-256(0x00 || line) and
// SHA-256(0x01 || left || right).
type Tree struct {
	n      int64
	hashes []tlog.Hash // in the order of tlog
}

// Add adds the next line, without its line feed.
func (t *Tree) Add(line []byte) {
	more, err := tlog.StoredHashes(t.n, line, t)
	if err != nil {
		panic(err) // ReadHashes has all that it asks for
	}
	t.hashes = append(t.hashes, more...)
	t.n++
}

// ReadHashes implements tlog.HashReader.
func (t *Tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		out[i] = t.hashes[at]
	}
	return out, nil
}

// Size returns the number of lines.
func (t *Tree) Size() int64 { return t.n }

// Root returns the head of the tree; of an empty one, the hash of the empty string.
func (t *Tree) Root() tlog.Hash {
	h, err := tlog.TreeHash(t.n, t)
	if err != nil {
		panic(err) // as in Add
	}
	return h
}

// A checkpoint is the head of a log at one moment. Its text, which is signed as a
// note, is four lines:
//
//	ramet/1 run
//	run id
//	number of lines
//	base64 of the tree's root
type Checkpoint struct {
	RunID string
	Size  int64
	Root  tlog.Hash
}

const checkpointOrigin = "ramet/1 run"

// Text returns the text that is signed.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%s\n%d\n%s\n", checkpointOrigin, c.RunID, c.Size, c.Root)
}

// ParseCheckpoint reads what Text wrote, after its signature was checked.
func ParseCheckpoint(text string) (Checkpoint, error) {
	var c Checkpoint
	lines := strings.Split(text, "\n")
	if len(lines) != 5 || lines[0] != checkpointOrigin || lines[4] != "" {
		return c, badCheckpoint("it does not have the four lines of a run's checkpoint")
	}
	var err error
	if c.RunID = lines[1]; !IsRunID(c.RunID) {
		return c, badCheckpoint("%.80q is not a run id", c.RunID)
	}
	if c.Size, err = strconv.ParseInt(lines[2], 10, 64); err != nil || c.Size < 0 {
		return c, badCheckpoint("%.40q is not a number of lines", lines[2])
	}
	if c.Root, err = tlog.ParseHash(lines[3]); err != nil {
		return c, badCheckpoint("%v", err)
	}
	// Numbers and base64 have more than one spelling.
	if c.Text() != text {
		return c, badCheckpoint("it is spelled differently")
	}
	return c, nil
}

func badCheckpoint(format string, args ...any) error {
	return fault.New(fault.EventChainBroken, "the checkpoint is damaged: %s", fmt.Sprintf(format, args...)).
		WithHint("use it exactly as it was written")
}
