package postgres

import (
	"database/sql"
	"iter"
	"slices"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// What does not ask for a whole history reads few rows, however long that or another one is. The server decides
// how it looks for rows, and may walk through everything although it has an index: so the rows are counted.
func TestVerbsDoNotReadWholeHistories(t *testing.T) {
	pg := testkit.Must(database.ParsePostgres(pgtest.URL(t)))(t)
	raw := pg.Open(1)
	defer raw.Close()
	// rows counts what somebody reads. The server tells it when his one connection has ended.
	rows := func(read func(*store.Store)) (n int64) {
		db := pg.Open(1)
		d := &dialect{db: db, config: pg.Config, schema: pg.Schema, place: pg.Place}
		testkit.OK(t, d.migrate(t.Context(), Options{Cwd: "/"}))
		var pid, there int
		testkit.OK(t, db.QueryRow(`SELECT pg_backend_pid()`).Scan(&pid))
		before := counted(t, raw, pg.Schema)
		s := store.New(db, db, d, db.Close)
		read(s)
		testkit.OK(t, s.Close())
		for there = 1; there > 0; {
			testkit.OK(t, raw.QueryRow(`SELECT count(*) FROM pg_stat_activity WHERE pid = $1`, pid).Scan(&there))
		}
		return counted(t, raw, pg.Schema) - before
	}
	var short, long id.Agent
	rows(func(s *store.Store) { short, long = grown(t, s, 2), grown(t, s, 100) })

	verbs := map[string]func(*store.Store, id.Agent) error{
		"tail": func(s *store.Store, a id.Agent) error {
			_, err := history.Tail(t.Context(), s, a, 20)
			return err
		},
		"survey": func(s *store.Store, a id.Agent) error {
			_, _, err := history.Survey(t.Context(), s, a)
			return err
		},
		"newest": func(s *store.Store, a id.Agent) error {
			return drained(s.QueryRange(t.Context(), history.Range{Agent: a}, history.Selection{Newest: 5, Any: true}))
		},
		"newest state of files": func(s *store.Store, a id.Agent) error {
			return drained(s.QueryRange(t.Context(), history.Range{Agent: a}, history.Selection{Newest: 1, States: true}))
		},
		"orders": func(s *store.Store, a id.Agent) error {
			return drained(s.QueryRange(t.Context(), history.Range{Agent: a}, history.Selection{Orders: true}))
		},
		"told": func(s *store.Store, a id.Agent) error {
			return drained(s.QueryRange(t.Context(), history.Range{Agent: a}, history.Selection{Told: true}))
		},
		"clear": func(s *store.Store, a id.Agent) error {
			_, _, err := s.FindClear(t.Context(), a, history.Bound{})
			return err
		},
		"words": func(s *store.Store, a id.Agent) error {
			_, err := s.Words(t.Context(), a)
			return err
		},
		"endings": func(s *store.Store, a id.Agent) error {
			_, err := s.Endings(t.Context(), true, a)
			return err
		},
		"agent": func(s *store.Store, a id.Agent) error {
			_, err := s.Agent(t.Context(), a)
			return err
		},
		"lease": func(s *store.Store, a id.Agent) error {
			_, err := s.Acquire(t.Context(), a, "somebody", time.Millisecond)
			return err
		},
		"append": func(s *store.Store, a id.Agent) error {
			said, err := history.Say(history.User, "and this")
			if err != nil {
				return err
			}
			_, err = s.Append(t.Context(), a, agent.Passing(), said)
			return err
		},
		"letters": func(s *store.Store, a id.Agent) error {
			_, err := s.Letters(t.Context(), a, mail.Filter{})
			return err
		},
		"fork": func(s *store.Store, a id.Agent) error {
			_, err := s.Fork(t.Context(), registry.Fork{Parent: a, Children: []registry.Child{{ID: id.NewAgent()}}})
			return err
		},
		"changes": func(s *store.Store, a id.Agent) error {
			at, err := s.Latest(t.Context())
			if err != nil {
				return err
			}
			_, _, err = s.Changes(t.Context(), at, 10)
			return err
		},
		"spent": func(s *store.Store, a id.Agent) error {
			_, err := s.Spent(t.Context(), a)
			return err
		},
	}
	if _, err := raw.Exec(`ANALYZE messages, agents`); err != nil { // as the server does by itself, later
		t.Fatal(err)
	}
	// A transaction of any database of the server keeps its snapshots old: changes are read again from there.
	for old := true; old; {
		testkit.OK(t, raw.QueryRow(`SELECT pg_snapshot_xmin(pg_current_snapshot()) <= max(txid) FROM messages`).Scan(&old))
	}
	const times = 8 // after five the server may have a plan for any agent
	for name, do := range verbs {
		for _, a := range []id.Agent{short, long} {
			n := rows(func(s *store.Store) {
				for range times {
					if err := do(s, a); err != nil {
						t.Error(name, err)
					}
				}
			})
			if n > times*100 {
				t.Errorf("%s reads %d rows of 10,000", name, n/times)
			}
		}
	}
	n := rows(func(s *store.Store) {
		if _, err := s.Acquire(t.Context(), long, "somebody", time.Hour); err != nil { // in the middle of something
			t.Error(err)
		}
		if _, err := s.Kill(t.Context(), registry.Kill{Agent: long}); err != nil {
			t.Error(err)
		}
	})
	if n > 100 {
		t.Errorf("a kill reads %d rows of 10,000", n)
	}
}

// grown is an agent with so many hundred messages: a prompt that was cleared, one that was not, and one long turn.
func grown(t *testing.T, s *store.Store, hundreds int) id.Agent {
	t.Helper()
	zero := testkit.Must(s.Zero(t.Context()))(t)
	a := id.NewAgent()
	testkit.Must(s.Fork(t.Context(), registry.Fork{Parent: zero.ID, Children: []registry.Child{{ID: a}}}))(t)
	say := func(k history.Kind) history.Draft {
		d := testkit.Must(history.Say(k, "hello"))(t)
		return d
	}
	drafts := []history.Draft{say(history.User), {Kind: history.Clear}, say(history.User)}
	for range hundreds * 50 {
		drafts = append(drafts, say(history.Assistant), history.Draft{Kind: history.Usage})
	}
	for some := range slices.Chunk(drafts, 500) {
		testkit.Must(s.Append(t.Context(), a, agent.Passing(), some...))(t)
	}
	return a
}

// counted is how many rows of messages were read so far.
func counted(t *testing.T, raw *sql.DB, schema string) (n int64) {
	t.Helper()
	testkit.OK(t, raw.QueryRow(`SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'messages'`, schema).Scan(&n))
	return n
}

func drained(all iter.Seq2[history.Entry, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
