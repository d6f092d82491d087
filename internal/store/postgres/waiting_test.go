package postgres

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/testkit"
)

// hurdle is a transaction that holds up whoever stores a certain long text, in
// the middle of a verb: after its entries were written, before it commits.
type hurdle struct {
	t    *testing.T
	raw  *sql.DB
	tx   *sql.Tx
	pid  int
	text string
}

func newHurdle(t *testing.T, raw *sql.DB) *hurdle {
	t.Helper()
	h := &hurdle{t: t, raw: raw, text: strings.Repeat("held up ", 2000)}
	enc := testkit.Must(zstd.NewWriter(nil))(t)
	h.tx = testkit.Must(raw.BeginTx(context.Background(), nil))(t)
	testkit.OK(t, h.tx.QueryRow(`SELECT pg_backend_pid()`).Scan(&h.pid))
	sum := chain.Sum([]byte(h.text))
	testkit.Must(h.tx.Exec(`INSERT INTO blobs (hash, size, data) VALUES ($1, $2, $3)`, sum[:], len(h.text),
		enc.EncodeAll([]byte(h.text), nil)))(t)
	return h
}

func (h *hurdle) draft() history.Draft {
	return history.Draft{Kind: history.User, Parts: []history.Part{{Type: history.Text, Text: h.text}}}
}

// waiting returns when a backend waits for the one given, and which.
func waiting(t *testing.T, raw *sql.DB, pid int) int {
	t.Helper()
	for {
		var waiter int
		testkit.OK(t, raw.QueryRow(`SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))`, pid).Scan(&waiter))
		if waiter != 0 {
			return waiter
		}
		testkit.OK(t, t.Context().Err())
	}
}

// fall lets everybody go on.
func (h *hurdle) fall() {
	h.t.Helper()
	testkit.OK(h.t, h.tx.Rollback())
}

