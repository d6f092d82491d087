package database

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

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
