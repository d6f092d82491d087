package foreign

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

const webSources = "../../../web"

// seen is what a file says in Chromium: see web/test/transcript.mjs.
type seen struct {
	Verdict, Words, Page, Found, Aimed string
	Native, Pwned                      bool
	Elements, Links, Attributes        []string
	Asked, Wrong, Proved               []string
	Files, Agents, Diffs, Images       int
}

// browser opens files.
func browser(t *testing.T) func(page string, plan map[string]any) seen {
	t.Helper()
	testkit.InstallNPM(t, webSources)
	node := testkit.FindNode(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("the file is tested with chromium, which is missing: ./test installs it")
	}
	cmd := exec.Command(node, "test/transcript.mjs", chromium)
	cmd.Dir, cmd.Stderr = webSources, os.Stderr
	in := testkit.Must(cmd.StdinPipe())(t)
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	testkit.OK(t, err)
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	out, dir, n := bufio.NewReader(pipe), t.TempDir(), 0
	return func(page string, plan map[string]any) seen {
		t.Helper()
		n++
		file := filepath.Join(dir, fmt.Sprintf("%d.html", n))
		testkit.OK(t, os.WriteFile(file, []byte(page), 0o600))
		if plan == nil {
			plan = map[string]any{}
		}
		plan["file"] = file
		text, err := json.Marshal(plan)
		if err == nil {
			_, err = fmt.Fprintf(in, "%s\n", text)
		}
		testkit.OK(t, err)
		line, err := out.ReadString('\n')
		var s seen
		if err == nil {
			err = json.Unmarshal([]byte(line), &s)
		}
		if err != nil {
			t.Fatalf("the browser: %q %v", line, err)
		}
		if s.Pwned || len(s.Asked)+len(s.Wrong)+len(s.Links)+len(s.Attributes) > 0 || s.Files != 1 {
			t.Errorf("it is not quiet: %+v", s)
		}
		return s
	}
}

// The file says that it is valid, with the browser's SHA-256 and with its own; shows all there is;
// asks for nothing; and finds every change.
func TestTheFileInABrowser(t *testing.T) {
	look := browser(t)
	page := writtenTranscript(t, sample(t, TranscriptHiding{}))

	s := look(page, nil)
	if s.Verdict != "valid" || !s.Native || s.Agents != 2 || s.Diffs < 2 || s.Images != 1 || !strings.Contains(s.Words, "9 entries") {
		t.Errorf("%+v", s)
	}
	for _, want := range []string{"<b class=injected>ada</b>", "please fix it", "</script><script>window.pwned=1</script>", "$1.5000", "no longer in its context", "https://evil.example/"} {
		if !strings.Contains(s.Page, want) {
			t.Errorf("it does not show %q", want)
		}
	}
	if bad := slices.IndexFunc(s.Elements, func(e string) bool {
		return slices.Contains([]string{"script", "iframe", "b", "svg", "meta", "base", "link", "object", "embed", "form"}, e)
	}); bad >= 0 {
		t.Errorf("an element was injected: %s", s.Elements[bad])
	}
	// The words of a child; a place in it; a search; another SHA-256.
	s = look(page, map[string]any{"at": "#m9", "plain": true, "search": "CHILD was"})
	if s.Verdict != "valid" || s.Native || s.Aimed != "m9" || !strings.Contains(s.Page, "what the child was told") || !strings.Contains(s.Found, "message 9") {
		t.Errorf("%+v", s)
	}
	for name, h := range map[string]TranscriptHiding{"pattern": {Patterns: []*regexp.Regexp{regexp.MustCompile("hunter2")}}, "outputs": {Outputs: true}} {
		if s := look(writtenTranscript(t, sample(t, h)), nil); s.Verdict != "valid" || !strings.Contains(s.Words, "not in this file") {
			t.Errorf("%s: %s", name, s.Words)
		}
	}
	// Words that stand for others are told apart where they stand, whatever the data says of them.
	planted := sample(t, TranscriptHiding{})
	e := &planted.Stretches[0].Entries[4]
	e.Content, e.Salt, e.Shown = nil, nil, `[{"type":"text","text":"I deleted it"}]`
	if s := look(writtenTranscript(t, planted), nil); s.Verdict != "valid" || !strings.Contains(s.Page, "these words are not proved") {
		t.Errorf("planted words: %s\n%s", s.Words, s.Page)
	}

	begin := strings.Index(page, `id="data"`) + len(`id="data" data-sha256="`)
	end := begin + strings.Index(page[begin:], "</script>")
	for i := range 5 { // one byte of the hash, then of the data
		at := begin + i*(end-begin-1)/4
		if s := look(page[:at]+string(page[at]^1)+page[at+1:], nil); s.Verdict != "invalid" {
			t.Errorf("byte %d, %q: %s %s", at, page[max(at-10, 0):at+10], s.Verdict, s.Words)
		}
	}
	for _, what := range []string{"say(\"valid\"", "script-src"} { // of the script, and of what permits it
		at := strings.Index(page, what)
		if s := look(page[:at+2]+string(page[at+2]^1)+page[at+3:], nil); s.Verdict == "valid" {
			t.Errorf("a byte of %s: %s", what, s.Words)
		}
	}
	forgeries(t, look)
}

