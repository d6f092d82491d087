package pgtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Terminate has the server end the sessions of all connections, as an administrator does, and
// says how many.
func (p *Proxy) Terminate(ctx context.Context) (n int, err error) {
	var backends []int
	p.mu.Lock()
	for one := range p.pairs {
		if one.backend != 0 {
			backends = append(backends, one.backend)
		}
	}
	p.mu.Unlock()
	conn, err := pgx.ConnectConfig(ctx, p.direct.Copy())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	err = conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE ended) FROM (SELECT pg_terminate_backend(pid) AS ended FROM unnest($1::int[]) AS pid) AS all_of_them`, backends).Scan(&n)
	return n, err
}

// backendOf finds the message in which a server says which of its processes it is; 0: it is
// not there.
func backendOf(message []byte) int {
	_, rest, found := bytes.Cut(message, []byte("K\x00\x00\x00\x0c"))
	if !found || len(rest) < 8 {
		return 0
	}
	return int(binary.BigEndian.Uint32(rest))
}
