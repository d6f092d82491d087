package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

const (
	ada = id.Agent("AAAAAAAAAAAAAAAAAAAAAA")
	kid = id.Agent("BBBBBBBBBBBBBBBBBBBBBB")
)

// hostile is what a conversation may try.
var hostile = strings.Join([]string{
	`</script><script>window.pwned=1</script>`, `<img src=x onerror="window.pwned=1">`, `<!--`, `<script>`, `]]>`, "\u2028\u2029",
	`<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`, `<meta http-equiv=refresh content="0;url=https://evil.example/">`, `<base href="https://evil.example/">`,
	`<link rel=stylesheet href="https://evil.example/a.css">`, `[x](javascript:window.pwned=1)`, `![x](https://evil.example/x.png)`, `https://evil.example/`,
	"```html\n<svg onload=window.pwned=1>\n```", `${window.pwned=1}`, "\x1b[31m", "\u202e", `"}</script>`,
}, "\n")

// big does not fit into an entry.
var big = strings.Repeat("big output ", 1000)

// transcriptWriter links entries as the store does.
type transcriptWriter struct {
	t     testing.TB
	book  *Transcript
	hide  TranscriptHiding
	next  id.Message
	blobs map[chain.Hash][]byte
}

func newWriter(t testing.TB, h TranscriptHiding) *transcriptWriter {
	return &transcriptWriter{t: t, hide: h, next: 1, blobs: map[chain.Hash][]byte{}, book: &Transcript{Format: TranscriptFormat, Made: "now", Agent: ada, Blobs: map[string]TranscriptBlob{}}}
}

func (w *transcriptWriter) stretch(a id.Agent, on id.Message, prev string, drafts ...history.Draft) (head string) {
	w.t.Helper()
	s := TranscriptStretch{Agent: a, On: on, Prev: prev, Last: true}
	hash := testkit.Must(chain.ParseHash(prev))(w.t)
	for _, d := range drafts {
		content, blobs, err := history.Encode(d.Parts)
		testkit.OK(w.t, err)
		for _, b := range blobs {
			w.blobs[b.Hash] = b.Data
		}
		plain := testkit.Must(json.Marshal(d.Meta))(w.t)
		meta := testkit.Must(chain.Canonical(plain))(w.t)
		salt := chain.NewSalt()
		r := history.Record{Salt: salt[:], Commitment: chain.Commit(salt, content)}
		r.Entry = history.Entry{ID: w.next, Agent: a, Kind: d.Kind, Content: content, Meta: meta, CreatedAt: time.UnixMicro(1_767_225_600_000_001).UTC()}
		r.Hash = chain.Link{ID: int64(r.ID), CreatedAt: r.CreatedAt.UnixMicro(), Agent: string(a), Kind: string(r.Kind), Meta: meta, Commitment: r.Commitment, Prev: hash}.Hash()
		hash = r.Hash
		w.next++
		e := testkit.Must(w.book.Record(r, w.hide, func(h chain.Hash) ([]byte, error) { return w.blobs[h], nil }))(w.t)
		s.Entries = append(s.Entries, e)
	}
	w.book.Stretches = append(w.book.Stretches, s)
	return hash.String()
}

func said(k history.Kind, parts ...history.Part) history.Draft {
	return history.Draft{Kind: k, Parts: parts}
}

func wordsTranscript(s string) history.Part { return history.Part{Type: history.Text, Text: s} }

// png is a picture of one dot.
var png = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82")

