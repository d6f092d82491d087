package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
)

// querier is a database or a transaction of one.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// atMost stands before the parameter of a limit. Before a bare one SQLite plans the statement for each number
// anew, and throws away what was compiled.
const atMost = `LIMIT CAST(0 AS BIGINT) + `

// Tx is a transaction, to whom writes within it.
type Tx interface{ querier }

// Transaction is one to whom began it.
type Transaction interface {
	Tx
	Commit() error
	Rollback() error
}

// reader is the reading side, of the database or within a transaction.
type reader struct {
	q querier
	d Dialect
}

// unreadableRow returns the fault of a row that holds what the schema never let in. Its
// first columns say whose it is.
func unreadableRow(rows *sql.Rows, a id.Agent, m id.Message, err error) error {
	if rows.Err() != nil {
		return rows.Err() // the row was not there to be read
	}
	return damagedRow(a, m, err)
}

func damagedRow(a id.Agent, m id.Message, err error) error {
	return fault.New(fault.HistoryDamaged, "agent %s message %d: its row is not readable: %w", a, m, err).
		WithHint("the stored record was changed from outside; compare with a backup")
}

// toHash gives the zero Hash, which fits nothing, for bytes that are none.
func toHash(b []byte) chain.Hash {
	if len(b) != len(chain.Hash{}) {
		return chain.Hash{}
	}
	return chain.Hash(b)
}

func (r reader) agents(ctx context.Context, where string, args ...any) ([]agent.Agent, error) {
	s := scanAgents()
	list, err := collect(ctx, r.q, func(rows *sql.Rows) (agent.Agent, error) {
		if err := s.read(rows.Scan); err != nil {
			return s.Agent, unreadableRow(rows, s.ID, s.Genesis, err)
		}
		return s.Agent, nil
	}, `SELECT `+agentColumns+` FROM agents `+where, args...)
	if err != nil {
		return nil, r.fail("read agents", err)
	}
	return list, nil
}

func (r reader) oneAgent(ctx context.Context, where string, args ...any) (agent.Agent, bool, error) {
	found, err := r.agents(ctx, where+` LIMIT 1`, args...)
	if err != nil || len(found) == 0 {
		return agent.Agent{}, false, err
	}
	return found[0], true, nil
}

// Agent implements agent.Directory.
func (r reader) Agent(ctx context.Context, a id.Agent) (agent.Agent, error) {
	found, ok, err := r.oneAgent(ctx, `WHERE uuid = $1`, string(a))
	if err == nil && !ok {
		err = noAgent(a)
	}
	return found, err
}

func noAgent(a id.Agent) error {
	return fault.New(fault.NotFound, "no agent %q", a).WithHint("`ramet ps --all` lists the agents")
}

// Zero implements agent.Directory.
func (r reader) Zero(ctx context.Context) (agent.Agent, error) {
	found, ok, err := r.oneAgent(ctx, `WHERE parent_uuid IS NULL`)
	if err == nil && !ok {
		err = fault.New(fault.HistoryDamaged, "agent 0 is missing")
	}
	return found, err
}

// Agents implements agent.Directory.
func (r reader) Agents(ctx context.Context, f agent.Filter) ([]agent.Agent, error) {
	where := `WHERE status = 'running'`
	switch {
	case f.OnlyDead:
		where = `WHERE status = 'dead'`
	case f.Dead:
		where = `WHERE true`
	}
	columns, row := listColumns, &agentScan{listed: true}
	if f.Brief {
		columns, row = treeColumns, &agentScan{brief: true}
	}
	packed, err := collect(ctx, r.q, scanColumn[string], `SELECT `+columns+` FROM agents `+where+` ORDER BY genesis_id`)
	if err != nil {
		return nil, r.fail("read agents", err)
	}
	list := make([]agent.Agent, len(packed)) // at once: one that grows is copied again and again
	for i := range list {
		if err := row.take(packed[i]); err != nil {
			return nil, r.fail("read agents", damagedRow(row.ID, row.Genesis, err))
		}
		list[i] = row.Agent
	}
	unread, err := r.unread(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Unread = unread[list[i].ID]
	}
	return list, nil
}

