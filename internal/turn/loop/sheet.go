package loop

import (
	"reflect"
	"slices"
	"sync/atomic"

	"ramet/internal/model/llm"
)

// sheet is a conversation as requests have it, in one list: the system's words and, behind them, the
// messages that are settled. It only grows, and only at its end, so that a request costs what is new in
// it, and nothing that was handed out ever changes: another attempt, a record or a fork may still have it.
//
// Forks share the array. Each place in it is written once: the first that goes on has the next one, and
// the others go on in arrays of their own.
type sheet struct {
	head  int // how many are the system's words
	list  []llm.Message
	taken *atomic.Int64 // places of the array that are written, or about to be; nil: there is no array
}

// settled is how many messages of the conversation it has.
func (s *sheet) settled() int { return len(s.list) - s.head }

// upTo is the sheet with no more than the first n messages of the conversation.
func (s sheet) upTo(n int) sheet {
	s.list = s.list[:min(len(s.list), s.head+n)]
	return s
}

// begins says whether it begins with these words of the system. They are compared, not trusted: each turn
// may bring others.
func (s *sheet) begins(system []llm.Message) bool {
	return s.taken != nil && s.head == len(system) && slices.EqualFunc(s.list[:s.head], system, func(a, b llm.Message) bool {
		return a.Role == b.Role && reflect.DeepEqual(a.Parts, b.Parts)
	})
}

// grow makes n more places, which are nobody else's, and returns them.
func (s *sheet) grow(n int) []llm.Message {
	was := len(s.list)
	now := was + n
	if s.taken == nil || now > cap(s.list) || !s.taken.CompareAndSwap(int64(was), int64(now)) {
		list := make([]llm.Message, was, now+now/8+4)
		copy(list, s.list)
		s.list, s.taken = list, new(atomic.Int64)
		s.taken.Store(int64(now))
	}
	s.list = s.list[:now]
	return s.list[was:]
}

// request is the conversation as a request has it, behind the system's words. Whoever gets the list may
// keep it, and must not change it.
func (c *Conversation) request(system []llm.Message) []llm.Message {
	s, n := &c.sheet, c.outs()
	if !s.begins(system) {
		*s = sheet{head: len(system)}
		places := s.grow(len(system) + n)
		copy(places, system)
		c.copySettled(places[len(system):], 0)
	} else if from := s.settled(); from < n {
		c.copySettled(s.grow(n-from), from)
	}
	return c.withOpen(slices.Clip(s.list)) // what is open is not the sheet's: it copies
}

// worthKeeping is how many messages of its own a conversation has that keeps its sheet between turns. Of
// fewer it is made anew in no time.
const worthKeeping = 4096

// rest is called when a turn is over. What a fork inherited is shared, and costs it nothing; a sheet would
// cost it as much as if all of that were its own. So only a conversation that is mostly its own keeps one.
func (c *Conversation) rest() {
	if own := c.outs() - c.inherited; own < max(c.inherited, worthKeeping) {
		c.sheet = sheet{}
	}
}
