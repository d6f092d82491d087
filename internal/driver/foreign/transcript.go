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
	"strings"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

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