// Heads returns the newest entry of every history, by uuid, at one moment.
func (r reader) Heads(ctx context.Context) ([]registry.Head, error) {
	var uuid string
	var hash sql.RawBytes
	out, err := collect(ctx, r.q, func(rows *sql.Rows) (h registry.Head, err error) {
		if err := rows.Scan(&uuid, &h.Message, &hash); err != nil {
			return h, unreadableRow(rows, id.Agent(uuid), h.Message, err)
		}
		h.Agent, h.Hash = id.Agent(uuid), toHash(hash)
		return h, nil
	}, `SELECT uuid, head_id, head_hash FROM agents`)
	if err != nil {
		return nil, r.fail("read heads", err)
	}
	registry.SortHeads(out)
	return out, nil
}

func (r reader) unread(ctx context.Context) (map[id.Agent]int64, error) {
	out := map[id.Agent]int64{}
	err := each(ctx, r.q, func(rows *sql.Rows) error {
		var a id.Agent
		var n int64
		err := rows.Scan(&a, &n)
		out[a] = n
		return err
	}, `SELECT to_uuid, count(*) FROM mail WHERE read_at IS NULL AND deleted_at IS NULL GROUP BY to_uuid`)
	if err != nil {
		return nil, r.fail("count mail", err)
	}
	return out, nil
}

// Named implements agent.Directory.
func (r reader) Named(ctx context.Context, name string) (agent.Agent, bool, error) {
	a, ok, err := r.oneAgent(ctx, `WHERE name = $1 AND status = 'running'`, name)
	if ok || err != nil {
		return a, ok, err
	}
	return r.oneAgent(ctx, `WHERE name = $1 AND status = 'dead' ORDER BY ended_at DESC, genesis_id DESC`, name)
}

// Prefixed implements agent.Directory.
func (r reader) Prefixed(ctx context.Context, prefix string, limit int) ([]agent.Agent, error) {
	// '~' sorts behind every character of a uuid in both engines' byte order.
	return r.agents(ctx, `WHERE uuid >= $1 AND uuid < $2 ORDER BY uuid `+atMost+`$3`, prefix, prefix+"~", limit)
}

// Names implements agent.Directory.
func (r reader) Names(ctx context.Context) ([]string, error) {
	out, err := collect(ctx, r.q, scanColumn[string], `SELECT name FROM agents WHERE name IS NOT NULL AND status = 'running' ORDER BY name`)
	if err != nil {
		return nil, r.fail("read names", err)
	}
	return out, nil
}

// lock reads an agent's row, holds it until the end of the transaction, and
// tells the database's time.
func (r reader) lock(ctx context.Context, a id.Agent) (agent.Agent, int64, error) {
	var now int64
	s := scanAgents(&now)
	err := r.locked(ctx, s, r.locking(), a)
	return s.Agent, now, err
}

func (r reader) locking() string {
	return `SELECT ` + agentColumns + `, ` + r.d.Now() + ` FROM agents WHERE uuid = $1` + r.d.ForUpdate()
}

