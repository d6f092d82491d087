package store

import (
	"fmt"
	"testing"

	"ramet/internal/telemetry"
	"ramet/internal/testkit"
)

func TestTotalsAddUpByJobAndStatus(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		if got, err := s.Totals(t.Context()); err != nil || len(got) != 0 {
			t.Fatal(got, err)
		}
		var news []telemetry.New
		for i, c := range []string{`"launch","status":"running"`, `"launch","status":"success"`, `"gate","status":"running"`,
			`"llm_call","status":"success","metrics_json":{"input_tokens":10,"output_tokens":1,"api_cost_usd":0.5}`,
			`"llm_call","status":"success","metrics_json":{"input_tokens":5}`, `"llm_call","status":"failure"`, `"launch","status":"running","metrics_json":{"input_tokens":99}`} {
			news = append(news, parseNew(t, fmt.Sprintf(`{"event_id":%q,"run_id":"r%d","agent_name":"a","start_time":"2026-01-01T00:00:00Z","job_type":%s}`,
				telemetry.EventID("totals", fmt.Sprint(i)), i, c)))
		}
		testkit.Must(s.Create(t.Context(), news))(t)
		totals := testkit.Must(s.Totals(t.Context()))(t)
		got := map[string]telemetry.Sums{}
		for _, total := range totals {
			got[string(total.JobType)+" "+string(total.Status)] = total.Sums
		}
		want := map[string]telemetry.Sums{"launch running": {Records: 2}, "launch success": {Records: 1}, "gate running": {Records: 1},
			"llm_call success": {Records: 2, Calls: 2, InputTokens: 15, OutputTokens: 1, TotalTokens: 16, CostUSD: 0.5},
			"llm_call failure": {Records: 1, Calls: 1}}
		if len(got) != len(want) || len(totals) != len(want) {
			t.Errorf("%+v", totals)
		}
		for name, sums := range want {
			if got[name] != sums {
				t.Errorf("%s: %+v, want %+v", name, got[name], sums)
			}
		}
	})
}
