package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// shaping must be the condition of the index messages_shaping, or the engines
// would not use it.
var (
	shaping  = sync.OnceValue(func() string { return kindIn(history.Kind.Shapes) })
	reaching = sync.OnceValue(func() string { return kindIn(history.Kind.Reaches) })
)

// told must be the condition of the index messages_told. What is found may tell of no program all
// the same, with those words in something else.
const told = `kind = 'usage' AND meta LIKE '%"driver":%'`

// ordered must be the condition of the index messages_orders: commands, but not those that each turn of a driver begins with. In a
// text inside the meta the quotes are escaped.
const ordered = `kind = 'command' AND meta NOT LIKE '%"command":"` + history.DriverCommand + `"%'`

// kindIn returns the domain's predicate in SQL.
func kindIn(belongs func(history.Kind) bool) string {
	var names []string
	for _, k := range history.Kinds() {
		if belongs(k) {
			names = append(names, "'"+string(k)+"'")
		}
	}
	return `kind IN (` + strings.Join(names, ", ") + `)`
}

// Lineage implements history.Log.
func (r reader) Lineage(ctx context.Context, leaf id.Agent) ([]history.Ancestor, error) {
	out, err := collect(ctx, r.q, func(rows *sql.Rows) (a history.Ancestor, err error) {
		err = rows.Scan(&a.Agent, &a.Parent, &a.ForkMessage)
		return a, err
	}, `
		WITH RECURSIVE line(uuid, parent_uuid, fork_message_id, genesis_id) AS (
			SELECT uuid, parent_uuid, fork_message_id, genesis_id FROM agents WHERE uuid = $1
			UNION ALL
			SELECT a.uuid, a.parent_uuid, a.fork_message_id, a.genesis_id
			FROM line JOIN agents a ON a.uuid = line.parent_uuid AND a.genesis_id < line.genesis_id
		)
		SELECT uuid, coalesce(parent_uuid, ''), coalesce(fork_message_id, 0) FROM line ORDER BY genesis_id DESC`, string(leaf))
	if err != nil {
		return nil, r.fail("read lineage", err)
	}
	if len(out) == 0 {
		return nil, noAgent(leaf)
	}
	if top := out[len(out)-1]; top.Parent != "" { // missing, or younger than its child
		return nil, fault.New(fault.HistoryDamaged, "agent %s message 0: its parent %s is not above it", top.Agent, top.Parent).
			WithHint("`ramet verify` says more")
	}
	return out, nil
}

// FindClear implements history.Log.
func (r reader) FindClear(ctx context.Context, a id.Agent, within history.Bound) (id.Message, bool, error) {
	var m id.Message
	err := r.q.QueryRowContext(ctx, `SELECT id FROM messages WHERE `+r.d.Backwards(`$1`, `0`, `$2`, ` AND `+shaping()+` AND kind = 'clear'`)+` LIMIT 1`,
		string(a), limitOf(within)).Scan(&m)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, r.fail("find clear", err)
	}
	return m, true, nil
}

// limitOf returns the bound as a number: the largest there is for no limit.
func limitOf(b history.Bound) int64 {
	if m, set := b.Limit(); set {
		return int64(m)
	}
	return 1<<63 - 1
}

const (
	entryColumns = `id, agent_uuid, kind, content, meta, created_at, hash`
	wordColumns  = `id, kind, content`
)

// QueryRange implements history.Log.
func (r reader) QueryRange(ctx context.Context, rg history.Range, s history.Selection) iter.Seq2[history.Entry, error] {
	columns, es := entryColumns, entryScan{}
	if s.Words {
		// The driver takes its time for each column of each row.
		columns, es.words, es.agent = wordColumns, true, rg.Agent
	}
	query := `SELECT ` + columns + ` FROM messages WHERE `
	args := []any{string(rg.Agent), int64(rg.Start), limitOf(rg.End)}
	if s.Newest > 0 && !s.Words {
		query += r.d.Backwards(`$1`, `$2`, `$3`, selectedWhere(s)) + ` ` + atMost + `$4`
		args = append(args, s.Newest)
	} else {
		query += `agent_uuid = $1 AND id > $2 AND id <= $3` + selectedWhere(s) + ` ORDER BY id`
	}
	return func(yield func(history.Entry, error) bool) {
		es := es // it may be read more than once
		stream(ctx, r, "read messages", func(rows *sql.Rows) (history.Entry, bool, error) {
			e, err := es.scan(rows)
			return e, !s.Words || e.Kind.Reaches(), err
		}, query, args...)(yield)
	}
}

// selectedWhere returns the condition of a selection; where there is an index for it, that of the index.
func selectedWhere(s history.Selection) string {
	switch {
	case s.Words:
		// Of what does not reach the model these are most; the engines take longer to look for each kind.
		return ` AND kind <> 'usage' AND kind <> 'files'`
	case s.Shaping:
		return ` AND ` + shaping()
	case s.Orders:
		return ` AND ` + ordered
	case s.Told:
		return ` AND ` + told
	case s.States:
		return ` AND kind = 'files'`
	case s.Newest > 0 && !s.Any:
		return ` AND ` + reaching()
	}
	return ""
}

