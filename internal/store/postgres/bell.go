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

// channelOf returns the name of the channel: the schema's own name may be too long.
func channelOf(schema string) string { return database.Channel("ramet", schema) }

func (d *dialect) Announce(what string, agents ...id.Agent) []store.Statement {
	return []store.Statement{{
		Query: `SELECT pg_notify($1, said) FROM unnest($2::text[]) AS said`,
		Args:  []any{channelOf(d.schema), ringPayloads(what, agents)},
	}}
}

func ringPayloads(what string, agents []id.Agent) []string {
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

// parseRings reads a payload. Any client that may connect can notify: what is not ours to
// the last letter is only a call to look.
func parseRings(payload string) []registry.Ring {
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
		for _, r := range parseRings(payload) {
			ring(r)
		}
	}, channelOf(d.schema))
}
