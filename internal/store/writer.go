package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// writer writes entries within one transaction: it gives them their ids and
// links, and keeps the heads and counts of the agents it writes for. Entries
// are collected and go to the database in few statements, at flush.
type writer struct {
	s    *core
	tx   Tx
	at   time.Time
	now  time.Time    // the database's, where an agent was locked
	ids  []id.Message // reserved for this transaction, not used yet
	rows []history.Record
	put  []Statement // put off until send
	tell []Statement // what the bell says of it, behind everything else
	blob []ref
	// reshaped holds the agents whose context must be counted anew, with the
	// rewinds that must be checked.
	reshaped map[*agent.Agent][]rewound
	sign     func(history.Draft) history.Draft // puts the person in who does this, if one does
}

// rewound is a rewind: the entry, and where it goes.
type rewound struct{ by, to id.Message }

// noTargets marks an agent as reshaped without a rewind to check.
var noTargets = []rewound{}

type ref struct {
	history.Blob
	by id.Message
}

// newWriter reserves ids for n entries. The rows of all agents it will write for
// are locked already, so that no lower id can appear later in their histories.
func (s *core) newWriter(ctx context.Context, tx Tx, n int) (*writer, error) {
	ids, err := s.d.NextMessages(ctx, tx, n)
	if err != nil {
		return nil, err
	}
	return s.writes(ctx, tx, ids), nil
}

func (s *core) writes(ctx context.Context, tx Tx, ids []id.Message) *writer {
	return &writer{s: s, tx: tx, at: time.UnixMicro(time.Now().UnixMicro()).UTC(), ids: ids,
		reshaped: map[*agent.Agent][]rewound{}, sign: func(d history.Draft) history.Draft { return history.Sign(ctx, d) }}
}

// write appends entries to an agent's history and moves its head and counts.
func (p *writer) write(a *agent.Agent, drafts ...history.Draft) ([]history.Entry, error) {
	from := len(p.rows)
	for _, d := range drafts {
		d = p.sign(d)
		content, blobs, err := history.Encode(d.Parts)
		if err != nil {
			return nil, err
		}
		meta, err := encodeMeta(&d.Meta)
		if err != nil {
			return nil, err
		}
		salt := chain.NewSalt()
		r := history.Record{Salt: salt[:], Commitment: chain.Commit(salt, content)}
		r.ID, r.Agent, r.Kind, r.Content, r.Meta, r.CreatedAt = p.ids[0], a.ID, d.Kind, content, meta, p.at
		r.Hash = chain.Link{ID: int64(r.ID), CreatedAt: micros(p.at), Agent: string(a.ID), Kind: string(d.Kind), Meta: meta,
			Commitment: r.Commitment, Prev: a.HeadHash}.Hash()
		p.ids = p.ids[1:]
		a.Head, a.HeadHash = r.ID, r.Hash
		switch {
		case d.Kind.Reaches():
			a.Own++
			a.Total++
		case d.Kind == history.Clear:
			a.Total = 0
		case d.Kind == history.Rewind:
			target, err := id.ParseMessage(d.Meta.Target)
			if err != nil {
				return nil, err
			}
			p.reshaped[a] = append(p.reshaped[a], rewound{r.ID, target})
		case d.Kind == history.Compact:
			if p.reshaped[a] == nil {
				p.reshaped[a] = noTargets
			}
		}
		registry.Account(a, d.Kind, d.Meta)
		r.Seq = a.Own
		p.rows = append(p.rows, r)
		for _, b := range blobs {
			p.blob = append(p.blob, ref{b, r.ID})
		}
	}
	out := make([]history.Entry, 0, len(drafts))
	for _, r := range p.rows[from:] {
		out = append(out, r.Entry)
	}
	return out, nil
}

func encodeMeta(m *history.Meta) ([]byte, error) {
	b, err := m.Encode()
	if err != nil || string(b) == "{}" {
		return b, err
	}
	return chain.Canonical(b)
}

// flush sends the entries and the new heads of their agents.
func (p *writer) flush(ctx context.Context, agents ...*agent.Agent) error {
	p.insertRows()
	if len(p.blob) > 0 || len(p.reshaped) > 0 {
		// References to the entries come next, or questions about them.
		if err := p.send(ctx); err != nil {
			return err
		}
	}
	if err := p.insertBlobs(ctx); err != nil {
		return err
	}
	for _, a := range agents {
		if targets, reshaped := p.reshaped[a]; reshaped {
			if err := p.recount(ctx, a, targets); err != nil {
				return err
			}
		}
		p.update(a)
	}
	p.put = append(p.put, p.tell...)
	return p.s.d.Run(ctx, p.tx, p.put, true)
}

// send carries out what was put off.
func (p *writer) send(ctx context.Context) error {
	put := p.put
	p.put = nil
	return p.s.d.Run(ctx, p.tx, put, false)
}

// later puts off a statement, so that few round trips carry many.
func (p *writer) later(query string, args ...any) {
	p.put = append(p.put, Statement{Query: query, Args: args})
}

// chunk limits how many rows go into one INSERT: enough to make statements rare,
// few enough for every engine's limit of parameters.
const chunk = 16

const rowColumns = 10

// insertsRows returns the statement that inserts n entries.
func insertsRows(n int) string {
	return `INSERT INTO messages
		(id, agent_uuid, kind, content, meta, created_at, hash, salt, commitment, seq) VALUES ` + placeholderRows(n, rowColumns)
}