// entryScan reads entries, one after the other, sharing what repeats from row
// to row: agent, kind and empty meta are the same strings and bytes for all
// entries of a range.
type entryScan struct {
	words bool  // only wordColumns are read
	more  []any // takes the columns after entryColumns
	agent id.Agent
	meta  []byte

	// The row at hand.
	row       history.Entry
	content   storedBytes
	agentText sql.RawBytes
	kindText  sql.RawBytes
	metaText  sql.RawBytes
	created   int64
	hash      sql.RawBytes
	into      []any
}

func (s *entryScan) scan(rows *sql.Rows) (history.Entry, error) {
	if s.into == nil {
		s.into = []any{(*int64)(&s.row.ID), &s.agentText, &s.kindText, &s.content, &s.metaText, &s.created, &s.hash}
		if s.into = append(s.into, s.more...); s.words {
			s.into = []any{(*int64)(&s.row.ID), &s.kindText, &s.content}
		}
	}
	if err := rows.Scan(s.into...); err != nil {
		who := id.Agent(s.agentText)
		if s.words {
			who = s.agent
		}
		return s.row, unreadableRow(rows, who, s.row.ID, err)
	}
	e := s.row
	if e.Content = s.content; s.words {
		e.Agent, e.Kind = s.agent, kindOf(s.kindText)
		return e, nil
	}
	s.share(&e, s.agentText, s.kindText, s.metaText)
	e.CreatedAt, e.Hash = fromMicros(s.created), toHash(s.hash)
	return e, nil
}

// storedBytes are the bytes of a column, nil only for NULL. Neither driver uses what it hands out again.
type storedBytes []byte

// Scan implements sql.Scanner.
func (b *storedBytes) Scan(v any) error {
	switch v := v.(type) {
	case []byte:
		if *b = v; v == nil {
			*b = []byte{}
		}
	case string: // bytes that were stored as a text are the same bytes
		*b = []byte(v)
	case nil:
		*b = nil
	default:
		return fmt.Errorf("%T are no bytes", v)
	}
	return nil
}

func (s *entryScan) share(e *history.Entry, agentText, kind, meta []byte) {
	if string(agentText) != string(s.agent) {
		s.agent = id.Agent(agentText)
	}
	if string(meta) != string(s.meta) {
		s.meta = append([]byte(nil), meta...)
	}
	e.Agent, e.Meta, e.Kind = s.agent, s.meta, kindOf(kind)
}

var kinds = sync.OnceValue(func() map[string]history.Kind {
	m := map[string]history.Kind{}
	for _, k := range history.Kinds() {
		m[string(k)] = k
	}
	return m
})

// kindOf spares a copy for every known kind.
func kindOf(b []byte) history.Kind {
	if k, ok := kinds()[string(b)]; ok {
		return k
	}
	return history.Kind(b)
}

// Entry implements history.Log.
func (r reader) Entry(ctx context.Context, m id.Message) (history.Entry, error) {
	found, err := collect(ctx, r.q, (&entryScan{}).scan, `SELECT `+entryColumns+` FROM messages WHERE id = $1`, int64(m))
	switch {
	case err != nil:
		return history.Entry{}, r.fail("read message", err)
	case len(found) > 0:
		return found[0], nil
	}
	return history.Entry{}, fault.New(fault.NotFound, "no message %d", m).WithHint("`ramet log` prints the ids")
}

// Blob implements history.Log.
func (r reader) Blob(ctx context.Context, h chain.Hash) ([]byte, error) {
	var packed []byte
	err := r.q.QueryRowContext(ctx, `SELECT data FROM blobs WHERE hash = $1`, h[:]).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.HistoryDamaged, "blob %s is missing", h).WithHint("`ramet verify` says which message names it")
	}
	if err != nil {
		return nil, r.fail("read blob", err)
	}
	return unpackBlob(h, packed)
}

// seq returns how many own messages an agent has up to a bound.
func (r reader) seq(ctx context.Context) func(id.Agent, history.Bound) (int64, error) {
	return func(a id.Agent, within history.Bound) (int64, error) {
		var n int64
		err := r.q.QueryRowContext(ctx, `SELECT seq FROM messages WHERE `+r.d.Backwards(`$1`, `0`, `$2`, ``)+` LIMIT 1`, string(a), limitOf(within)).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		return n, err
	}
}

// maxBlob bounds what a damaged or hostile blob may unpack to.
const maxBlob = 256 << 20

// The codecs are costly to make and cheap to share; most commands need none.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		return fault.Must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)))
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		return fault.Must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlob)))
	})
)

func unpackBlob(h chain.Hash, packed []byte) ([]byte, error) {
	data, err := unpacker().DecodeAll(packed, nil)
	if err != nil {
		return nil, fault.New(fault.HistoryDamaged, "blob %s is not readable: %w", h, err)
	}
	return data, nil
}