func (r reader) locked(ctx context.Context, s *agentScan, query string, a id.Agent) error {
	err := s.read(r.q.QueryRowContext(ctx, query, string(a)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = noAgent(a)
	}
	return err
}

// lockDrawing is lock, with the ids of n entries behind it: in one round trip where there is one.
func (r reader) lockDrawing(ctx context.Context, tx Tx, a id.Agent, n int) (agent.Agent, int64, []id.Message, error) {
	query := r.d.Draws(r.locking(), n)
	if query == "" {
		found, now, err := r.lock(ctx, a)
		if err != nil {
			return found, now, nil, err
		}
		ids, err := r.d.NextMessages(ctx, tx, n)
		return found, now, ids, err
	}
	var now int64
	ids, s := make([]id.Message, n), scanAgents(&now)
	for i := range ids {
		s.into = append(s.into, (*int64)(&ids[i]))
	}
	err := r.locked(ctx, s, query, a)
	slices.Sort(ids)
	return s.Agent, now, ids, err
}

// Words and numbers are read as one column, and so are the texts, between separators
// that registry.CheckField keeps out of them: the SQLite driver takes as long for a
// column as for five of these, and a tree has thousands of rows.
const (
	treeWords  = `uuid, genesis_id, coalesce(parent_uuid, ''), status, coalesce(name, ''), created_at, own, total`
	agentWords = treeWords + `, coalesce(fork_message_id, 0), depth, coalesce(CAST(ended_at AS TEXT), ''), lease_epoch, coalesce(CAST(lease_until AS TEXT), ''),
		spent_tokens, spent_cost, coalesce(CAST(budget_tokens AS TEXT), ''), coalesce(CAST(budget_cost AS TEXT), ''), head_id`
	treeColumns  = `concat_ws('` + registry.Separator + `', provider, model, ` + treeWords + `)`
	agentTexts   = `provider, model, cwd, coalesce(end_reason, ''), coalesce(lease_owner, '')`
	agentColumns = `concat_ws('` + registry.Separator + `', ` + agentWords + `), head_hash, concat_ws('` + registry.Separator + `', ` + agentTexts + `)`
	listColumns  = `concat_ws('` + registry.Separator + `', ` + agentWords + `, ` + agentTexts + `)`
)

// agentScan reads rows of agents, one after the other, into the same place.
type agentScan struct {
	agent.Agent
	brief       bool // treeColumns
	listed      bool // listColumns
	packed      string
	hash        []byte
	texts, last string
	into        []any
}

// scanAgents reads agentColumns, and what stands behind them into more.
func scanAgents(more ...any) *agentScan {
	s := &agentScan{}
	s.into = append([]any{&s.packed, &s.hash, &s.texts}, more...)
	return s
}

func (s *agentScan) read(scan func(...any) error) error {
	if err := scan(s.into...); err != nil {
		return err
	}
	return s.take(s.packed)
}

// take takes a row apart.
func (s *agentScan) take(packed string) error {
	w := words{rest: packed}
	if s.brief {
		s.Provider, s.Model = w.next(), w.next()
	}
	s.ID, s.Genesis = id.Agent(w.next()), id.Message(w.number())
	s.Parent, s.Status, s.Name = id.Agent(w.next()), agent.Status(w.next()), w.next()
	s.CreatedAt, s.Own, s.Total = fromMicros(w.number()), w.number(), w.number()
	if !s.brief {
		s.ForkMessage, s.Depth, s.EndedAt = id.Message(w.number()), int(w.number()), w.moment()
		s.Lease.Epoch, s.Lease.Until = w.number(), w.moment()
		s.Spent.Tokens, s.Spent.Cost = w.number(), w.number()
		s.Budget.Tokens, s.Budget.Cost = w.limit(), w.limit()
		s.Head = id.Message(w.number()) // the last: a NULL before it would leave it without a word
		if s.HeadHash = toHash(s.hash); s.listed {
			s.texts, w.rest = w.rest, ""
		}
		w.bad = w.bad || !s.split()
	}
	if w.bad || w.rest != "" {
		return fmt.Errorf("%.200q is not a row of an agent", packed)
	}
	return nil
}

// split takes the texts apart. Most rows have the same as the one before.
func (s *agentScan) split() bool {
	if s.texts == s.last && s.last != "" {
		return true
	}
	parts := strings.Split(s.texts, registry.Separator)
	if len(parts) != 5 {
		return false
	}
	s.Provider, s.Model, s.Cwd, s.EndReason, s.Lease.Owner = parts[0], parts[1], parts[2], parts[3], parts[4]
	s.last = s.texts
	return true
}

// words reads the texts between separators.
type words struct {
	rest string
	bad  bool
}

func (w *words) next() string {
	word, rest, _ := strings.Cut(w.rest, registry.Separator)
	w.rest = rest
	return word
}

// number returns a word that is one.
func (w *words) number() int64 { return w.parse(w.next()) }

func (w *words) parse(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	w.bad = w.bad || err != nil
	return n
}

// moment returns a time, or nothing: SQLite takes several times as long to write a zero as to write nothing.
func (w *words) moment() time.Time {
	if strings.HasPrefix(w.rest, registry.Separator) {
		w.rest = w.rest[1:]
		return time.Time{}
	}
	return fromMicros(w.number())
}

// limit returns a number, or nothing.
func (w *words) limit() agent.Limit {
	word := w.next()
	if word == "" {
		return agent.Limit{}
	}
	return agent.AtMost(w.parse(word))
}
