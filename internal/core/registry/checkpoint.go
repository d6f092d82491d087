package registry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// A checkpoint is the state of all histories at one moment, to be kept
// elsewhere: a caller that has it can later find cut tails and rewritten entries.
//
// Its text, which is signed as a note, is four lines:
//
//	ramet/1 workspace
//	UUID of agent 0
//	number of heads
//	hex SHA-256 of the heads block
//
// The heads block follows the signed note: one line `UUID ID HASH` for each
// agent, its newest entry, sorted by uuid, each line ended by a line feed.

// Head is the newest entry of one history.
type Head struct {
	Agent   id.Agent
	Message id.Message
	Hash    chain.Hash
}

const checkpointOrigin = chain.Format + " workspace"

// SortHeads puts heads into the order of a checkpoint.
func SortHeads(heads []Head) {
	slices.SortFunc(heads, func(a, b Head) int { return strings.Compare(string(a.Agent), string(b.Agent)) })
}

// FormatCheckpoint gives the text to sign and the heads block.
func FormatCheckpoint(zero id.Agent, heads []Head) (text, block string) {
	const line = 22 + 1 + 20 + 1 + 64 + 1 // at most
	b := make([]byte, 0, line*len(heads))
	for _, h := range heads {
		b = append(append(b, h.Agent...), ' ')
		b = append(strconv.AppendInt(b, int64(h.Message), 10), ' ')
		b = append(append(b, h.Hash.String()...), '\n')
	}
	block = string(b)
	return fmt.Sprintf("%s\n%s\n%d\n%s\n", checkpointOrigin, zero, len(heads), chain.Sum([]byte(block))), block
}

// ParseCheckpoint reads what FormatCheckpoint gave, after the signature of the
// text was checked.
func ParseCheckpoint(text, block string) (zero id.Agent, heads []Head, err error) {
	for line := range strings.Lines(block) {
		var h Head
		var hash string
		if _, err := fmt.Sscanf(line, "%s %d %s\n", &h.Agent, &h.Message, &hash); err != nil {
			return "", nil, badCheckpoint("head %q is not readable", strings.TrimSpace(line))
		}
		if h.Hash, err = chain.ParseHash(hash); err != nil {
			return "", nil, badCheckpoint("%v", err)
		}
		heads = append(heads, h)
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 2 || lines[0] != checkpointOrigin {
		return "", nil, badCheckpoint("it does not begin with %q", checkpointOrigin)
	}
	zero = id.Agent(lines[1])
	if wantText, wantBlock := FormatCheckpoint(zero, heads); wantText != text || wantBlock != block {
		return "", nil, badCheckpoint("its heads are not the ones that were signed")
	}
	return zero, heads, nil
}

func badCheckpoint(format string, args ...any) error {
	return fault.New(fault.HistoryDamaged, "the checkpoint is damaged: "+format, args...).
		WithHint("use the file exactly as `ramet checkpoint` printed it")
}
