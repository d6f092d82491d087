package httpapi

import (
	"testing"
)

// So many readers watch and no more; who leaves makes room.
func TestSoManyStreamsAndNoMore(t *testing.T) {
	f := newFloor(t, ``, func(o *EventsOptions) { o.Readers = 2 })
	s := opened(t, f)
	first, _ := s.watch(t, "", ""), s.watch(t, "", "")
	s.streams(t, 2)
	s.ask(t, "GET", "/api/v1/events", nil).refused(t, 429, "CONFLICT")
	first.close()
	s.streams(t, 1)
	s.watch(t, "", "")
}
