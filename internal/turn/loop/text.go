package loop

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

const (
	maxResult = 256 << 10 // of the text of a result; tools cut theirs before
	maxShow   = 8 << 10   // of what people are shown
	maxLine   = 200       // of a line about a call, in runes
	window    = 512       // in which a credential is looked for that came in pieces
)

// kept returns a text as it is kept: without our credentials, and such that both stores
// and every vendor take it.
func (r *turn) kept(s string) string { return text.Storable(r.Clean(s)) }

// clipEnd returns the beginning of a text that is too long.
func clipEnd(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return text.Head(s, limit) + "…"
}

// part returns what the model said, as it is kept. What was signed and had to be
// changed is not signed any more. false: there is nothing in it.
func (r *turn) part(p llm.Part) (llm.Part, bool) {
	before := p
	p.Text, p.Malformed, p.Args = r.kept(p.Text), r.kept(p.Malformed), r.args(p.Args)
	p.Name, p.CallID = text.Storable(p.Name), text.Storable(p.CallID)
	same := p.Text == before.Text && p.Malformed == before.Malformed && bytes.Equal(p.Args, before.Args)
	if r.Clean(string(p.Opaque)) != string(p.Opaque) {
		same = false
	}
	if !same {
		p.Signature, p.Opaque = "", nil
	}
	p.Sources = r.pages(p.Sources)
	empty := p.Text == "" && p.Signature == "" && p.Opaque == nil && p.Sources == nil
	return p, p.Type == llm.ToolCall || !empty
}

// pages returns what a text rests on, as it is kept.
func (r *turn) pages(list []llm.Source) []llm.Source {
	var out []llm.Source
	for _, s := range list {
		out = append(out, llm.Source{URL: r.kept(s.URL), Title: r.kept(s.Title), Quote: clipEnd(r.kept(s.Quote), maxShow)})
	}
	return out
}

// args cleans the texts in arguments and leaves everything else as it was sent.
func (r *turn) args(raw json.RawMessage) json.RawMessage { return text.Strings(raw, r.kept) }

// storedPart returns a part as the history has it.
func storedPart(p llm.Part) history.Part {
	return history.Part{Type: history.PartType(p.Type), Text: p.Text, CallID: p.CallID, Name: p.Name, Args: p.Args,
		MediaType: p.MediaType, Data: p.Data, Malformed: p.Malformed, Signature: p.Signature, Opaque: p.Opaque, Origin: p.Origin, Sources: p.Sources}
}

// shown collects what was shown of a reply. Looking for credentials takes time, so it is done
// when the words are wanted, not for every piece; one that comes in pieces is found when
// it is whole, and a word is handed out when it has ended.
type shown struct {
	clean func(string) string

	mu   sync.Mutex // the journal reads while the model speaks
	kept strings.Builder
	rest []byte // not looked at yet
	told bool   // the journal knows that there is something new
}

// add reports whether the journal is to be told: it is once, until it asks for the words.
func (s *shown) add(piece string) (tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, piece...)
	tell, s.told = !s.told, true
	return tell
}

// words returns those that have ended.
func (s *shown) words() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = false
	n := len(s.rest)
	for n > 0 && len(s.rest)-n < window && s.rest[n-1] > ' ' && s.rest[n-1] < 0x7f {
		n--
	}
	return s.look(n)
}

// whole returns everything.
func (s *shown) whole() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look(len(s.rest))
}

// look takes so many bytes of the rest. The caller has the mutex.
func (s *shown) look(n int) string {
	if n == 0 {
		return s.kept.String()
	}
	all, piece := s.kept.String(), string(s.rest[:n])
	s.rest = append(s.rest[:0], s.rest[n:]...)
	cut := max(0, len(all)-window)
	end := all[cut:] + piece
	if clean := s.clean(end); clean != end {
		s.kept.Reset()
		s.kept.WriteString(all[:cut] + clean)
	} else {
		s.kept.WriteString(piece)
	}
	return s.kept.String()
}

// Notice drafts what the kernel says to an agent.
func Notice(what string) history.Draft {
	return history.Draft{Kind: history.Notice, Parts: []history.Part{{Type: history.Text, Text: text.Storable(what)}}}
}
