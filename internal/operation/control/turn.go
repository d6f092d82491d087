package control

import (
	"context"
	"errors"
	"net/http"

	"ramet/internal/operation/public"

	"ramet/internal/base/bus"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/kernel"
	"ramet/internal/turn/loop"
)

type execRequest struct {
	Agent  id.Agent
	Prompt kernel.Prompt
	Wait   bool // for the tasks of children too
	Stay   bool // the turn goes on when the client goes away
}

// exec runs a turn and streams what happens to the agent and its offspring; the
// last line is the result. The turn is stopped when the client goes away, unless it is
// to stay.
func (s *Server) exec(k Kernel, events *bus.Bus[loop.Event], w http.ResponseWriter, r *http.Request) {
	in, err := read[execRequest](w, r)
	if err == nil {
		err = s.enter()
	}
	if err != nil {
		refuse(w, err)
		return
	}
	defer s.leave()
	seen, enough := events.Subscribe(r.Context())
	defer enough()
	ctx := r.Context()
	if in.Stay {
		ctx = context.WithoutCancel(ctx)
	}
	turn, err := k.Exec(ctx, in.Agent, in.Prompt)
	if err != nil {
		refuse(w, err)
		return
	}
	if in.Stay {
		defer turn.Wait() // before it leaves: Finish counts it
	}
	result := make(chan loop.Event, 1)
	go func() {
		defer enough()
		outcome, err := turn.Wait()
		if in.Wait {
			turn.Tasks(r.Context())
		}
		result <- loop.Event{Type: public.Result, Agent: in.Agent, Turn: turn.ID(), Outcome: &outcome, Err: err}
	}()
	flush, out := http.NewResponseController(w), public.Encoder(w)
	family := Family{in.Agent: true}
	for e := range seen {
		if !family.Knows(e) {
			continue
		}
		if err := errors.Join(out.Encode(public.Format(e)), flush.Flush()); err != nil {
			return
		}
	}
	select {
	case e := <-result:
		if out.Encode(public.Format(e)) == nil {
			flush.Flush() // before Finish can know that it is over
		}
	case <-r.Context().Done():
	}
}

// enter begins a turn that somebody asked for, if one may begin.
func (s *Server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return fault.New(fault.Leased, "the kernel %s is ending", s.Owner).WithHint("try again")
	}
	s.turns++
	return nil
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns--; s.turns == 0 && s.last {
		s.end()
	}
}

// Finish returns when every turn that others asked for is over, or ctx ends. From
// then on no new one is taken; everything else is answered until Close.
func (s *Server) Finish(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last = true; s.turns == 0 {
		s.end()
	}
	s.mu.Unlock()
	select {
	case <-s.none:
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.end()
}

// end lets no turn begin; the caller has the mutex.
func (s *Server) end() {
	if !s.ending {
		s.ending = true
		close(s.none)
	}
}
