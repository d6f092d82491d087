package sqlite

import (
	"context"
	"errors"
	"testing"

	"ramet/internal/testkit"
)

// endless has its first row never.
const endless = `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n`

func TestAStatementEndsWithItsContext(t *testing.T) {
	db := opened(t)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		var n int
		done <- db.QueryRowContext(ctx, endless).Scan(&n)
	}()
	end()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestWhatIsOverIsNotBegun(t *testing.T) {
	c := testkit.Must(opened(t).Conn(t.Context()))(t)
	defer c.Close()
	testkit.OK(t, c.Raw(func(c any) error {
		over, end := context.WithCancel(t.Context())
		end()
		k := c.(*keeper)
		_, query := k.QueryContext(over, endless, nil)
		_, exec := k.ExecContext(over, endless, nil)
		for _, err := range []error{query, exec} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the driver began it: %v", err)
			}
		}
		return nil
	}))
}