func (p *writer) insertRows() {
	for rows := p.rows; len(rows) > 0; {
		n := min(chunk, len(rows))
		args := make([]any, 0, n*rowColumns)
		for _, r := range rows[:n] {
			args = append(args, int64(r.ID), string(r.Agent), string(r.Kind), r.Content, string(r.Meta),
				micros(r.CreatedAt), r.Hash[:], r.Salt, r.Commitment[:], r.Seq)
		}
		p.later(insertsRows(n), args...)
		rows = rows[n:]
	}
}

// placeholderRows returns ($1,$2,…),($n,…),… for an INSERT.
func placeholderRows(rows, columns int) string {
	var b strings.Builder
	for i := range rows * columns {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%columns == 0:
			b.WriteString("),(")
		default:
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	b.WriteString(")")
	return b.String()
}

// insertBlobs writes contents in the order of their hashes, so that two transactions with
// the same ones do not block each other.
func (p *writer) insertBlobs(ctx context.Context) error {
	slices.SortStableFunc(p.blob, func(a, b ref) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	for _, b := range p.blob {
		if _, err := p.tx.ExecContext(ctx, `INSERT INTO blobs (hash, size, data) VALUES ($1, $2, $3)
			ON CONFLICT (hash) DO UPDATE SET size = excluded.size`, b.Hash[:], len(b.Data), packer().EncodeAll(b.Data, nil)); err != nil {
			return err
		}
		if _, err := p.tx.ExecContext(ctx, `INSERT INTO blob_refs (message_id, hash) VALUES ($1, $2)
			ON CONFLICT DO NOTHING`, int64(b.by), b.Hash[:]); err != nil {
			return err
		}
	}
	return nil
}

// recount finds the size of a context that was rewound or compacted, and
// refuses rewinds that lead out of the history or behind a wall.
func (p *writer) recount(ctx context.Context, a *agent.Agent, targets []rewound) error {
	r := reader{p.tx, p.s.d}
	for _, one := range targets {
		if err := history.LookupAt(ctx, r, a.ID, one.to, history.UpTo(one.by)); err != nil {
			return err
		}
	}
	n, err := r.contextSize(ctx, a.ID)
	if fault.Is(err, fault.HistoryDamaged) {
		return fault.New(fault.Conflict, "this entry does not fit the history: %w", err)
	}
	a.Total = n
	return err
}

// contextSize counts the messages of a context without reading them.
func (r reader) contextSize(ctx context.Context, a id.Agent) (int64, error) {
	ranges, outline, err := history.Survey(ctx, r, a)
	if err != nil {
		return 0, err
	}
	return registry.ContextSize(history.Pieces(ranges, &outline), r.seq(ctx))
}

const (
	changes = `UPDATE agents SET name = $2, head_id = $3, head_hash = $4, own = $5, total = $6,
		spent_tokens = $7, spent_cost = $8, budget_tokens = $9, budget_cost = $10, provider = $11, model = $12`
	changesLiving = changes + ` WHERE uuid = $1`
)

// update writes what entries change of a row. Its status and lease are written
// only at its end: they are indexed, and SQLite writes the index of every column
// that a statement names.
func (p *writer) update(a *agent.Agent) {
	args := []any{string(a.ID), null(a.Name), int64(a.Head), a.HeadHash[:], a.Own, a.Total,
		a.Spent.Tokens, a.Spent.Cost, nullLimit(a.Budget.Tokens), nullLimit(a.Budget.Cost), a.Provider, a.Model}
	if a.Status == agent.Running {
		p.later(changesLiving, args...)
		return
	}
	p.later(changes+`, status = $13, end_reason = $14, ended_at = $15, lease_owner = $16, lease_epoch = $17, lease_until = $18
		WHERE uuid = $1`, append(args, string(a.Status), null(a.EndReason), nullTime(a.EndedAt),
		null(a.Lease.Owner), a.Lease.Epoch, nullTime(a.Lease.Until))...)
}

// insert makes an agent's row, with its first entry and what follows it.
func (p *writer) insert(a *agent.Agent, drafts ...history.Draft) error {
	a.Genesis = p.ids[0]
	if _, err := p.write(a, append([]history.Draft{registry.Genesis(*a)}, drafts...)...); err != nil {
		return err
	}
	var parent, fork any
	if !a.IsZero() {
		parent, fork = string(a.Parent), int64(a.ForkMessage)
	}
	p.later(`INSERT INTO agents (genesis_id, uuid, name, parent_uuid, fork_message_id, depth,
		status, provider, model, cwd, created_at, head_id, head_hash, own, total,
		spent_tokens, spent_cost, budget_tokens, budget_cost, lease_owner, lease_epoch, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
		int64(a.Genesis), string(a.ID), null(a.Name), parent, fork, a.Depth, string(a.Status), a.Provider, a.Model, a.Cwd,
		micros(a.CreatedAt), int64(a.Head), a.HeadHash[:], a.Own, a.Total,
		a.Spent.Tokens, a.Spent.Cost, nullLimit(a.Budget.Tokens), nullLimit(a.Budget.Cost),
		null(a.Lease.Owner), a.Lease.Epoch, nullTime(a.Lease.Until))
	return nil
}
