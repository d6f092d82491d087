package run

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"ramet/internal/base/fault"
)

// Tree is the Merkle tree over the lines of a log, of which it keeps only the
// right edge: enough to add lines and to give the root, in log2(n) hashes.
//
// Leaf and node hashes are those of RFC 6962: SHA-256(0x00 || line) and
// SHA-256(0x01 || left || right).
type Tree struct {
	n    int64
	edge []tlog.Hash // roots of the complete subtrees, largest first
}

// Add takes the next line, without its line feed.
func (t *Tree) Add(line []byte) { t.addHash(tlog.RecordHash(line)) }

func (t *Tree) addHash(h tlog.Hash) {
	// Each trailing one of n is a complete subtree that joins this one.
	for n := t.n; n&1 == 1; n >>= 1 {
		last := len(t.edge) - 1
		h = tlog.NodeHash(t.edge[last], h)
		t.edge = t.edge[:last]
	}
	t.edge = append(t.edge, h)
	t.n++
}

// Set makes the tree a copy of another.
func (t *Tree) Set(to *Tree) { t.n, t.edge = to.n, append(t.edge[:0], to.edge...) }

// Size returns the number of lines.
func (t *Tree) Size() int64 { return t.n }

// Root returns the head of the tree; of an empty one, the hash of the empty string.
func (t *Tree) Root() tlog.Hash {
	if t.n == 0 {
		h, _ := tlog.TreeHash(0, nil)
		return h
	}
	root := t.edge[len(t.edge)-1]
	for i := len(t.edge) - 2; i >= 0; i-- {
		root = tlog.NodeHash(t.edge[i], root)
	}
	return root
}

// Edge returns the tree as text, so that a later process can continue it without reading the log again.
func (t *Tree) Edge() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", t.n)
	for _, h := range t.edge {
		fmt.Fprintf(&b, "%s\n", h)
	}
	return b.String()
}

// ParseEdge reads what Edge wrote. The caller compares the root with a signed one.
func ParseEdge(text string) (*Tree, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	n, err := strconv.ParseInt(lines[0], 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("parse tree edge: %.40q is no size", lines[0])
	}
	t := &Tree{n: n}
	for _, line := range lines[1:] {
		h, err := tlog.ParseHash(line)
		if err != nil {
			return nil, fmt.Errorf("parse tree edge: %w", err)
		}
		t.edge = append(t.edge, h)
	}
	ones := 0
	for m := n; m > 0; m >>= 1 {
		ones += int(m & 1)
	}
	if ones != len(t.edge) {
		return nil, fmt.Errorf("parse tree edge: %d hashes for %d lines", len(t.edge), n)
	}
	if t.Edge() != text {
		return nil, fmt.Errorf("parse tree edge: it is not in the form that Edge writes")
	}
	return t, nil
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
		return c, badCheckpoint("%.80q is no run id", c.RunID)
	}
	if c.Size, err = strconv.ParseInt(lines[2], 10, 64); err != nil || c.Size < 0 {
		return c, badCheckpoint("%.40q is no number of lines", lines[2])
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
