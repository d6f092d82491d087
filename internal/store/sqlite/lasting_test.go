package sqlite

import (
	"context"
	"errors"
	"testing"

	"ramet/internal/store"
)

// endless has its first row never.
const endless = `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n`

func TestWhatLastsEndsWithItsContext(t *testing.T) {
	db := opened(t)
	ctx, end := context.WithCancel(store.Lasting(t.Context()))
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
	c, err := opened(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(c any) error {
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
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Only a context that the driver need not watch costs no goroutine.
func TestWhatIsSoonDoneIsNotWatched(t *testing.T) {
	ctx, end := context.WithCancel(store.Unsynced(t.Context()))
	if brief := withoutWatch(ctx); brief.Done() != nil || !store.IsUnsynced(brief) {
		t.Error("a statement that takes microseconds is watched, or its context is another one")
	}
	if withoutWatch(store.Lasting(ctx)).Done() == nil {
		t.Error("one that lasts is not")
	}
	if end(); withoutWatch(ctx).Err() == nil {
		t.Error("one that is over would begin")
	}
}
