package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"

	"ramet/internal/turn/tool"
)

// memo is kept in a result for later calls: of this process, of another, of a fork.
type memo struct {
	Dir string            `json:"dir,omitempty"` // where commands run from then on, in the root
	Saw map[string]string `json:"saw,omitempty"` // path in the root: the SHA-256 of the content that the model has seen
	Job *jobMemo          `json:"job,omitempty"` // a command in the background that was begun
}

// remembering is a tool that knows what earlier calls did.
type remembering struct {
	one
	l *Local
}

// Recall takes the memos of a conversation.
func (t *remembering) Recall(memos iter.Seq[json.RawMessage]) {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	clear(t.l.seen)
	clear(t.l.jobs)
	t.l.dir = "."
	for text := range memos {
		m, err := parseArguments[memo](text)
		if err != nil {
			continue // another tool's
		}
		if m.Dir != "" {
			t.l.dir = m.Dir
		}
		if m.Job != nil {
			t.l.jobs[m.Job.Number] = *m.Job
		}
		for path, sum := range m.Saw {
			if b, err := hex.DecodeString(sum); err == nil && len(b) == sha256.Size {
				t.l.seen[path] = [sha256.Size]byte(b)
			}
		}
	}
}

// remember makes a tool of one that knows what earlier calls did.
func (l *Local) remember(run func(context.Context, tool.Call) (tool.Answer, error), spec tool.Spec) tool.Tool {
	return &remembering{one{run: run, spec: spec}, l}
}

// sawMemo returns the memo of what is known of a file now; empty: nothing.
func (l *Local) sawMemo(path string) string {
	sum, ok := l.sight(path)
	if !ok {
		return ""
	}
	text, err := json.Marshal(memo{Saw: map[string]string{path: hex.EncodeToString(sum[:])}})
	if err != nil {
		return ""
	}
	return string(text)
}
