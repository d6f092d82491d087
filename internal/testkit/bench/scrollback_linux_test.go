package bench

import (
	"strings"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
)

// What a token costs does not depend on what was said before: neither in the
// conversation above, all of it read by scrolling, nor in the same reply.
func BenchmarkScrollback(b *testing.B) {
	long := max(2000, scaled(100_000))
	short := 100
	sh := newShell(b)
	var past, reply struct{ short, long []float64 } // ms of CPU for a token
	for b.Loop() {
		past.short = append(past.short, sh.stream(b, short, 0))
		past.long = append(past.long, sh.stream(b, long, 0))
		reply.short = append(reply.short, sh.stream(b, short, short))
		reply.long = append(reply.long, sh.stream(b, short, long))
	}
	shown(b, "200 tokens/s behind 100 lines: CPU for a token", "ms", middle(past.short))
	atMost(b, "200 tokens/s: CPU for a token behind 100,000 lines / behind 100", "", middle(past.long)/middle(past.short), 1.5)
	shown(b, "200 tokens/s in a reply of 100 lines: CPU for a token", "ms", middle(reply.short))
	atMost(b, "200 tokens/s: CPU for a token in a reply of 100,000 lines / of 100", "", middle(reply.long)/middle(reply.short), 1.5)
}

// stream measures the CPU of one token, in ms, behind so many lines of conversation
// and of the same reply.
func (s *shell) stream(b *testing.B, past, reply int) float64 {
	b.Helper()
	s.workspace(b, func(db *store.Store, zero id.Agent) {
		tell(b, db, zero, "These are the first words.")
		const each = 100
		var all []history.Draft
		for from := 0; from < past; from += each {
			all = append(all, must[history.Draft](b)(history.Say(history.User, "Go on.")),
				must[history.Draft](b)(history.Say(history.Assistant, paragraphs(from, each))))
		}
		_, err := db.Append(b.Context(), zero, agent.Passing(), all...)
		check(b, err)
	})
	n := newNarrator(b, reply, 5*time.Millisecond)
	t := s.terminal(b, n.env()...)
	t.see("anthropic/bench")
	t.see("Paragraph")
	t.climb("These are the first words.")
	t.press(ctrlEndKey)
	t.until("the end", func() bool { return !strings.Contains(t.text(), "PgDn goes on") })
	t.say("speak")
	t.see("word9")
	tokens := max(200, scaled(2000))
	n.after(b, tokens/10) // what was said at once is behind us
	used := t.cpu()
	n.after(b, tokens)
	used = t.cpu() - used
	t.end()
	n.end()
	return float64(used) / 1e6 / float64(tokens)
}

// climb goes to the top until the first words are there: each time a page more is read.
func (t *terminal) climb(first string) {
	t.b.Helper()
	hand := time.NewTicker(20 * time.Millisecond)
	defer hand.Stop()
	for range int(patience / (20 * time.Millisecond)) {
		t.press(ctrlHomeKey)
		<-hand.C
		if strings.Contains(t.now(), first) {
			return
		}
	}
	t.b.Fatalf("the top is never reached\n%s", t.now())
}
