package sqllog

import (
	"context"
	"errors"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
)

// evictTime is how long a session that was ended may take to end.
const evictTime = 10 * time.Second

// EvictWriter ends the session that writes the log of a run, on any host: its host is taken for
// gone. If it is not, it finds the log written by another, and is FENCED. Who connects again
// in the meantime has the run: LOCKED.
func EvictWriter(ctx context.Context, address, runID string) (err error) {
	l, pg, err := connectTable(address, runID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.db.Close()) }()
	key := lockKey(pg.Schema, runID)
	ended := map[int]bool{}
	for until := time.Now().Add(evictTime); ; {
		pid, held, err := l.holder(ctx, key)
		switch {
		case err != nil:
			return database.ServerFault(l.place, "nothing was changed", err)
		case !held:
			return nil
		case len(ended) > 0 && !ended[pid], time.Now().After(until):
			return fault.New(fault.Locked, "%s: it is written by another process again", l.place)
		}
		if !ended[pid] {
			ended[pid] = true
			if _, err := l.db.ExecContext(ctx, `SELECT pg_terminate_backend($1)`, pid); err != nil {
				return database.ServerFault(l.place, "nothing was changed", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// holder is the server's process whose session has an advisory lock.
func (l *rows) holder(ctx context.Context, key int64) (pid int, held bool, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT coalesce(min(l.pid), 0) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database() AND l.objsubid = 1
		AND l.classid::bigint = ($1::bigint >> 32) & 4294967295 AND l.objid::bigint = $1::bigint & 4294967295`, key).Scan(&pid)
	return pid, pid != 0, err
}
