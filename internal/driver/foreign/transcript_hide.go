package foreign

import (
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
)

// TranscriptHiding says what does not go into a file.
type TranscriptHiding struct {
	Patterns []*regexp.Regexp // what they match is replaced
	Secrets  *secret.Redactor // what it knows is replaced; nil: nothing
	Outputs  bool             // results of calls are left out
}

const (
	replaced = "[redacted]"
	leftOut  = "[the output is left out]"
)

// words hides in one text.
func (h TranscriptHiding) words(s string) string {
	for _, p := range h.Patterns {
		s = p.ReplaceAllString(s, replaced)
	}
	if h.Secrets != nil {
		s = h.Secrets.All(s)
	}
	return s
}

// json hides in every text of a JSON value, names included.
func (h TranscriptHiding) json(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	if h.Secrets != nil { // a name before a value tells of it
		if s := h.Secrets.All(string(raw)); json.Valid([]byte(s)) {
			raw = json.RawMessage(s)
		}
	}
	if !json.Valid(raw) {
		return quotedTranscript(h.words(string(raw)))
	}
	return text.Strings(raw, h.words)
}

func quotedTranscript(s string) json.RawMessage {
	out, _ := json.Marshal(s) // a string always can be
	return out
}

// Record makes the entry of a record, with the blobs that it names.
func (b *Transcript) Record(r history.Record, h TranscriptHiding, blob func(chain.Hash) ([]byte, error)) (TranscriptEntry, error) {
	meta := string(r.Meta)
	e := TranscriptEntry{ID: r.ID, At: fmt.Sprint(r.CreatedAt.UnixMicro()), Kind: r.Kind, Meta: &meta, Commitment: r.Commitment.String(), Hash: r.Hash.String()}
	if shown := h.json(r.Meta); string(shown) != meta {
		e.Meta, e.ShownMeta, e.Hidden = nil, string(shown), "something was redacted for this file"
	}
	if r.Content == nil {
		e.Hidden = "redacted"
		return e, nil
	}
	parts, err := r.Parts()
	if err != nil {
		return e, err
	}
	content, salt := string(r.Content), fmt.Sprintf("%x", r.Salt)
	var names []chain.Hash
	for _, p := range parts {
		if p.Blob != nil {
			names = append(names, *p.Blob)
		}
	}
	if err := history.Fill(parts, blob); err != nil {
		return e, err
	}
	shown, why, err := h.parts(parts)
	if err != nil {
		return e, err
	}
	if why != "" {
		e.Shown, e.Hidden = shown, why
		return e, nil
	}
	e.Content, e.Salt = &content, &salt
	for _, name := range names {
		data, err := blob(name)
		if err != nil {
			return e, err
		}
		b.Blobs[name.String()] = held(data)
	}
	return e, nil
}

func held(data []byte) TranscriptBlob {
	if utf8.Valid(data) {
		s := string(data)
		return TranscriptBlob{Text: &s}
	}
	return TranscriptBlob{Base64: data}
}

// parts hides in the parts of a message. why is empty where nothing was to be hidden.
func (h TranscriptHiding) parts(parts []history.Part) (shown, why string, err error) {
	if len(parts) == 0 {
		return "", "", nil
	}
	out, left := make([]history.Part, 0, len(parts)), false
	before, err := json.Marshal(parts)
	if err != nil {
		return "", "", err
	}
	results := false
	for _, p := range parts {
		results = results || p.Type == history.Result
	}
	for _, p := range parts {
		switch {
		case h.Outputs && p.Type == history.Result:
			p.Text, p.Show, p.Memo, left = leftOut, "", nil, true
		case h.Outputs && results && p.Type.IsData(): // it came with a result
			left = true
			continue
		}
		for _, s := range []*string{&p.Text, &p.Show, &p.Malformed, &p.Name} {
			*s = h.words(*s)
		}
		p.Args, p.Memo, p.Opaque = h.json(p.Args), h.json(p.Memo), h.json(p.Opaque)
		for i := range p.Sources {
			p.Sources[i].URL, p.Sources[i].Title = h.words(p.Sources[i].URL), h.words(p.Sources[i].Title)
		}
		out = append(out, p)
	}
	after, err := json.Marshal(out)
	switch {
	case err != nil:
		return "", "", err
	case string(before) == string(after):
		return "", "", nil
	case left:
		return string(after), "the output of tools was left out of this file", nil
	}
	return string(after), "something was redacted for this file", nil
}

// Changed hides in what happened to a file.
func (h TranscriptHiding) Changed(c TranscriptChange) TranscriptChange {
	if h.Outputs {
		c.Diff, c.Note = "", "left out of this file"
	}
	c.Path, c.Diff, c.Note = h.words(c.Path), h.words(c.Diff), h.words(c.Note)
	return c
}

// Name hides in a name.
func (h TranscriptHiding) Name(s string) string { return h.words(s) }

// TranscriptFinding is a secret that would go out. It does not tell the secret.
type TranscriptFinding struct {
	Message id.Message
	Kind    history.Kind
	Name    string
	Sure    bool // false: it may be one
}

// Find looks for secrets in all that would go out.
func (b *Transcript) Find(r *secret.Redactor) []TranscriptFinding {
	var out []TranscriptFinding
	for _, s := range b.Stretches {
		for _, e := range s.Entries {
			seen := map[string]bool{}
			look := func(said string) {
				for _, f := range r.Find(said) {
					if !seen[f.Name] {
						seen[f.Name] = true
						out = append(out, TranscriptFinding{e.ID, e.Kind, f.Name, f.Sure})
					}
				}
			}
			for _, said := range e.texts(b.Blobs) {
				look(said)
			}
		}
	}
	return out
}

// texts are all that an entry says.
func (e TranscriptEntry) texts(blobs map[string]TranscriptBlob) []string {
	out := []string{e.ShownMeta, e.Shown}
	if e.Meta != nil {
		out = append(out, *e.Meta)
	}
	if e.Content != nil {
		out = append(out, *e.Content)
	}
	for _, raw := range out {
		text.Strings([]byte(raw), func(s string) string {
			if blob, ok := blobs[s]; ok && blob.Text != nil {
				out = append(out, *blob.Text)
			}
			out = append(out, s)
			return s
		})
	}
	for _, c := range e.Changes {
		out = append(out, c.Path+"\n"+c.Diff+"\n"+c.Note)
	}
	return out
}
