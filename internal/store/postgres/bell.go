package postgres

import (
	"context"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/database"
)

// The bell is LISTEN and NOTIFY. A payload is the reason and then the ids, all
// between single spaces; a transaction's notifications are delivered when it has
// committed. It needs a session of its own: behind a pooler that lends sessions
// for single transactions it stays silent.

// maxRung is how many ids go into one payload, which may have 8,000 bytes.
const maxRung = 300

// channel is the bell's name: that of the schema may be too long for one.
func channel(schema string) string { return database.Channel("ramet", schema) }

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
	if what := words[0]; what != registry.RingMail && what != registry.RingKilled && what != registry.RingForked && what != registry.RingStop || len(words) < 2 {
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

// Listen rings whenever it has connected, too: something may have been rung before.
func (d *dialect) Listen(ctx context.Context, ring func(registry.Ring)) error {
	return database.Listen(ctx, d.config, true, func() { ring(registry.Ring{}) }, func(_, payload string) {
		for _, r := range rings(payload) {
			ring(r)
		}
	}, channel(d.schema))
}
