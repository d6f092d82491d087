package dbosqueue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // DBOS on modernc's driver
	"github.com/google/uuid"

	"ramet/internal/database"
	"ramet/internal/durable"
	"ramet/internal/fault"
	"ramet/internal/runner"
)

// applicationID marks our files in SQLite's header: "rque".
const applicationID = 0x72717565

// File is the queue of one process.
type File struct {
	path   string
	host   string
	engine dbos.Context
	*lines

	stop    context.CancelFunc // ends every Serve
	stopped context.Context
	serves  sync.WaitGroup
	closing sync.Once
	closed  error
}

var (
	_ runner.Queue = (*File)(nil)
	_ runner.Host  = (*File)(nil)
)

// OpenFile opens the queue in an SQLite file, and makes it if there is none. A damaged
// file is put aside as <path>.damaged: nothing in it is worth more than the log.
func OpenFile(ctx context.Context, path string) (*File, error) {
	f, err := openFile(ctx, path)
	if !fault.Is(err, fault.StorageCorrupt) {
		return f, err
	}
	if err := os.Rename(path, path+".damaged"); err != nil {
		return nil, durable.Failure("put aside", path, err)
	}
	return openFile(ctx, path)
}

func openFile(ctx context.Context, path string) (*File, error) {
	// One connection: writers that wait for each other in SQLite sleep, those that wait
	// for a connection do not.
	db := database.OpenSQLite(path, "_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(ON)", 1)
	// A name of its own for every opening: what others left is not ours by accident,
	// and DBOS recovers nothing behind our back.
	f := &File{path: path, host: "process-" + uuid.NewString(), lines: newLines()}
	f.stopped, f.stop = context.WithCancel(context.Background())
	err := f.claimFile(ctx, db)
	if err == nil {
		f.engine, err = start(ctx, dbos.Config{SQLiteSystemDB: db, ExecutorID: f.host})
	}
	if err == nil {
		dbos.RegisterWorkflow(f.engine, f.work, dbos.WithWorkflowName(workflow))
		err = dbos.Launch(f.engine)
	}
	if err != nil {
		return nil, errors.Join(f.fail("open the queue", err), db.Close())
	}
	return f, nil
}

// claimFile marks a new file as ours, and refuses a stranger's.
func (f *File) claimFile(ctx context.Context, db *sql.DB) error {
	var app, objects int
	err := db.QueryRowContext(ctx, `SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id`).Scan(&app, &objects)
	switch {
	case fault.Is(database.SQLiteFault(f.path, err), fault.StorageForeign):
		// Not a database at all. The name is ours, so it was one.
		return fault.New(fault.StorageCorrupt, "%s is damaged: %w", f.path, err)
	case err != nil:
		return err
	case app == applicationID:
		return nil
	case app != 0 || objects > 0:
		return fault.New(fault.StorageForeign, "%s is not a queue of ramet", f.path).WithHint("nothing was changed; give another path")
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, applicationID))
	return err
}

// Host is the name under which this process does jobs.
func (f *File) Host() string { return f.host }

// Close ends every Serve, waits for it, and gives the file back.
func (f *File) Close() error {
	f.closing.Do(func() {
		f.mu.Lock()
		f.stop()
		f.mu.Unlock()
		f.serves.Wait()
		if err := dbos.Shutdown(f.engine, patience); err != nil {
			f.closed = fault.New(fault.Failed, "%s: close the queue: %w", f.path, err)
		}
	})
	return f.closed
}

// fail turns an error of the engine into a fault.
func (f *File) fail(verb string, err error) error {
	return failure(verb, f.path, database.SQLiteFault(f.path, err))
}

func failure(verb, place string, err error) error {
	if _, known := fault.Of(err); known || err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.StorageIO, "%s: %s: %w", place, verb, err).WithHint("the queue can be made anew from the log: resume the run")
}
