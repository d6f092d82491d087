package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ramet/internal/base/fault"
)

// tables in an order that satisfies their references, with the columns that
// both engines have.
var tables = []struct{ name, columns, order string }{
	{"agents", `genesis_id, uuid, name, parent_uuid, fork_message_id, depth, status, end_reason, provider, model, cwd,
		created_at, ended_at, lease_owner, lease_epoch, lease_until, head_id, head_hash, own, total,
		spent_tokens, spent_cost, budget_tokens, budget_cost`, "genesis_id"},
	{"messages", `id, agent_uuid, kind, content, meta, created_at, hash, salt, commitment, seq`, "id"},
	{"mail", `id, number, from_uuid, to_uuid, body, salt, created_at, read_at, deleted_at, in_reply_to, who, face`, "id"},
	{"blobs", `hash, size, data`, "hash"},
	{"blob_refs", `message_id, hash`, "message_id"},
	{"holds", `id, agent_uuid, owner, tokens, cost, created_at`, "id"},
}

// Copy brings a whole workspace from one database into the empty tables of
// another, byte for byte, so that it verifies there too.
func Copy(ctx context.Context, from, to *sql.Tx) error {
	for _, t := range tables {
		if err := copyTable(ctx, from, to, t.name, t.columns, t.order); err != nil {
			return err
		}
	}
	return nil
}

func copyTable(ctx context.Context, from, to *sql.Tx, name, columns, order string) error {
	n := strings.Count(columns, ",") + 1
	insert := `INSERT INTO ` + name + ` (` + columns + `) VALUES ` + placeholderRows(1, n)
	row, into := make([]any, n), make([]any, n)
	for i := range row {
		into[i] = &row[i]
	}
	return each(ctx, from, func(rows *sql.Rows) error {
		err := rows.Scan(into...)
		if err == nil {
			_, err = to.ExecContext(ctx, insert, row...)
		}
		return err
	}, `SELECT `+columns+` FROM `+name+` ORDER BY `+order)
}

// Migrations returns the numbered files NNN_name.sql of a folder, in order. The
// number of the newest is the version of the schema.
func Migrations(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	out := make([]string, len(names))
	for i, name := range names {
		if want := fmt.Sprintf("migrations/%03d_", i+1); !strings.HasPrefix(name, want) {
			return nil, fmt.Errorf("migration %s: want a name that begins with %s", name, want)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		out[i] = string(text)
	}
	return out, nil
}

// Packs are the contents of states of files that hosts of one database share
// (content.Shared). Their table is made by the first who shares something.
type Packs struct{ s *Store }

// Packs returns the packs of this database.
func (s *Store) Packs() Packs { return Packs{s} }

const packTable = `CREATE TABLE IF NOT EXISTS file_packs (name TEXT PRIMARY KEY, data `

// Names lists all packs. Where nothing was shared, there is none.
func (p Packs) Names(ctx context.Context) ([]string, error) {
	var out []string
	err := p.s.write(ctx, "list shared files", func(tx Tx) error {
		if _, err := tx.ExecContext(ctx, packTable+p.s.d.Bytes()+` NOT NULL)`); err != nil {
			return err
		}
		var err error
		out, err = collect(ctx, tx, scanColumn[string], `SELECT name FROM file_packs ORDER BY name`)
		return err
	})
	return out, err
}

// Pack reads one. Not there: NOT_FOUND.
func (p Packs) Pack(ctx context.Context, name string) ([]byte, error) {
	var data []byte
	err := p.s.writer.QueryRowContext(ctx, `SELECT data FROM file_packs WHERE name = $1`, name).Scan(&data)
	if err == sql.ErrNoRows {
		return nil, fault.New(fault.NotFound, "the shared files %.60s no longer exist", name)
	}
	if err != nil {
		return nil, p.s.fail("read shared files", err)
	}
	return data, nil
}

// Put shares a pack. One of that name is the same.
func (p Packs) Put(ctx context.Context, name string, data []byte) error {
	return p.s.write(ctx, "share files", func(tx Tx) error {
		if _, err := tx.ExecContext(ctx, packTable+p.s.d.Bytes()+` NOT NULL)`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO file_packs (name, data) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, data)
		return err
	})
}

// Drop takes one away.
func (p Packs) Drop(ctx context.Context, name string) error {
	return p.s.write(ctx, "drop shared files", func(tx Tx) error {
		if _, err := tx.ExecContext(ctx, packTable+p.s.d.Bytes()+` NOT NULL)`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM file_packs WHERE name = $1`, name)
		return err
	})
}
