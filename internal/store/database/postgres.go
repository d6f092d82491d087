package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

const defaultSchema = "ramet"

// sessionDefaults are the server's settings for our sessions; the URL sets others.
var sessionDefaults = map[string]string{
	// How long a statement waits for another process.
	"lock_timeout": "5s",
	// A client that was stopped or cut off within a transaction blocks others no longer.
	"idle_in_transaction_session_timeout": "30s",
	// So that a host that vanished without a word is noticed within half a minute.
	"tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
}

// SchemaLock is the advisory lock under which ramet makes tables in PostgreSQL.
const SchemaLock = 0x72616d74

// Postgres is a schema in a PostgreSQL database.
type Postgres struct {
	Config *pgx.ConnConfig
	Schema string
	Place  string // for people; never a password
}

// IsPostgres reports whether an address names a PostgreSQL database.
func IsPostgres(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// ParsePostgres reads a URL. It is libpq's, with one parameter of ours: schema, by
// default "ramet". What is refused is not repeated: the URL may hold a password.
func ParsePostgres(address string) (Postgres, error) {
	u, err := url.Parse(address)
	q := url.Values{}
	if err == nil {
		q, err = url.ParseQuery(u.RawQuery) // Query would leave out what it cannot read, the schema too
	}
	if err != nil {
		return Postgres{}, fault.New(fault.InvalidConfig, "the PostgreSQL URL is not readable").
			WithHint("write it as postgres://user@host:5432/database?schema=ramet")
	}
	schema := q.Get("schema")
	if schema == "" {
		schema = defaultSchema
	}
	if len(schema) > 63 || strings.ContainsRune(schema, 0) || strings.HasPrefix(schema, "pg_") {
		return Postgres{}, fault.New(fault.InvalidConfig, "%.80q is not a name for a schema", schema).
			WithHint("use 1 to 63 bytes that do not begin with pg_")
	}
	q.Del("schema")
	u.RawQuery = q.Encode()
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return Postgres{}, fault.New(fault.InvalidConfig, "the PostgreSQL URL is not understood: %s", innermostReason(err)).
			WithHint("write it as postgres://user@host:5432/database?schema=ramet")
	}
	config.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	config.RuntimeParams["application_name"] = "ramet"
	for name, value := range sessionDefaults {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	return Postgres{Config: config, Schema: schema, Place: placeOf(config, schema)}, nil
}

// innermostReason returns the innermost cause, which names no connection string. Of several
// attempts, with and without TLS or to several addresses, what a server said counts
// most; then the first speaks for all, unless it only was refused TLS and tried
// without.
func innermostReason(err error) string {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return said.Message
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	for {
		inner := errors.Unwrap(err)
		if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
			inner = many.Unwrap()[0]
			for _, one := range many.Unwrap() {
				if !strings.Contains(one.Error(), noTLS) {
					inner = one
					break
				}
			}
		}
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// noTLS is part of the driver's error if a server does not support TLS.
const noTLS = "server refused TLS"

func placeOf(c *pgx.ConnConfig, schema string) string {
	host := c.Host
	if !strings.HasPrefix(host, "/") {
		host = fmt.Sprintf("%s:%d", c.Host, c.Port)
	}
	return fmt.Sprintf("PostgreSQL at %s, database %s, schema %s", host, c.Database, schema)
}

// PostgresFault turns an error of the driver into a fault that names the place;
// what it does not know stays as it is.
func PostgresFault(place string, err error) error {
	if _, ours := fault.Of(err); ours || err == nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err // the caller no longer waits for it
	}
	var connect *pgconn.ConnectError
	var network *net.OpError
	var e *pgconn.PgError
	if errors.As(err, &connect) || errors.As(err, &network) {
		if durable.Crowded(err) {
			return fault.New(fault.StorageIO, "%s: %s", place, innermostReason(err)).WithHint(durable.CrowdedHint)
		}
		return fault.New(fault.StorageUnreachable, "%s: %s", place, innermostReason(err)).WithHint("%s", remedyFor(err))
	}
	if Lost(err) {
		return fault.New(fault.StorageUnreachable, "%s: the connection was lost: %s", place, innermostReason(err)).WithHint("%s", remedyFor(err))
	}
	if !errors.As(err, &e) {
		return err
	}
	f := func(code fault.Code) *fault.Error {
		return fault.New(code, "%s: %s (SQLSTATE %s)", place, e.Message, e.Code)
	}
	switch {
	case e.Code == "53100":
		return f(fault.StorageFull).WithHint("nothing was lost; free some space on the server and repeat")
	case e.Code == "25006":
		return f(fault.StorageReadOnly).WithHint("the server accepts no writes: it is a standby, or was set to read only; use the primary")
	case e.Code == "42501":
		return f(fault.StorageReadOnly).WithHint("the user needs the right to create and write in this schema")
	case e.Code == "55P03":
		return f(fault.Locked).WithHint("wait until the other process ends, then repeat")
	case strings.HasPrefix(e.Code, "23"):
		return f(fault.Conflict)
	case strings.HasPrefix(e.Code, "28") || e.Code == "3D000" || strings.HasPrefix(e.Code, "08") || strings.HasPrefix(e.Code, "57P") || e.Code == "53300":
		return f(fault.StorageUnreachable).WithHint("%s", remedyFor(err))
	case strings.HasPrefix(e.Code, "XX"):
		return f(fault.StorageCorrupt).WithHint("%s", remedyFor(err))
	case strings.HasPrefix(e.Code, "58"):
		return f(fault.StorageIO).WithHint("%s", remedyFor(err))
	case strings.HasPrefix(e.Code, "53"):
		return f(fault.StorageIO).WithHint("%s", remedyFor(err))
	}
	return err
}

// SameSchema reports whether two addresses lead to one schema of one PostgreSQL server, as far as
// they tell.
func SameSchema(a, b string) bool {
	if !IsPostgres(a) || !IsPostgres(b) {
		return false
	}
	one, err := ParsePostgres(a)
	if err != nil {
		return false
	}
	other, err := ParsePostgres(b)
	return err == nil && one.Place == other.Place && one.Schema == other.Schema
}
