package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// Lost is the data of an event `lost`: some events were not sent, and are not kept any
// more. Whoever gets it reads the present state anew and goes on from the cursor.
type Lost struct {
	Type   string `json:"type"`   // lost
	Cursor string `json:"cursor"` // the newest event: go on from here
	Oldest string `json:"oldest"` // one can also go on from here, to get what is still kept
	Reason string `json:"reason"`
}

// streamTime limits the time in which a reader accepts a write.
const streamTime = 20 * time.Second

func (a Agents) eventRoute() Route {
	return Route{Method: http.MethodGet, Path: "/api/v1/events", Stream: true, Serve: a.stream, Doc: Doc{
		ID: "streamEvents", Tag: "agents", Summary: "Watch what happens, as server-sent events",
		Query: []Param{
			{Name: "agent", About: "only what happens to this agent, and to the kernel"},
			{Name: "subtree", About: "with agent: and to its subtree", Form: "boolean"},
			{Name: "cursor", About: "the id of an event to resume after; Last-Event-ID takes precedence. Absent: events from now on"},
		},
		Answers: []Answer{{Status: http.StatusOK, Media: "text/event-stream",
			About: "Each event has an id, and as its data one EventLine; an event named lost (Lost) says that some are missing"}},
	}}
}

func (a Agents) stream(c *Call) error {
	if a.Events == nil {
		return notHere("kernel")
	}
	to, err := a.audience(c)
	if err != nil {
		return err
	}
	at, late, err := a.Events.place(cmp.Or(c.Request.Header.Get("Last-Event-ID"), c.Query("cursor")))
	if err != nil {
		return err
	}
	if err := a.Events.enter(); err != nil {
		return err
	}
	defer a.Events.readers.Add(-1)
	c.Writer.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s := &stream{events: a.Events, to: to, w: c.Writer, control: http.NewResponseController(c.Writer), at: at}
	if late {
		err = s.lose("these events are not kept any more")
	} else {
		err = s.beat() // with a place to go on from, before anything happens
	}
	if err == nil {
		s.run(c.Context())
	}
	return nil // whoever does not take it has gone
}

type stream struct {
	events  *Events
	to      audience
	w       http.ResponseWriter
	control *http.ResponseController
	at      int64 // number of the last event that it has, or does not want
}

// run sends events until somebody has enough.
func (s *stream) run(ctx context.Context) {
	silent := time.NewTicker(s.events.o.Beat)
	defer silent.Stop()
	pace := time.NewTimer(0)
	defer pace.Stop()
	for {
		became, wake, err := s.next()
		if err != nil {
			return
		}
		var paced <-chan time.Time
		switch became {
		case wrote:
			silent.Reset(s.events.o.Beat)
			pace.Reset(s.events.pace())
			paced, wake = pace.C, nil
		case more:
			continue
		}
		for wake != nil || paced != nil {
			select {
			case <-wake:
				pace.Reset(s.events.spread())
				paced, wake = pace.C, nil
			case <-paced:
				paced = nil
			case <-silent.C:
				if s.beat() != nil {
					return
				}
			case <-ctx.Done():
				return
			case <-s.events.ctx.Done():
				return
			}
		}
	}
}

// What became of a batch.
const (
	none  = iota // there was nothing: the next event is to be waited for
	wrote        // it was written, and there is no more
	more         // none of it was wanted, or there is more
)

// next writes what came since the last time, as one piece.
func (s *stream) next() (became int, wake <-chan struct{}, err error) {
	batch, last, late, wake := s.events.after(s.at)
	if late {
		return none, nil, errors.Join(errLate, s.lose("it was read too slowly"))
	}
	var out []byte
	for i := range batch {
		if s.to.wants(&batch[i]) {
			out = append(out, batch[i].text...)
		}
	}
	if len(out) > 0 {
		if err := s.write(out); err != nil {
			return none, nil, err
		}
	}
	s.at = last
	switch {
	case len(out) > 0 && !isFull(batch):
		return wrote, nil, nil
	case len(batch) > 0:
		return more, nil, nil
	}
	return none, wake, nil
}

var errLate = errors.New("events are gone")

// beat is a comment, and where the reader stands: it may have skipped much.
func (s *stream) beat() error {
	return s.write(append(append([]byte(": alive\n"), s.events.idLine(s.at)...), '\n'))
}

// lose tells the reader that events are missing. Its place is behind them then.
func (s *stream) lose(why string) error {
	oldest, newest := s.events.bounds()
	data, err := encode(Lost{"lost", s.events.cursor(newest), s.events.cursor(oldest - 1), why})
	if err != nil {
		return err
	}
	s.at = newest
	return s.write(append(append(append([]byte("event: lost\n"), s.events.idLine(newest)...), "data: "...), string(data)+"\n"...))
}

func (s *stream) write(out []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(streamTime)); err != nil {
		return err
	}
	if _, err := s.w.Write(out); err != nil {
		return err
	}
	return s.control.Flush()
}

// audience selects the events of a reader; a nil family selects all.
type audience struct {
	family  map[id.Agent]bool
	subtree bool
}

func (a Agents) audience(c *Call) (audience, error) {
	subtree, err := c.Flag("subtree")
	if err != nil {
		return audience{}, err
	}
	if !c.Has("agent") {
		if subtree {
			return audience{}, badQuery("subtree", "is for agent", "")
		}
		return audience{}, nil
	}
	root, err := agent.Find(c.Context(), a.Store, c.Query("agent"))
	if err != nil {
		return audience{}, err
	}
	to := audience{family: map[id.Agent]bool{root.ID: true}, subtree: subtree}
	if !subtree {
		return to, nil
	}
	all, err := a.Store.Agents(c.Context(), agent.Filter{Dead: true, Brief: true})
	for _, one := range all { // in the order of creation: parents come first
		if to.family[one.Parent] {
			to.family[one.ID] = true
		}
	}
	return to, err
}

// wants reports whether an event is for the reader, and adds new agents to the family.
func (a audience) wants(h *happening) bool {
	switch {
	case a.family == nil || h.agent == "": // about the kernel
		return true
	case a.subtree && h.parent != "" && a.family[h.parent]:
		a.family[h.agent] = true
	case !a.family[h.agent]:
		return false
	}
	if a.subtree {
		for _, b := range h.born {
			a.family[b] = true
		}
	}
	return true
}
