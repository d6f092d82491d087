package session

import (
	"ramet/internal/foreign"
	"ramet/internal/history"
	"ramet/internal/id"
)

// spot is where a line of a source stands.
type spot struct {
	agent   id.Agent
	message id.Message
}

// spots are where the lines of a source stand. There may be millions: one takes 12 bytes.
type spots struct {
	src     *foreign.Source
	message []id.Message
	agent   []int32 // of agents, from 1; 0: it stands nowhere
	agents  []id.Agent
	number  map[id.Agent]int32
}

func newSpots(src *foreign.Source) *spots {
	n := src.Records()
	return &spots{src: src, message: make([]id.Message, n), agent: make([]int32, n), number: map[id.Agent]int32{}}
}

// set says where a line stands; one that is not in the source is passed over.
func (s *spots) set(at history.Bytes, where spot) {
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

// get says where the line at an offset stands.
func (s *spots) get(offset int64) (spot, bool) {
	i, ok := s.src.Index(offset)
	if !ok || s.agent[i] == 0 {
		return spot{}, false
	}
	return spot{s.agents[s.agent[i]-1], s.message[i]}, true
}
