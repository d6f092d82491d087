package charset

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	library "golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/htmlindex"
	"pgregory.net/rapid"

	_ "ramet/internal/fixedseed"
)

func TestWhatAPageIsWrittenIn(t *testing.T) {
	for _, c := range []struct{ body, said, name, text string }{
		{"caf\xe9", "text/html; charset=iso-8859-1", "windows-1252", "café"},
		{"caf\xe9", "text/html", "windows-1252", "café"},
		{"caf\xc3\xa9", "text/html", "utf-8", "café"},
		{"caf\xc3\xa9", "text/html; charset=nonsense", "utf-8", "café"},
		{"caf\xc3\xa9 \xff", "text/html; charset=UTF-8", "utf-8", "café \uFFFD"},
		{"\xef\xbb\xbfcaf\xc3\xa9", "text/html; charset=koi8-r", "utf-8", "café"},
		{"\xff\xfea\x00\xe9\x00", "", "utf-16le", "aé"},
		{"\xfe\xff\x00a\x00", "", "utf-16be", "a\uFFFD"},
		{"\xd8\x3d\xde\x00\xd8\x3d", "text/plain; charset=utf-16be", "utf-16be", "😀\uFFFD"},
		{"<meta charset=koi8-r>\xc1", "", "koi8-r", "<meta charset=koi8-r>а"},
		{"<META HTTP-EQUIV='Content-Type' CONTENT=\"text/html; charset='shift_jis'\">\x82\xa0", "", "shift_jis", "<META HTTP-EQUIV='Content-Type' CONTENT=\"text/html; charset='shift_jis'\">あ"},
		{"<meta content='text/html; charset=koi8-r'>\xe9", "", "windows-1252", "<meta content='text/html; charset=koi8-r'>é"},
		{"<meta http-equiv=content-type content='charset x charset = gbk'>", "", "gbk", "<meta http-equiv=content-type content='charset x charset = gbk'>"},
		{"<!-- <meta charset=koi8-r> -->\xe9", "", "windows-1252", "<!-- <meta charset=koi8-r> -->é"},
		{"<script>'<meta charset=koi8-r>'</script>\xe9", "", "windows-1252", "<script>'<meta charset=koi8-r>'</script>é"},
		{"<meta charset=utf-16>\xc3\xa9", "", "utf-8", "<meta charset=utf-16>é"},
		{"<meta charset=x-user-defined>\xe9", "", "windows-1252", "<meta charset=x-user-defined>é"},
		{"<meta charset=what><meta charset=gb2312>\xc4\xe3", "", "gbk", "<meta charset=what><meta charset=gb2312>你"},
		{strings.Repeat(" ", 1024) + "<meta charset=koi8-r>\xe9", "", "windows-1252", strings.Repeat(" ", 1024) + "<meta charset=koi8-r>é"},
		{strings.Repeat("a", 2000) + "\xc3\xa9", "", "utf-8", strings.Repeat("a", 2000) + "é"}, // the library looks at the first 1024 bytes only
		{"", "", "utf-8", ""},
	} {
		if name, _ := Name([]byte(c.body), c.said); name != c.name {
			t.Errorf("%.60q, said to be %q: %s, not %s", c.body, c.said, name, c.name)
		}
		if text := Text([]byte(c.body), c.said); text != c.text {
			t.Errorf("%.60q, said to be %q: %.60q, not %.60q", c.body, c.said, text, c.text)
		}
	}
}

// Every label means what it means to the library, and every encoding reads each byte and each pair of bytes alike.
func TestLabelsMeanWhatTheyMeanToTheLibrary(t *testing.T) {
	known, encodings := 0, 0
	for line := range strings.Lines(strings.TrimSpace(labels)) {
		words := strings.Fields(line)
		encodings++
		for _, label := range words {
			known++
			_, name := library.Lookup(label)
			if got := Lookup(" " + strings.ToUpper(label) + "\n"); got != words[0] || got != name {
				t.Errorf("%s: %s, to the library %s", label, got, name)
			}
		}
		if words[0] == "utf-8" {
			continue
		}
		e, err := htmlindex.Get(words[0])
		if err != nil {
			t.Fatal(err)
		}
		pairs := all(strings.HasPrefix(words[0], "utf-16"))
		want, err := e.NewDecoder().Bytes(pairs)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := once(Text(pairs, "text/plain; charset="+words[0])), once(string(want)); got != want {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Errorf("%s: bytes are read otherwise: %.30q and %.30q", words[0], got[max(0, at-5):], want[max(0, at-5):])
		}
	}
	if known < 200 || encodings != 40 {
		t.Errorf("%d labels of %d encodings", known, encodings)
	}
	for _, none := range []string{"", " ", "utf", "utf-9", "windows", "iso-8859-17"} {
		if got := Lookup(none); got != "" {
			t.Errorf("%q: %s", none, got)
		}
	}
}

// once is a text in which what could not be read is told once for all that stands together.
func once(s string) string {
	for _, many := range []int{1024, 64, 8, 4, 2, 2, 2, 2} {
		s = strings.ReplaceAll(s, strings.Repeat("\uFFFD", many), "\uFFFD")
	}
	return s
}

// all are all pairs of bytes, with space between them; those of UTF-16 need none.
func all(wide bool) []byte {
	var b bytes.Buffer
	if !wide {
		b.WriteString("  ") // no byte order mark
	}
	for i := range 1 << 16 {
		if wide && i == 0 {
			i = 'a'<<8 | 'a'
		}
		b.WriteByte(byte(i >> 8))
		b.WriteByte(byte(i))
		if !wide {
			b.WriteByte(' ')
		}
	}
	return b.Bytes()
}

// Short texts, whose first 1024 bytes are all, are what the library makes of them.
func TestTextsAreWhatTheLibraryMakesOfThem(t *testing.T) {
	pieces := []string{"<meta", " charset=", "charset", "=", "koi8-r", "'gbk'", "\"big5\"", ";", " ", " http-equiv=", "content-type", " content=", "text/html;", ">", "<!--", "-->", "\xe9", "é", "\xff\xfe", "\xef\xbb\xbf",
		"a", "<title>", "</title>", "utf-16", "utf-8", "/", "\x00"}
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "body"), "") + "." // half a letter at the end is forgiven by the library
		said := rapid.SampledFrom([]string{"", "text/html", "text/html; charset=euc-kr", "text/html; charset=utf-8", "text/html; charset=no"}).Draw(t, "said")
		in, err := library.NewReader(strings.NewReader(body), said)
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		want := []byte{}
		if err == nil {
			if want, err = io.ReadAll(in); err != nil {
				t.Fatal(err)
			}
		}
		text := Text([]byte(body), said)
		if !utf8.ValidString(text) {
			t.Fatalf("%q is no UTF-8", text)
		}
		// The library leaves the mark of UTF-8 in the text, and bytes that are none of it.
		// Where nobody says anything, ASCII is windows-1252 to it.
		if utf8.ValidString(body) && text == body {
			return
		}
		same := strings.ToValidUTF8(strings.TrimPrefix(string(want), "\uFEFF"), "\uFFFD")
		if once(text) != once(same) {
			t.Fatalf("%q, said to be %q: %q, not %q", body, said, text, same)
		}
	})
}
