package bench

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// The fixture is a conversation of a coding agent about this repository: what
// it reads are files and searches of the repository, listings of Go's standard
// library, edits and test runs. It is committed, so that the figure does not change
// with the sources.
const conversation = "testdata/conversation.jsonl"

// said is one line of the fixture.
type said struct {
	Kind  history.Kind   `json:"kind"`
	Parts []history.Part `json:"parts"`
}

// bytes counts what was said, without any encoding.
func (s said) bytes() (n int) {
	for _, p := range s.Parts {
		n += len(p.Text) + len(p.Signature) + len(p.Args) + len(p.Data)
	}
	return n
}

func loadConversation(tb testing.TB) []said {
	tb.Helper()
	f := testkit.Must(os.Open(conversation))(tb)
	defer f.Close()
	var out []said
	dec := json.NewDecoder(bufio.NewReader(f))
	for dec.More() {
		var s said
		testkit.OK(tb, dec.Decode(&s))
		out = append(out, s)
	}
	return out
}

// Stored, a conversation takes little more room than what was said; each entry
// is written as it comes, in a transaction of its own.
func BenchmarkDatabaseSize(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		lines := loadConversation(b)
		var stored, content float64
		for b.Loop() {
			s, place := e.make(b)
			speaker := must[agent.Agent](b)(s.Zero(b.Context())).ID
			content = 0
			for _, l := range lines {
				if _, err := s.Append(b.Context(), speaker, agent.Passing(), history.Draft{Kind: l.Kind, Parts: l.Parts}); err != nil {
					b.Fatal(err)
				}
				content += float64(l.bytes())
			}
			stored = e.size(b, place)
		}
		name := e.name + ": database bytes / content bytes of the fixture conversation"
		if e.name == "SQLite" {
			atMost(b, name, "", stored/content, 1.3)
		} else {
			shown(b, name, "", stored/content)
		}
		shown(b, e.name+": content of the fixture conversation", "bytes", content)
	})
}

// size is the room that a workspace takes.
func (e engine) size(b *testing.B, place string) float64 {
	b.Helper()
	if e.name == "SQLite" {
		return float64(settle(b, place))
	}
	var n float64
	check(b, e.bare(b, place).QueryRowContext(b.Context(), `SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`).Scan(&n))
	return n
}
