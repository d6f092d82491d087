package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// CallSequence counts the calls of one attempt of an item, for all agents that work on it.
// The zero Sequence is ready for use.
//
// Each agent counts for itself, in its lane: its calls come one after the other, while
// agents that were forked side by side race. So a call has the same name whenever the
// item is done again, as long as the agents do the same.
type CallSequence struct {
	mu   sync.Mutex
	last map[string]int
	keys []string // of answers that were put into the cache or came from it
}

// next is the number of the next call in a lane; the first is 1.
func (s *CallSequence) next(lane string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]int{}
	}
	s.last[lane]++
	return s.last[lane]
}

func (s *CallSequence) note(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, key)
}

// Keys returns the keys of the attempt's answers that a cache keeps. A caller that finds that they led to nothing
// drops them: the next attempt would get them again.
func (s *CallSequence) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.keys...)
}

// ChildLane names an agent that was forked while an item is done: the lane of its parent, and
// its number among its parent's children, from 1. The item's own agent has lane "".
func ChildLane(parent string, child int) string { return parent + "c" + strconv.Itoa(child) + "-" }

// maxCallName bounds names of calls, which are names of files.
const maxCallName = 160

// MakeCallID names a call: worker.scope.number, and worker.scope.c2-number for the second
// child of the item's agent. What a name of a file should not hold is written ~xx.
func MakeCallID(it Attempt, lane string, number int) string {
	tail := "." + lane + strconv.Itoa(number)
	head := escapeName(it.Worker, "_-") + "." + escapeName(it.Scope, "_-.")
	if len(head)+len(tail) > maxCallName {
		sum := sha256.Sum256([]byte(head))
		head = head[:max(0, maxCallName-len(tail)-17)] + "~" + hex.EncodeToString(sum[:8])
	}
	return head + tail
}

func escapeName(s, also string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(also, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "~%02x", c)
	}
	return b.String()
}