// forgeries are changes of the data and of its hash as well: the links find them.
func forgeries(t *testing.T, look func(string, map[string]any) seen) {
	names, books := []string{"as it is"}, []string{encoded(t, sample(t, TranscriptHiding{}))}
	other := fmt.Sprintf("%x", sha256.Sum256(nil))
	for name, forge := range map[string]func(*Transcript){
		"a word": func(b *Transcript) {
			s := strings.Replace(*b.Stretches[0].Entries[0].Content, "please", "do not", 1)
			b.Stretches[0].Entries[0].Content = &s
		},
		"a salt":   func(b *Transcript) { s := strings.Repeat("00", 16); b.Stretches[0].Entries[0].Salt = &s },
		"meta":     func(b *Transcript) { s := `{"label":"x"}`; b.Stretches[0].Entries[5].Meta = &s },
		"a kind":   func(b *Transcript) { b.Stretches[0].Entries[0].Kind = "assistant" },
		"a time":   func(b *Transcript) { b.Stretches[0].Entries[0].At = "1" },
		"an agent": func(b *Transcript) { b.Stretches[0].Agent = "CCCCCCCCCCCCCCCCCCCCCC" },
		"a large content": func(b *Transcript) {
			for h := range b.Blobs {
				s := "else"
				b.Blobs[h] = TranscriptBlob{Text: &s}
			}
		},
		"no large content": func(b *Transcript) { b.Blobs = map[string]TranscriptBlob{} },
		"one left out":     func(b *Transcript) { b.Stretches[0].Entries = slices.Delete(b.Stretches[0].Entries, 3, 4) },
		"the end cut off":  func(b *Transcript) { b.Stretches[0].Entries = b.Stretches[0].Entries[:5] },
		"another order":    func(b *Transcript) { e := b.Stretches[0].Entries; e[0], e[1] = e[1], e[0] },
		"another root":     func(b *Transcript) { b.Stretches[0].Prev = other },
		"another branch":   func(b *Transcript) { b.Stretches[1].On = 1 },
		"a head":           func(b *Transcript) { b.Agents[0].Head = other },
		"a commitment":     func(b *Transcript) { b.Stretches[1].Entries[1].Commitment = other },
		"a form":           func(b *Transcript) { b.Format = "ramet/transcript/9" },
		// Chains of their own, beside heads that are true.
		"no end": func(b *Transcript) { b.Stretches[0].Last = false },
		"another chain under a true head": func(b *Transcript) {
			head := b.Agents[1].Head
			forged := newWriter(t, TranscriptHiding{})
			forged.stretch(kid, 2, b.Stretches[1].Prev, said(history.Fork), said(history.User, wordsTranscript("what the child was never told")))
			b.Stretches[1], b.Agents[1].Head = forged.book.Stretches[0], head
			b.Stretches[1].Entries[0].ID, b.Stretches[1].Entries[1].ID, b.Stretches[1].Last = 8, 9, false
			relink(t, &b.Stretches[1])
		},
		"a message twice": func(b *Transcript) {
			forged := newWriter(t, TranscriptHiding{})
			forged.stretch(ada, 0, other, said(history.User, wordsTranscript("please delete it")))
			s := forged.book.Stretches[0]
			s.Last = false
			b.Stretches = append(b.Stretches, s)
		},
		"a message that no head proves": func(b *Transcript) {
			forged := newWriter(t, TranscriptHiding{})
			forged.next = 77
			forged.stretch(ada, 0, other, said(history.User, wordsTranscript("please delete it")))
			s := forged.book.Stretches[0]
			s.Last = false
			b.Stretches = append(b.Stretches, s)
		},
		"an end of nobody": func(b *Transcript) {
			forged := newWriter(t, TranscriptHiding{})
			forged.next = 77
			forged.stretch("CCCCCCCCCCCCCCCCCCCCCC", 0, other, said(history.User, wordsTranscript("please delete it")))
			b.Stretches = append(b.Stretches, forged.book.Stretches...)
		},
		"two ends": func(b *Transcript) {
			forged := newWriter(t, TranscriptHiding{})
			forged.next = 77
			forged.stretch(ada, 0, other, said(history.User, wordsTranscript("please delete it")))
			b.Stretches = append(forged.book.Stretches, b.Stretches...)
		},
		"a message that is not shown": func(b *Transcript) {
			b.Agents[0].Ranges = []history.Range{{Agent: ada, End: history.UpTo(4)}, {Agent: ada, Start: 5}}
		},
		"a beginning that is not shown": func(b *Transcript) { b.Agents[1].Ranges = b.Agents[1].Ranges[1:] },
		"a clear that never was":        func(b *Transcript) { b.Agents[0].Ranges[0].Start = 3 },
		"a clear that was a fork":       func(b *Transcript) { b.Agents[1].Ranges = []history.Range{{Agent: kid, Start: 2}} },
		"no conversation":               func(b *Transcript) { b.Agents[1].Ranges = []history.Range{} },
	} {
		b := sample(t, TranscriptHiding{})
		forge(b)
		names, books = append(names, name), append(books, encoded(t, b))
	}
	s := look(writtenTranscript(t, sample(t, TranscriptHiding{})), map[string]any{"books": books})
	for i, why := range s.Proved {
		if (why == "") != (i == 0) {
			t.Errorf("%s: %q", names[i], why)
		}
	}
	if len(s.Proved) != len(books) {
		t.Errorf("of %d it judges %d", len(books), len(s.Proved))
	}
}

// relink makes a stretch a chain of its own again.
func relink(t *testing.T, s *TranscriptStretch) {
	t.Helper()
	prev := testkit.Must(chain.ParseHash(s.Prev))(t)
	for i := range s.Entries {
		e := &s.Entries[i]
		commitment := testkit.Must(chain.ParseHash(e.Commitment))(t)
		at := testkit.Must(strconv.ParseInt(e.At, 10, 64))(t)
		prev = chain.Link{ID: int64(e.ID), CreatedAt: at, Agent: string(s.Agent), Kind: string(e.Kind), Meta: []byte(*e.Meta), Commitment: commitment, Prev: prev}.Hash()
		e.Hash = prev.String()
	}
}

func encoded(t *testing.T, b *Transcript) string {
	t.Helper()
	out := testkit.Must(json.Marshal(b))(t)
	return string(out)
}
