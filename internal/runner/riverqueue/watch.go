package riverqueue

import (
	"maps"
	"time"

	"github.com/riverqueue/river/rivertype"
)

// watch compares what River takes for the jobs of this host with what is done here, until
// ctx ends: a word of River may be lost with its connection.
func (s *service) watch() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			s.compare() // what fails is done at the next tick
		}
	}
}

func (s *service) compare() error {
	s.mu.Lock()
	before := maps.Clone(s.at)
	s.mu.Unlock()
	ours := map[int64]bool{} // rows that are to be done here
	strays := map[int64]time.Time{}
	var lost []*rivertype.JobRow
	for row, err := range s.taken(s.ctx, clientName(s.host)) {
		if err != nil {
			return err
		}
		ours[row.ID] = true
		if _, known := before[row.ID]; known || s.begun(row.ID) {
			continue
		}
		since, known := s.strays[row.ID]
		switch {
		case !known:
			strays[row.ID] = time.Now()
		case time.Since(since) < stray:
			strays[row.ID] = since
		default:
			lost = append(lost, row)
		}
	}
	s.strays = strays
	s.mu.Lock()
	for id, e := range before {
		if !ours[id] && s.at[id] == e {
			e.ended = true
			e.cancel()
		}
	}
	s.mu.Unlock()
	return s.putAgain(s.ctx, lost, func(string) {})
}

// begun reports whether a row is being done here.
func (s *service) begun(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[id] != nil
}
