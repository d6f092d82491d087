package database

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

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

// lostRemedy is the hint for when a connection that was there is there no more.
const lostRemedy = "nothing was done: check that the server runs, then repeat"

// remedyFor returns the hint for a server that cannot be used: by what it said, if it said
// anything.
func remedyFor(err error) string {
	var e *pgconn.PgError
	var certificate *tls.CertificateVerificationError
	said := errors.As(err, &e)
	switch {
	case said && e.Code == "3D000":
		return "make it with `createdb`, or name another one in the URL"
	case said && e.Code == "53300":
		return "the server accepts no more connections now: wait, or raise its max_connections"
	case said && strings.HasPrefix(e.Code, "28") && strings.Contains(e.Message, "no encryption"):
		return "the server may want TLS: add sslmode=require to the URL; else pg_hba.conf has to admit this host, user and database"
	case said && e.Code == "28000" && strings.Contains(e.Message, "pg_hba.conf"):
		return "the server's pg_hba.conf has to admit this host, user and database"
	case said && strings.HasPrefix(e.Code, "28"):
		return "check user and password of the URL"
	case said && e.Code == "57P01":
		return "the connection was ended, or the server is stopping: repeat it"
	case said && e.Code == "57P02":
		return "the server crashed and restarts by itself: wait, then repeat"
	case said && (e.Code == "57P05" || e.Code == "25P03"):
		return "the session was silent for too long: repeat it"
	case said && strings.HasPrefix(e.Code, "08"):
		return lostRemedy
	case said && strings.HasPrefix(e.Code, "57P"):
		return "the server is starting or stopping: wait, then repeat"
	case said && e.Code == "42501":
		return "the user of the URL needs the right to connect to this database"
	case said && e.Code == "53100":
		return "the disk of the server is full: free some space there, then repeat"
	case said && strings.HasPrefix(e.Code, "53"):
		return "the server is out of resources: see its log, then repeat"
	case said && strings.HasPrefix(e.Code, "58"):
		return "the server cannot use its own files: see its log, and whether its disk is there and whole"
	case said && strings.HasPrefix(e.Code, "XX"):
		return "something is wrong inside the server: see its log; its data may be damaged"
	case said && (strings.HasPrefix(e.Code, "22") || strings.HasPrefix(e.Code, "42")):
		return "the server does not know a setting of the URL: leave out what the message names"
	case said:
		return "the server refuses connections: see its log"
	case errors.As(err, &certificate):
		return "its certificate is not accepted: give its authority with sslrootcert=FILE in the URL, and the host by the name in the certificate"
	case strings.Contains(innermostReason(err), noTLS):
		return "it offers no TLS: switch that on there, or, if the network between is private, add sslmode=disable to the URL"
	case strings.Contains(err.Error(), "tls: "):
		return "its TLS cannot be used: see sslmode and sslrootcert of the URL"
	}
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) && Lost(err) {
		return lostRemedy
	}
	return "check that the server runs and that the URL names it"
}

// ofTLS reports whether a server cannot be reached because TLS is used there in another way, or not at all.
func ofTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate) || strings.Contains(innermostReason(err), noTLS) || strings.Contains(err.Error(), "tls: ")
}

// dialPatience returns how long it may take to reach a server.
func dialPatience() time.Duration { return seconds(10) }

// Watchful has connections notice within half a minute that a server vanished without a
// word.
func Watchful(config *pgx.ConnConfig) {
	dialer := &net.Dialer{Timeout: dialPatience(), KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	config.DialFunc, config.ConnectTimeout = dialer.DialContext, dialPatience()
}

// Channel returns a name for notifications about a schema, whose own name may be too long.
func Channel(prefix, schema string) string {
	sum := sha256.Sum256([]byte(schema))
	return fmt.Sprintf("%s_%x", prefix, sum[:16])
}

// Listen hears notifications until ctx ends, and connects again by itself. Whenever it has
// connected it says ready: something may have been told before. Who cannot connect at all is
// told why, if strict; otherwise it continues trying.
//
// It needs a session of its own: behind a pooler that lends sessions for single
// transactions it stays silent.
func Listen(ctx context.Context, config *pgx.ConnConfig, strict bool, ready func(), heard func(channel, payload string), channels ...string) error {
	pause := firstPause
	connected := func() {
		strict, pause = false, firstPause
		ready()
	}
	for {
		err := hearUntilLost(ctx, config, channels, connected, heard)
		if ctx.Err() != nil {
			return nil
		}
		if strict {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// hearUntilLost listens until its connection is lost.
func hearUntilLost(ctx context.Context, config *pgx.ConnConfig, channels []string, connected func(), heard func(channel, payload string)) error {
	config = config.Copy()
	Watchful(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, channel := range channels {
		if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{channel}.Sanitize()); err != nil {
			return err
		}
	}
	for connected(); ; {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		heard(n.Channel, n.Payload)
	}
}
