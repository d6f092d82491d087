package loop

import (
	"testing"
	"time"
)

func TestTheLongCacheIsForThoseWhoPause(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		before time.Duration
		gaps   []time.Duration
		want   string
	}{
		"one after the other":   {0, []time.Duration{time.Second, time.Minute}, "---"},
		"a child took long":     {0, []time.Duration{time.Second, 10 * time.Minute, time.Second}, "--++"},
		"a person came back":    {20 * time.Minute, []time.Duration{time.Second}, "++"},
		"the day after":         {20 * time.Hour, []time.Duration{time.Second}, "--"},
		"just within the short": {5 * time.Minute, nil, "-"},
	} {
		var p pauses
		now, got := at, ""
		for i := 0; i <= len(c.gaps); i++ {
			if p.ask(now, c.before) {
				got += "+"
			} else {
				got += "-"
			}
			p.answered(now)
			if i < len(c.gaps) {
				now = now.Add(c.gaps[i])
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
