package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
)

// steps are the numbers of rows that statements insert, so that there are few to
// prepare.
var steps = []int{64, 8, 1}

// pair is what makes a record the same one.
type pair struct{ eventID, runID string }

// create inserts the records of all calls.
func (s *Store) create(ctx context.Context, tx *sql.Tx, batch []*call, now time.Time) error {
	var all []*telemetry.New
	for _, c := range batch {
		for i := range c.news {
			all = append(all, &c.news[i])
		}
	}
	made := map[pair]bool{}
	for rest := all; len(rest) > 0; {
		n := 0
		for _, n = range steps {
			if n <= len(rest) {
				break
			}
		}
		if err := s.insert(ctx, tx, rest[:n], now, made); err != nil {
			return err
		}
		rest = rest[n:]
	}
	known := map[string]*row{} // by event_id; and run_ids of others
	if len(made) < len(all) {
		var err error
		if known, err = s.lookUp(ctx, tx, all, made); err != nil {
			return err
		}
	}
	for _, c := range batch {
		if c.isPatch() {
			continue
		}
		c.results = make([]telemetry.Result, len(c.news))
		for i := range c.news {
			n := &c.news[i]
			p := pair{n.EventID, n.RunID}
			if made[p] {
				delete(made, p) // the same again is a duplicate
				record := n.Record
				record.CreatedAt, record.UpdatedAt = now, now
				c.results[i] = telemetry.Result{Outcome: telemetry.Created, Record: record}
				continue
			}
			c.results[i] = judgeRefused(n, known)
		}
	}
	return nil
}

// insert creates records and notes those that were new.
func (s *Store) insert(ctx context.Context, tx *sql.Tx, news []*telemetry.New, now time.Time, made map[pair]bool) error {
	args := make([]any, 0, len(news)*(len(columns)+1))
	for _, n := range news {
		record := n.Record
		record.CreatedAt, record.UpdatedAt = now, now
		values, err := columnValues(&record)
		if err != nil {
			return err
		}
		args = append(append(args, n.BodyHash), values...)
	}
	rows, err := tx.StmtContext(ctx, s.inserts[len(news)]).QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var p pair
		if err := rows.Scan(&p.eventID, &p.runID); err != nil {
			return err
		}
		made[p] = true
	}
	return rows.Err()
}

// lookUp finds what stands in the way of records. Keys are event_ids; and of run_ids that
// another event_id has, "run " and the run_id.
func (s *Store) lookUp(ctx context.Context, tx *sql.Tx, all []*telemetry.New, made map[pair]bool) (map[string]*row, error) {
	known := map[string]*row{}
	find := func(column string, keys []any) error {
		for len(keys) > 0 {
			n := min(len(keys), 500)
			marks := make([]string, n)
			for i := range marks {
				marks[i] = fmt.Sprintf("$%d", i+1)
			}
			rows, err := tx.QueryContext(ctx, selectRecord+` WHERE `+column+` IN (`+strings.Join(marks, ",")+`)`, keys[:n]...)
			if err != nil {
				return err
			}
			if err := eachRow(rows, func(w *row) {
				known[w.record.EventID] = w
				known["run "+w.record.RunID] = w
			}); err != nil {
				return err
			}
			keys = keys[n:]
		}
		return nil
	}
	seen := map[pair]bool{}
	var events, runs []any
	for _, n := range all {
		if p := (pair{n.EventID, n.RunID}); !made[p] || seen[p] {
			events = append(events, n.EventID)
			runs = append(runs, n.RunID)
		} else {
			seen[p] = true
		}
	}
	if err := find("event_id", events); err != nil {
		return nil, err
	}
	missing := runs[:0]
	for i, id := range events {
		if known[id.(string)] == nil {
			missing = append(missing, runs[i])
		}
	}
	return known, find("run_id", missing)
}

// judgeRefused returns the result for a record that was not created.
func judgeRefused(n *telemetry.New, known map[string]*row) telemetry.Result {
	if one := known[n.EventID]; one != nil {
		if one.hash == n.BodyHash {
			return telemetry.Result{Outcome: telemetry.Duplicate, Record: one.record}
		}
		return telemetry.Result{Err: fault.New(fault.IDReused, "event_id %s was created with another body", n.EventID).
			WithHint("change a record with PATCH, or give another one another event_id")}
	}
	owner := "another event_id"
	if one := known["run "+n.RunID]; one != nil {
		owner = "event_id " + one.record.EventID
	}
	return telemetry.Result{Err: fault.New(fault.IDReused, "run_id %s belongs to %s", n.RunID, owner).
		WithHint("give every record a run_id of its own")}
}
