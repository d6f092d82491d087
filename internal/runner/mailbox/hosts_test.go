package mailbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/runner/mailbox"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestHostsAreAliveByTheClockOfTheDatabase(t *testing.T) {
	address := place(t)
	c := open(t, address)
	const lease = time.Minute
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Beat(ctx, mailbox.Host{Name: "alive", Queues: []string{"work", "more"}, Parallel: 4, Version: "1.2"}, 30*time.Millisecond)
	}()
	query(t, address, `INSERT INTO hosts VALUES ('dead', clock_timestamp() - interval '2 minutes', '{}', 1, '')`)
	hosts := listed(t, c, 2)
	if h := hosts[0]; h.Name != "alive" || !slices.Equal(h.Queues, []string{"work", "more"}) || h.Parallel != 4 || h.Version != "1.2" || h.Seen > lease {
		t.Errorf("%+v", h)
	}
	if h := hosts[1]; h.Name != "dead" || h.Seen < 2*time.Minute || h.Seen > 3*time.Minute {
		t.Errorf("%+v", h)
	}
	if hosts[0].Gone(lease) || !hosts[1].Gone(lease) {
		t.Errorf("%+v", hosts)
	}
	// It beats again and again.
	seen := query(t, address, `SELECT seen_at FROM hosts WHERE host = 'alive'`)[0][0].(time.Time)
	for range 2 {
		last := seen
		for !seen.After(last) {
			seen = query(t, address, `SELECT seen_at FROM hosts WHERE host = 'alive'`)[0][0].(time.Time)
		}
	}
	for _, name := range []string{"alive", "dead"} { // one that is alive is not forgotten
		if err := c.Forget(t.Context(), name, lease); err != nil {
			t.Error(err)
		}
	}
	if hosts := listed(t, c, 1); hosts[0].Name != "alive" {
		t.Error(hosts)
	}
	leave()
	testkit.OK(t, within(t, ended))
	listed(t, c, 0)
}

// listed waits until there are so many hosts.
func listed(t *testing.T, c *mailbox.Client, n int) []mailbox.Host {
	t.Helper()
	var hosts []mailbox.Host
	testkit.WaitUntil(t, fmt.Sprint(n, " hosts are listed"), func() bool {
		hosts = testkit.Must(c.Hosts(t.Context()))(t)
		return len(hosts) == n
	})
	return hosts
}

func TestABeatOutlivesItsConnections(t *testing.T) {
	address := place(t)
	p := pgtest.Through(t, address)
	c := open(t, p.URL)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Beat(ctx, mailbox.Host{Name: "h"}, 30*time.Millisecond) }()
	look := func() time.Time {
		rows := query(t, address, `SELECT seen_at FROM hosts`)
		if len(rows) == 0 {
			return time.Time{}
		}
		return rows[0][0].(time.Time)
	}
	last := time.Time{}
	for range 3 {
		for !look().After(last) {
		}
		last = look()
		p.Cut()
	}
	for !look().After(last) {
	}
	leave()
	testkit.OK(t, within(t, ended))
}
