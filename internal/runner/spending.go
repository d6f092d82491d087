package runner

import (
	"encoding/json"

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
		var p struct {
			Usage struct {
				Total int64 `json:"total_tokens"`
			} `json:"token_usage"`
			Cost float64 `json:"api_cost_usd"`
		}
		json.Unmarshal(payload, &p) // the log checks its form
		s.tokens += p.Usage.Total
		s.dollars += p.Cost
	}
}
