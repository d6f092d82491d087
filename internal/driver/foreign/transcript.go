package foreign

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
)

// TranscriptHiding chooses what does not go into a file.
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

// texts returns all that an entry says.
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

// TranscriptFormat is the word that the data begins with; another form is another word.
const TranscriptFormat = "ramet/transcript/1"

// Transcript is what goes into a file.
type Transcript struct {
	Format    string                    `json:"format"`
	Made      string                    `json:"made"`
	Agent     id.Agent                  `json:"agent"`  // whom it was asked for
	Agents    []TranscriptAgent         `json:"agents"` // that one first, parents before children
	Stretches []TranscriptStretch       `json:"stretches"`
	Blobs     map[string]TranscriptBlob `json:"blobs"` // by the hashes that contents name
}

// TranscriptAgent is one of the tree.
type TranscriptAgent struct {
	UUID   id.Agent `json:"uuid"`
	Name   string   `json:"name"`
	Status string   `json:"status"`
	Parent id.Agent `json:"parent"` // empty: not in the file
	Model  string   `json:"model"`
	Tokens int64    `json:"tokens"`
	Cost   int64    `json:"cost_nano_usd"`
	Head   string   `json:"head"` // hash of its newest entry
	// Ranges are its conversation, root first; Out are the entries of it that are no longer
	// in its context.
	Ranges []history.Range `json:"ranges"`
	Out    []id.Message    `json:"out"`
}

// TranscriptStretch is a run of entries of one agent, none left out.
type TranscriptStretch struct {
	Agent   id.Agent          `json:"agent"`
	On      id.Message        `json:"on"`   // the entry that it hangs on; 0: none
	Prev    string            `json:"prev"` // and its hash
	Last    bool              `json:"last"` // it ends with the agent's newest entry
	Entries []TranscriptEntry `json:"entries"`
}

// TranscriptEntry is one entry with its proof. Meta and Content are the exact bytes; where they are
// not to go out they are null, and what is shown instead stands beside.
type TranscriptEntry struct {
	ID         id.Message         `json:"id"`
	At         string             `json:"at"` // microseconds since 1970
	Kind       history.Kind       `json:"kind"`
	Meta       *string            `json:"meta"`
	Commitment string             `json:"commitment"`
	Hash       string             `json:"hash"`
	Salt       *string            `json:"salt"` // hex
	Content    *string            `json:"content"`
	ShownMeta  string             `json:"shown_meta,omitempty"`
	Shown      string             `json:"shown,omitempty"`
	Hidden     string             `json:"hidden,omitempty"` // why something of it is not here
	Changes    []TranscriptChange `json:"changes,omitempty"`
}

// TranscriptChange is what happened to a file. It is shown as the states of files have it: the links do
// not prove it.
type TranscriptChange struct {
	Path string `json:"path"`
	Verb string `json:"verb"`
	Diff string `json:"diff"`
	Note string `json:"note,omitempty"`
}

// TranscriptBlob is a large content: text, or base64.
type TranscriptBlob struct {
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

// Entries is how many entries there are.
func (b *Transcript) Entries() int {
	n := 0
	for _, s := range b.Stretches {
		n += len(s.Entries)
	}
	return n
}

//go:embed page
var page embed.FS

// pieces are the script and the style of every file, with their hashes as a policy names them.
var pieces = sync.OnceValue(func() (out parts) {
	read := func(names ...string) (text, hash string) {
		for _, name := range names {
			one, err := page.ReadFile("page/" + name)
			if err != nil {
				panic(err) // they are in the binary
			}
			text += string(one)
		}
		sum := sha256.Sum256([]byte(text))
		return text, "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	out.script, out.scriptHash = read("sha256.js", "proof.js", "diff.js", "draw.js", "book.js")
	out.style, out.styleHash = read("style.css")
	return out
})

type parts struct{ script, style, scriptHash, styleHash string }

// TranscriptPolicy returns the Content-Security-Policy of every file.
func TranscriptPolicy() string {
	p := pieces()
	return "default-src 'none'; script-src " + p.scriptHash + "; style-src " + p.styleHash + "; img-src data:; base-uri 'none'; form-action 'none'"
}

// Write writes the file.
func (b *Transcript) Write(w io.Writer) error {
	data, err := json.Marshal(b) // escapes <, > and &: nothing in it can end the element
	if err != nil {
		return fmt.Errorf("write a transcript: %w", err)
	}
	sum := sha256.Sum256(data)
	title := "ramet"
	if len(b.Agents) > 0 {
		title = b.Agents[0].label()
	}
	p := pieces()
	for _, s := range []string{
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"", TranscriptPolicy(), "\">\n",
		"<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>", html.EscapeString(title),
		"</title>\n<style>", p.style, "</style>\n</head>\n<body>\n<p id=\"verdict\" role=\"status\">Nothing was checked: the script of this file did not run. ",
		"Scripts are switched off, or the file was changed.</p>\n<div id=\"page\"></div>\n<script type=\"application/json\" id=\"data\" data-sha256=\"",
		hex.EncodeToString(sum[:]), "\">", string(data), "</script>\n<script>", p.script, "</script>\n</body>\n</html>\n",
	} {
		if _, err := io.WriteString(w, s); err != nil {
			return fmt.Errorf("write a transcript: %w", err)
		}
	}
	return nil
}

func (a TranscriptAgent) label() string {
	if a.Name != "" {
		return strings.ToValidUTF8(a.Name, "\uFFFD")
	}
	return a.UUID.Short()
}