func openFresh(t *testing.T) (*store.Store, *sql.DB, id.Agent) {
	t.Helper()
	w := fresh(t)
	s := testkit.Must(w.Open())(t)
	t.Cleanup(func() {
		if _, err := s.Audit(context.Background(), nil); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	zero := testkit.Must(s.Zero(t.Context()))(t)
	return s, w.Raw(t), zero.ID
}

func fork(t *testing.T, s *store.Store, parent id.Agent, entries ...history.Draft) agent.Agent {
	t.Helper()
	born := testkit.Must(s.Fork(context.Background(), registry.Fork{Parent: parent, Children: []registry.Child{{ID: id.NewAgent(), Entries: entries}}}))(t)
	return born[0]
}

func TestTheFeedNeverSkipsALateCommit(t *testing.T) {
	for limit := 1; limit <= 3; limit++ {
		s, raw, zero := openFresh(t)
		slow, fast := fork(t, s, zero), fork(t, s, zero)
		h := newHurdle(t, raw)
		done := make(chan error)
		var late []history.Entry
		go func() { // draws its ids now, commits later
			var err error
			late, err = s.Append(context.Background(), slow.ID, agent.Passing(), h.draft(), h.draft())
			done <- err
		}()
		waiting(t, raw, h.pid)
		early := testkit.Must(s.Append(t.Context(), fast.ID, agent.Passing(), history.Draft{Kind: history.Note}, history.Draft{Kind: history.Note}))(t)
		testkit.Must(s.Send(t.Context(), registry.Send{To: fast.ID, Body: "dear"}))(t)
		seen := map[id.Message]int{}
		var order []id.Message
		letters := 0
		cursor := registry.Cursor("")
		read := func() {
			t.Helper()
			for {
				changes, next, err := s.Changes(t.Context(), cursor, limit)
				testkit.OK(t, err)
				cursor = next
				if len(changes) == 0 {
					return
				}
				for _, c := range changes {
					if c.Letter != nil {
						letters++
						continue
					}
					seen[c.Entry.ID]++
					order = append(order, c.Entry.ID)
				}
			}
		}
		read()
		if seen[early[1].ID] != 1 {
			t.Fatalf("limit %d: the feed did not get past the open transaction", limit)
		}
		h.fall()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if late[0].ID > early[0].ID {
			t.Fatal("the late commit has no lower id: the test shows nothing")
		}
		read()
		read()
		report := testkit.Must(s.Audit(t.Context(), nil))(t)
		for _, e := range append(late, early...) {
			if seen[e.ID] != 1 {
				t.Errorf("limit %d: message %d came %d times", limit, e.ID, seen[e.ID])
			}
		}
		if len(order) != report.Messages || letters != 1 {
			t.Errorf("limit %d: %d messages and %d letters, want %d and 1", limit, len(order), letters, report.Messages)
		}
		if n := len(order); order[n-2] != late[0].ID || order[n-1] != late[1].ID {
			t.Errorf("limit %d: order %v", limit, order)
		}
	}
}

// A fork under way when a cascade begins must not leave a survivor.
func TestACascadeWaitsForAForkUnderWay(t *testing.T) {
	s, raw, zero := openFresh(t)
	top := fork(t, s, zero)
	parent := fork(t, s, top.ID)
	h := newHurdle(t, raw)
	forked, killed := make(chan error), make(chan error)
	child := registry.Child{ID: id.NewAgent(), Entries: []history.Draft{h.draft()}}
	go func() {
		_, err := s.Fork(context.Background(), registry.Fork{Parent: parent.ID, Children: []registry.Child{child}})
		forked <- err
	}()
	forker := waiting(t, raw, h.pid)
	var done registry.Killed
	go func() {
		var err error
		done, err = s.Kill(context.Background(), registry.Kill{Agent: top.ID, Cascade: true})
		killed <- err
	}()
	waiting(t, raw, forker)
	h.fall()
	if err := <-forked; err != nil {
		t.Fatal(err)
	}
	if err := <-killed; err != nil {
		t.Fatal(err)
	}
	survivor, err := s.Agent(t.Context(), child.ID)
	if err != nil || survivor.Status != agent.Dead {
		t.Errorf("the child is %s, %v", survivor.Status, err)
	}
	if len(done.Victims) != 3 {
		t.Errorf("%d victims", len(done.Victims))
	}
}

// A reply that is being kept when a redaction begins must not outlive it.
func TestARedactionWaitsForRepliesUnderWay(t *testing.T) {
	s, raw, zero := openFresh(t)
	secret := say(t, s, zero, "secret")
	tx, pid := begin(t, raw)
	testkit.Must(tx.Exec(`INSERT INTO replies VALUES ($1, $2, 'the secret', 0)`, string(zero), int64(secret)))(t)
	done := make(chan error)
	go func() { done <- s.Redact(context.Background(), zero, agent.Passing(), secret) }()
	waiting(t, raw, pid)
	testkit.OK(t, tx.Commit())
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := raw.QueryRow(`SELECT count(*) FROM replies`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d replies after the redaction, %v", rows, err)
	}
}

// Replies that had to wait, as for a redaction, are held against what is true
// afterwards.
func TestRepliesThatWaitedAreOver(t *testing.T) {
	s, raw, zero := openFresh(t)
	after := say(t, s, zero, "x")
	kept := fork(t, s, zero)
	tx, pid := begin(t, raw)
	testkit.Must(tx.Exec(`LOCK TABLE replies IN EXCLUSIVE MODE`))(t)
	row := testkit.Must(s.Agent(t.Context(), zero))(t)
	done := make(chan error)
	go func() {
		done <- s.KeepReplies(context.Background(), []registry.Reply{
			{Agent: zero, After: row.Head, Text: "late"}, {Agent: kept.ID, After: kept.Head, Text: "on time"}})
	}()
	waiting(t, raw, pid)
	if say(t, s, zero, "meanwhile") <= after {
		t.Fatal("the history went backwards")
	}
	testkit.OK(t, tx.Rollback())
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var agents string
	if err := raw.QueryRow(`SELECT coalesce(string_agg(agent_uuid, ' '), '') FROM replies`).Scan(&agents); err != nil || agents != string(kept.ID) {
		t.Errorf("replies of %q, %v, want %s", agents, err, kept.ID)
	}
}

func begin(t *testing.T, raw *sql.DB) (tx *sql.Tx, pid int) {
	t.Helper()
	tx = testkit.Must(raw.BeginTx(context.Background(), nil))(t)
	t.Cleanup(func() { tx.Rollback() })
	testkit.OK(t, tx.QueryRow(`SELECT pg_backend_pid()`).Scan(&pid))
	return tx, pid
}

func say(t *testing.T, s *store.Store, a id.Agent, text string) id.Message {
	t.Helper()
	d := testkit.Must(history.Say(history.User, text))(t)
	out := testkit.Must(s.Append(t.Context(), a, agent.Passing(), d))(t)
	return out[0].ID
}
