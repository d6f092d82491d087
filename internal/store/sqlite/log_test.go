package sqlite_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
)

// A write that carries what the log holds into the database takes several times as long as another. That
// is no write of a hundred: else one in a hundred forks would be that slow.
func TestFewWritesEmptyTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	s := testkit.Must(sqlite.Open(t.Context(), path, sqlite.Options{Cwd: "/"}))(t)
	defer s.Close()
	zero := testkit.Must(s.Zero(t.Context()))(t)
	log := testkit.Must(os.Open(path + "-wal"))(t)
	defer log.Close()
	const forks = 500
	emptied, last := 0, uint32(0)
	for i := range forks {
		testkit.Must(s.Fork(t.Context(), registry.Fork{Parent: zero.ID, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent()}}}))(t)
		var head [32]byte // its sequence number is another one whenever the log begins anew
		testkit.Must(log.ReadAt(head[:], 0))(t)
		if now := binary.BigEndian.Uint32(head[12:]); now != last {
			if i > 0 {
				emptied++
			}
			last = now
		}
	}
	if emptied > forks/250 {
		t.Errorf("%d of %d forks emptied the log", emptied, forks)
	}
}
