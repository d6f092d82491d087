package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
)

// Words are the newest of an agent's own history, for lists: each is one line.
type Words struct {
	Asked   string    // what it was told last, by a person or as its task; empty: nothing yet
	AskedAt time.Time // zero: never
	Said    string    // the last line that it said; where it only called a tool, the call
	At      time.Time // when its newest entry was written
}

// Speakers reads what was said last.
type Speakers interface {
	// Words reads them for the agents that are named, dead or not; unknown ones are left
	// out. What stands before the last clear does not count.
	Words(ctx context.Context, of ...id.Agent) (map[id.Agent]Words, error)
}

// mostWords limits how long such a line may be.
const mostWords = 400

// AskedWords returns the line of what a user's voice said.
func AskedWords(parts []history.Part) string {
	said := text.Line(history.Plain(parts), mostWords)
	for _, p := range parts {
		if said == "" && p.Blob != nil {
			said = fmt.Sprintf("(%d kB)", p.Size>>10)
		}
	}
	return said
}

// SaidWords returns the last line of what a model said, or, where it said nothing, its last call.
func SaidWords(parts []history.Part) string {
	var call string
	for i := len(parts) - 1; i >= 0; i-- {
		switch p := parts[i]; p.Type {
		case history.Text:
			if said := LastLine(p.Text); said != "" {
				return said
			}
		case history.ToolCall:
			if call == "" {
				call = text.Line(p.Name+" "+subjectOf(p.Args), mostWords)
			}
		}
	}
	return call
}

// subjectOf returns what a call is about: the first of the arguments that tools of every kind
// have for that.
func subjectOf(args []byte) string {
	var given map[string]any
	if json.Unmarshal(args, &given) != nil {
		return ""
	}
	for _, name := range []string{"command", "path", "pattern", "url", "query", "prompt", "to", "name"} {
		if s, ok := given[name].(string); ok {
			return s
		}
	}
	return ""
}

// LastLine returns the last line of a text that says something.
func LastLine(said string) string {
	for said = strings.TrimSpace(said); said != ""; {
		at := strings.LastIndexByte(said, '\n')
		last := strings.Trim(strings.TrimSpace(said[at+1:]), "`*_#>| ")
		last = strings.TrimSpace(strings.TrimPrefix(last, "- "))
		if last != "" {
			return text.Line(last, mostWords)
		}
		said = strings.TrimSpace(said[:max(at, 0)])
	}
	return ""
}
