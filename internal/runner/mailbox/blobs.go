package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
)

// largest is the size of a content that is taken. PostgreSQL's own limit is 1 GB.
const largest = 256 << 20

// blob is a content by its hash.
type blob struct {
	sha256 string
	data   []byte
}

func newBlob(data []byte) (blob, error) {
	if len(data) > largest {
		return blob{}, fault.New(fault.OutputInvalid, "a file of %d bytes is too large to send, at most %d are allowed", len(data), largest)
	}
	if data == nil {
		data = []byte{}
	}
	sum := sha256.Sum256(data)
	return blob{hex.EncodeToString(sum[:]), data}, nil
}

// putBlobs writes contents in the order of their hashes, so that two transactions with the same ones do not
// deadlock.
func putBlobs(ctx context.Context, tx pgx.Tx, runID string, blobs []blob) error {
	for _, b := range slices.SortedFunc(slices.Values(blobs), func(a, b blob) int { return strings.Compare(a.sha256, b.sha256) }) {
		if _, err := tx.Exec(ctx, `INSERT INTO blobs (run_id, sha256, data) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, runID, b.sha256, b.data); err != nil {
			return err
		}
	}
	return nil
}

// blob reads a content, if it is there.
func (c *Client) blob(ctx context.Context, runID, sum string) (data []byte, found bool, err error) {
	err = c.pool.QueryRow(ctx, `SELECT data FROM blobs WHERE run_id = $1 AND sha256 = $2`, runID, sum).Scan(&data)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, false, fault.New(fault.StorageCorrupt, "%s: the content %s of run %s was changed", c.place, sum, runID)
	}
	return data, true, nil
}

// Clear deletes all that the post holds of a run that is over.
func (c *Client) Clear(ctx context.Context, runID string) error {
	return c.clear(ctx, runID, "desks", "requests", "blobs", "wills", "files") // answers go with their requests
}

// ClearButFiles leaves the files of a run that ended on another host: the host that began it fetches them, and
// clears the rest.
func (c *Client) ClearButFiles(ctx context.Context, runID string) error {
	return c.clear(ctx, runID, "desks", "requests", "blobs", "wills")
}

func (c *Client) clear(ctx context.Context, runID string, tables ...string) error {
	return c.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
			for _, table := range tables {
				if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE run_id = $1`, runID); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
