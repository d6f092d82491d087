package runner

import (
	"ramet/internal/run"
)

// spending is what the model calls of a run used.
type spending struct {
	calls, tokens int64
	dollars       float64
}

// add counts an event of a model call.
func (s *spending) add(t run.Type, payload []byte) {
	switch t {
	case run.LLMCallStarted:
		s.calls++
	case run.LLMCallFinished:
		p := run.ReadPayload[run.CallEnd](payload) // the log checks its form
		s.tokens += p.Usage.Total
		if p.CostUSD != nil {
			s.dollars += *p.CostUSD
		}
	}
}
