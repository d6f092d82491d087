package store

import (
	"context"
	"database/sql"

	"ramet/internal/base/fault"
)

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
