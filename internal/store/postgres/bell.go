package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/id"
	"ramet/internal/registry"
	"ramet/internal/store"
)

// The bell is LISTEN and NOTIFY. A payload is the reason and then the ids, all
// between single spaces; a transaction's notifications are delivered when it has
// committed. It needs a session of its own: behind a pooler that lends sessions
// for single transactions it stays silent.

// maxRung is how many ids go into one payload, which may have 8,000 bytes.
const maxRung = 300

// channel is the bell's name: that of the schema may be too long for one.
func channel(schema string) string {
	sum := sha256.Sum256([]byte(schema))
	return fmt.Sprintf("ramet_%x", sum[:16])
}

func (d *dialect) Announce(what string, agents ...id.Agent) []store.Statement {
	return []store.Statement{{
		Query: `SELECT pg_notify($1, said) FROM unnest($2::text[]) AS said`,
		Args:  []any{channel(d.schema), payloads(what, agents)},
	}}
}

func payloads(what string, agents []id.Agent) []string {
	var out []string
	for len(agents) > 0 {
		n := min(maxRung, len(agents))
		var b strings.Builder
		b.WriteString(what)
		for _, a := range agents[:n] {
			b.WriteString(" " + string(a))
		}
		out, agents = append(out, b.String()), agents[n:]
	}
	return out
}

// rings reads a payload. Anybody who may connect can notify: what is not ours to
// the last letter is only a call to look.
func rings(payload string) []registry.Ring {
	words := strings.Split(payload, " ")
	if what := words[0]; what != registry.RingMail && what != registry.RingKilled && what != registry.RingForked || len(words) < 2 {
		return []registry.Ring{{}}
	}
	out := make([]registry.Ring, 0, len(words)-1)
	for _, word := range words[1:] {
		a, err := id.ParseAgent(word)
		if err != nil {
			return []registry.Ring{{}}
		}
		out = append(out, registry.Ring{Agent: a, What: words[0]})
	}
	return out
}

// How long to wait before connecting again, at first and at last.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

func (d *dialect) Listen(ctx context.Context, ring func(registry.Ring)) error {
	begun, pause := false, firstPause
	for {
		err := d.listen(ctx, func(r registry.Ring) {
			begun, pause = true, firstPause
			ring(r)
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case !begun:
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

// listen rings until its connection is lost.
func (d *dialect) listen(ctx context.Context, ring func(registry.Ring)) error {
	config := d.config.Copy()
	// A server that vanished without a word is noticed within half a minute.
	dialer := net.Dialer{Timeout: 10 * time.Second, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	config.DialFunc = dialer.DialContext
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{channel(d.schema)}.Sanitize()); err != nil {
		return err
	}
	for ring(registry.Ring{}); ; {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		for _, r := range rings(n.Payload) {
			ring(r)
		}
	}
}
