// Package dbosqueue is the queue of runs on DBOS Transact: on SQLite inside one process,
// on PostgreSQL between hosts.
package dbosqueue

import _ "github.com/dbos-inc/dbos-transact-golang/dbos"
