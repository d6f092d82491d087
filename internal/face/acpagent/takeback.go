package acpagent

import (
	"context"
	"encoding/json"

	"ramet/internal/driver/acp"
)

// cancelRequest is the notification by which any request is taken back.
const cancelRequest = "$/cancel_request"

// begun is a context for answering a request, which ends when the request is taken back.
func (s *Server) begun(m acp.Message) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered[string(m.ID)] = cancel
	return ctx, func() {
		s.mu.Lock()
		delete(s.answered, string(m.ID))
		s.mu.Unlock()
		cancel()
	}
}

// takeBack ends a request that is being answered: a prompt is cancelled.
func (s *Server) takeBack(m acp.Message) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	s.mu.Lock()
	cancel := s.answered[string(p.ID)]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
