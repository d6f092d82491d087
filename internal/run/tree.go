package run

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"ramet/internal/base/fault"
)

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
