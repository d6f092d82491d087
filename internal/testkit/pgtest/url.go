package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"flag"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/testkit"
)

// Env names the variable with the postgres:// URL of a server to use instead
// of a private one. Its user must be allowed to create schemas.
const Env = "RAMET_TEST_POSTGRES"

// shared is the one private server of this test process. Whoever holds mu
// owns the fields; a failed start is remembered, not tried again.
var shared struct {
	mu      sync.Mutex
	started bool
	server  *Server
	err     error
}

// URL returns a URL of the test server that names a fresh schema in its
// ?schema= parameter. The schema does not exist yet; when the test ends it is
// dropped with all it holds, and so are those that queues and mailboxes of runs add beside it. Without a server the test fails.
func URL(tb testing.TB) string {
	tb.Helper()
	server := testkit.Must(serverURL())(tb)
	full, schema, err := withSchema(server)
	testkit.OK(tb, err)
	tb.Cleanup(func() {
		if err := dropSchema(server, schema); err != nil {
			tb.Error(err)
		}
	})
	return full
}

// Main runs the tests of a package and then stops the server that URL may
// have started. It returns the exit code for TestMain.
func Main(m *testing.M) int {
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

func serverURL() (string, error) {
	if given := os.Getenv(Env); given != "" {
		return given, nil
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.started {
		shared.started = true
		var settings []string
		if bench := flag.Lookup("test.bench"); bench == nil || bench.Value.String() == "" {
			settings = Volatile
		}
		shared.server, shared.err = Start(context.Background(), nil, settings...)
	}
	if shared.err != nil {
		return "", shared.err
	}
	return shared.server.URL(), nil
}

func stopShared() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		return nil
	}
	return shared.server.Stop()
}

func withSchema(server string) (full, schema string, err error) {
	u, err := url.Parse(server)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return "", "", fmt.Errorf("%s is not a postgres:// URL", Env)
	}
	var random [8]byte
	rand.Read(random[:])
	schema = "t_" + hex.EncodeToString(random[:])
	query := u.Query()
	query.Set("schema", schema)
	u.RawQuery = query.Encode()
	return u.String(), schema, nil
}

// dropSchema waits for locks no longer than a test may take to close its
// transactions, and then says who is to blame.
func dropSchema(server, schema string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := connect(ctx, server)
	if err != nil {
		return fmt.Errorf("drop schema %s: %w", schema, err)
	}
	defer conn.Close(ctx)
	const sql = `SET lock_timeout = '10s'; SET client_min_messages = warning; DROP SCHEMA IF EXISTS %s, %[1]s_river, %[1]s_runs CASCADE`
	if _, err := conn.Exec(ctx, fmt.Sprintf(sql, schema)); err != nil {
		return fmt.Errorf("drop schema %s (did the test leave a transaction open?): %w", schema, err)
	}
	return nil
}

// connect takes a URL as ramet does: the schema parameter is ours, the server
// must not see it.
func connect(ctx context.Context, server string) (*pgx.Conn, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	query.Del("schema")
	u.RawQuery = query.Encode()
	return pgx.Connect(ctx, u.String())
}

// patience bounds every wait for the server to answer.
const patience = 5 * time.Minute
