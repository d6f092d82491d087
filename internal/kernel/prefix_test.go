package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

// ear is a provider that remembers what it was asked, as bytes in the order in which vendors
// cache them: tools, then messages.
type ear struct {
	llm.Provider
	mu    sync.Mutex
	heard []string
}

func (e *ear) Stream(ctx context.Context, q llm.Request) iter.Seq[llm.Event] {
	b, err := json.Marshal(struct {
		Tools    []llm.Tool
		Messages []llm.Message
	}{q.Tools, q.Messages})
	if err != nil {
		panic(err)
	}
	e.mu.Lock()
	e.heard = append(e.heard, string(b))
	e.mu.Unlock()
	return e.Provider.Stream(ctx, q)
}

func prefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Between turns requests only grow, and nearly all of its parent's last request is the
// beginning of a child's: what vendors have cached is used.
func TestRequestsShareTheirBeginnings(t *testing.T) {
	b := newBench(t, `
{"when": "fork now", "steps": [{"call": "fork", "args": {"prompt": "be the kid", "name": "kid"}}, {"call": "fork", "args": {"prompt": "be the other", "name": "other"}}]}
{"when": "be the", "repeat": true, "steps": [{"text": "I am"}]}
{"when": "works on", "steps": [{"call": "wait", "args": {"for": "all"}}]}
{"when": "None of them", "steps": [{"text": "fine"}]}
{"when": "turn", "repeat": true, "steps": [{"text": "an answer of some length, as answers are"}]}
`)
	open := b.Options.Model
	heard := &ear{}
	b.Options.Model = func(a agent.Agent, asked llm.Ref) (Model, error) {
		m, err := open(a, asked)
		heard.mu.Lock() // each agent opens its own; all are the same model
		defer heard.mu.Unlock()
		if heard.Provider == nil {
			heard.Provider = m.Provider
		}
		m.Provider = heard
		return m, err
	}
	b.start()
	for i := range 20 {
		testkit.Must(b.exec(b.zero.ID, fmt.Sprintf("turn %d", i)))(t)
	}
	testkit.Must(b.exec(b.zero.ID, "fork now"))(t)
	const end = len(`]}`)
	for i := 1; i <= 20; i++ {
		if last := heard.heard[i-1]; prefix(last, heard.heard[i]) < len(last)-end {
			t.Errorf("request %d does not begin with the one before", i+1)
		}
	}
	parent := heard.heard[20]
	for _, name := range []string{"be the kid", "be the other"} {
		for _, q := range heard.heard[21:] {
			if strings.HasSuffix(q, name+`"}]}]}`) || strings.Contains(q[len(q)-200:], name) {
				if n := prefix(parent, q); n*100 < len(parent)*95 {
					t.Errorf("%s: %d of %d bytes are its beginning", name, n, len(parent))
				}
			}
		}
	}
	if len(heard.heard) < 24 {
		t.Errorf("%d requests", len(heard.heard))
	}
}
