package sqllog

import (
	"context"
	"errors"
)

// RemoveTable takes the events of a run out of a PostgreSQL database. A run that has none is
// nothing.
func RemoveTable(ctx context.Context, address, runID string) error {
	l, pg, err := connectTable(address, runID)
	if err != nil {
		return err
	}
	missing, err := tableMissing(ctx, l.db, pg)
	if err == nil && !missing {
		_, err = l.db.ExecContext(ctx, "DELETE FROM run_events WHERE run_id = $1", runID)
	}
	if err != nil {
		err = l.fail("remove", err)
	}
	return errors.Join(err, l.db.Close())
}
