package session

import (
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
)

// position is the place of a line of a source.
type position struct {
	agent   id.Agent
	message id.Message
}

// positions holds the places of the lines of a source. There may be millions: one takes 12 bytes.
type positions struct {
	src     *foreign.Source
	message []id.Message
	agent   []int32 // of agents, from 1; 0: it stands nowhere
	agents  []id.Agent
	number  map[id.Agent]int32
}

func newPositions(src *foreign.Source) *positions {
	n := src.Records()
	return &positions{src: src, message: make([]id.Message, n), agent: make([]int32, n), number: map[id.Agent]int32{}}
}

// set records the place of a line; one that is not in the source is ignored.
func (s *positions) set(at history.Bytes, where position) {
	i, ok := s.src.Index(at.Offset)
	if !ok {
		return
	}
	n, ok := s.number[where.agent]
	if !ok {
		s.agents = append(s.agents, where.agent)
		n = int32(len(s.agents))
		s.number[where.agent] = n
	}
	s.message[i], s.agent[i] = where.message, n
}

// get returns the place of the line at an offset.
func (s *positions) get(offset int64) (position, bool) {
	i, ok := s.src.Index(offset)
	if !ok || s.agent[i] == 0 {
		return position{}, false
	}
	return position{s.agents[s.agent[i]-1], s.message[i]}, true
}
