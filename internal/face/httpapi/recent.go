package httpapi

import (
	"ramet/internal/base/id"
)

// recent is a set of ids that forgets the oldest.
type recent struct {
	in    map[id.Message]bool
	order []id.Message
}

// mostRecent is far more than can be on the way between the bus and the feed.
const mostRecent = 1 << 16

func (r *recent) put(m id.Message) {
	if r.in == nil {
		r.in = map[id.Message]bool{}
	}
	r.in[m] = true
	r.order = append(r.order, m)
	if len(r.order) > mostRecent {
		old := r.order[:mostRecent/2]
		for _, m := range old {
			delete(r.in, m)
		}
		r.order = append([]id.Message(nil), r.order[mostRecent/2:]...)
	}
}

func (r *recent) take(m id.Message) bool {
	had := r.in[m]
	delete(r.in, m)
	return had
}
