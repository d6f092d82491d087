package store

import (
	"testing"

	"ramet/internal/telemetry"
)

// A record that the database does not take fails alone.
func TestOneCulpritFailsAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		refuse := `CREATE TRIGGER no BEFORE INSERT ON telemetry_runs WHEN NEW.agent_name = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END`
		if s.forUpdate != "" {
			refuse = `ALTER TABLE telemetry_runs ADD CONSTRAINT no CHECK (agent_name <> 'bad')`
		}
		if _, err := s.writer.Exec(refuse); err != nil {
			t.Fatal(err)
		}
		good, bad := plain(t, 1, ""), plain(t, 2, "")
		bad.AgentName = "bad"
		batch := []*call{{news: []telemetry.New{good}}, {news: []telemetry.New{bad}}, {news: []telemetry.New{plain(t, 3, "")}},
			{eventID: good.EventID, patch: parsePatch(t, `{"host": "h"}`)}}
		if err := s.carry(batch); err != nil {
			t.Fatal(err)
		}
		for i, c := range batch {
			if failed := c.err != nil; failed != (i == 1) || c.refused != nil {
				t.Errorf("%d: %v, %v", i, c.err, c.refused)
			}
		}
		if r, err := s.Get(t.Context(), good.EventID); err != nil || r.Host != "h" {
			t.Error(r, err)
		}
	})
}
