package store

import (
	"testing"
	"time"

	"ramet/internal/telemetry"
	"ramet/internal/testkit"
)

// Old records go, but for those above a record that stays.
func TestPrune(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		now := time.Now().UTC().Truncate(time.Microsecond)
		at := now.Add(-100 * 24 * time.Hour)
		s.now = func() time.Time { return at }
		var old []telemetry.New
		for n := range 5 {
			old = append(old, sample(t, n))
		}
		testkit.Must(s.Create(t.Context(), old))(t)
		at = now
		child := plain(t, 10, "run-2")
		testkit.Must(s.Create(t.Context(), []telemetry.New{child}))(t)
		n, err := s.Prune(t.Context(), now.Add(-90*24*time.Hour))
		if err != nil || n != 4 {
			t.Errorf("%d, %v", n, err)
		}
		left, _, err := s.List(t.Context(), telemetry.Filter{Limit: 100})
		if err != nil || len(left) != 2 {
			t.Errorf("%d are left, %v", len(left), err)
		}
		if n, err := s.Prune(t.Context(), now.Add(-90*24*time.Hour)); err != nil || n != 0 {
			t.Errorf("%d, %v", n, err)
		}
	})
}