// sample is a conversation with everything in it, and a child.
func sample(t testing.TB, h TranscriptHiding) *Transcript {
	w := newWriter(t, h)
	name := "<b class=injected>ada</b>"
	before := chain.Sum([]byte("before")).String()
	head := w.stretch(ada, 0, before,
		said(history.User, wordsTranscript("please fix it\n"+hostile), history.Part{Type: history.Image, MediaType: "image/png", Data: png}),
		said(history.Assistant, history.Part{Type: history.Thinking, Text: hostile, Signature: "sig"}, wordsTranscript("I **edit** `it`."),
			history.Part{Type: history.ToolCall, CallID: "c1", Name: "edit", Args: json.RawMessage(`{"path":"a.go","old_string":"one\ntwo","new_string":"one\n<b>three</b>"}`)}),
		said(history.ToolResult, history.Part{Type: history.Result, CallID: "c1", Text: big + hostile}),
		history.Draft{Kind: history.Usage, Meta: history.Meta{Call: &history.Call{Model: "anthropic/x", Input: 100, Output: 7, Cost: 1_500_000_000, Priced: true}}},
		said(history.Assistant, wordsTranscript("the password is hunter2")),
		history.Draft{Kind: history.Mark, Meta: history.Meta{Label: "hunter2 <script>window.pwned=1</script>"}},
		said(history.User, history.Part{Type: history.Image, MediaType: `image/png" onerror="window.pwned=1`, Data: png}, history.Part{Type: history.Image, MediaType: "image/svg+xml", Data: []byte("<svg onload=window.pwned=1>")}))
	w.book.Agents = append(w.book.Agents, TranscriptAgent{UUID: ada, Name: name, Status: "running", Model: "anthropic/x", Tokens: 107, Cost: 1_500_000_000, Head: head,
		Ranges: []history.Range{{Agent: ada}}, Out: []id.Message{5}})
	on := w.book.Stretches[0].Entries[1]
	last := w.stretch(kid, on.ID, on.Hash, said(history.Fork), said(history.User, wordsTranscript("what the child was told")))
	w.book.Agents = append(w.book.Agents, TranscriptAgent{UUID: kid, Name: "kid", Status: "dead", Parent: ada, Head: last,
		Ranges: []history.Range{{Agent: ada, End: history.UpTo(on.ID)}, {Agent: kid}}, Out: []id.Message{}})
	w.book.Stretches[1].Entries[1].Changes = []TranscriptChange{{Path: "a.go", Verb: "changed", Diff: "@@ -1 +1 @@\n-one\n+<b>two</b>\n"}}
	return w.book
}

func writtenTranscript(t testing.TB, b *Transcript) string {
	t.Helper()
	var out bytes.Buffer
	testkit.OK(t, b.Write(&out))
	return out.String()
}

// Whatever is said, the file has its own two scripts and no more.
func TestNothingSaidEndsTheData(t *testing.T) {
	page := writtenTranscript(t, sample(t, TranscriptHiding{}))
	if n := strings.Count(strings.ToLower(page), "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	data := page[strings.Index(page, `id="data"`):]
	data = data[strings.Index(data, ">")+1 : strings.Index(data, "</script>")]
	if strings.ContainsAny(data, "<>&\n\r\u2028\u2029\x00") {
		t.Error("the data has something in it that HTML or JavaScript reads")
	}
	var b Transcript
	testkit.OK(t, json.Unmarshal([]byte(data), &b))
	for _, what := range []string{"default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "img-src data:;", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(TranscriptPolicy(), what) {
			t.Errorf("the policy has no %s: %s", what, TranscriptPolicy())
		}
	}
	if strings.Contains(TranscriptPolicy(), "unsafe") {
		t.Error(TranscriptPolicy())
	}
}

func TestWhatIsHiddenIsNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		hide        TranscriptHiding
		gone, stays string
	}{
		"pattern": {TranscriptHiding{Patterns: []*regexp.Regexp{regexp.MustCompile("hunter[0-9]")}}, "hunter2", "please fix it"},
		"outputs": {TranscriptHiding{Outputs: true}, "big output", "please fix it"},
	} {
		page := writtenTranscript(t, sample(t, c.hide))
		if strings.Contains(page, c.gone) || !strings.Contains(page, c.stays) {
			t.Errorf("%s: %v %v", name, strings.Contains(page, c.gone), strings.Contains(page, c.stays))
		}
	}
	key := "sk-ant-api03-" + strings.Repeat("aB3dE5fG7h", 9) + "x1-abcdeAA"
	held := func(h TranscriptHiding) *Transcript {
		w := newWriter(t, h)
		w.stretch(ada, 0, "", said(history.User, wordsTranscript("mine is "+key)), said(history.Assistant, wordsTranscript("thanks")),
			said(history.Assistant, history.Part{Type: history.ToolCall, CallID: "c", Name: "bash", Args: json.RawMessage(fmt.Sprintf(`{"command":"echo %s"}`, key))}),
			said(history.ToolResult, history.Part{Type: history.Result, CallID: "c", Text: big + key}))
		w.book.Agents = []TranscriptAgent{{UUID: ada}}
		return w.book
	}
	own := secret.New(map[string]string{"MINE": "correct-horse-battery"})
	found := held(TranscriptHiding{}).Find(own)
	if len(found) != 3 || found[0].Message != 1 || found[1].Message != 3 || found[2].Message != 4 || !found[0].Sure {
		t.Errorf("found %+v", found)
	}
	clean := held(TranscriptHiding{Secrets: own})
	if again := clean.Find(own); len(again) > 0 {
		t.Errorf("found again: %+v", again)
	}
	if page := writtenTranscript(t, clean); strings.Contains(page, "aB3dE5fG7haB3d") || !strings.Contains(page, "thanks") {
		t.Error("the key is in the file, or too little is")
	}
}
