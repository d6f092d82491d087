package riverqueue

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// told is how often River tells hosts of new jobs at most: of what comes sooner they hear
// nothing, and find it when they look by themselves, a long time later.
const told = river.FetchCooldownMin

// pace keeps insertions so far apart that hosts are told of each.
type pace struct {
	sync.Mutex
	last time.Time
}

func (q *Queue) insert(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]*rivertype.JobInsertResult, error) {
	q.pace.Lock()
	defer q.pace.Unlock()
	time.Sleep(told + told/10 - time.Since(q.pace.last))
	defer func() { q.pace.last = time.Now() }()
	return q.client.InsertManyTx(ctx, tx, params)
}
