package chain

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"ramet/internal/testkit"
)

func vector() Link {
	var salt Salt
	copy(salt[:], "sixteen bytes ok")
	return Link{
		ID: 7, CreatedAt: 1767225600000001, Agent: "AAAAAAAAAAAAAAAAAAAAAA", Kind: "user",
		Meta:       []byte(`{"label":"é\n","n":"1"}`),
		Commitment: Commit(salt, []byte(`[{"text":"hi","type":"text"}]`)),
	}
}

// The golden vectors fix format ramet/1 for ever.
func TestGoldenVectors(t *testing.T) {
	first := vector()
	if got, want := first.Commitment.String(), "5d11be8ac3c17dd6c80a2a7940fc8aa22394a4b1b713ef33ab3bd9ecf1ff06bc"; got != want {
		t.Errorf("commitment %s, want %s", got, want)
	}
	if got, want := first.Hash().String(), "016d69e7ef302696c42371a3bc134a3df88d718c69f78f253b605b7c9197992c"; got != want {
		t.Errorf("first link %s, want %s\n%s", got, want, first.Bytes())
	}
	second := first
	second.ID, second.Kind, second.Meta, second.Prev = 9, "clear", []byte(`{}`), first.Hash()
	if got, want := second.Hash().String(), "f64dd262201845d73cd3397053e4da7775b526451b030b262c9db3c19fb8b2de"; got != want {
		t.Errorf("second link %s, want %s\n%s", got, want, second.Bytes())
	}
}

// sha256sum of coreutils is the second opinion on the same bytes.
func TestAnotherProgramAgrees(t *testing.T) {
	l := vector()
	cmd := exec.Command("sha256sum")
	cmd.Stdin = strings.NewReader(string(l.Bytes()))
	out := testkit.Must(cmd.Output())(t)
	if got := strings.Fields(string(out))[0]; got != l.Hash().String() {
		t.Errorf("sha256sum says %s, we say %s", got, l.Hash())
	}
}

// The link is already in canonical form, so that other tools may rebuild it
// from its parts with any RFC 8785 library.
func TestLinkBytesAreCanonical(t *testing.T) {
	l := vector()
	c, err := Canonical(l.Bytes())
	if err != nil || string(c) != string(l.Bytes()) {
		t.Errorf("canonical form differs: %v\n%s\n%s", err, c, l.Bytes())
	}
}

func TestEveryFieldMovesTheHash(t *testing.T) {
	base := vector().Hash()
	for name, change := range map[string]func(*Link){
		"id":         func(l *Link) { l.ID++ },
		"created_at": func(l *Link) { l.CreatedAt++ },
		"agent":      func(l *Link) { l.Agent = "BAAAAAAAAAAAAAAAAAAAAA" },
		"kind":       func(l *Link) { l.Kind = "system" },
		"meta":       func(l *Link) { l.Meta = []byte(`{"label":"é\n","n":"2"}`) },
		"content":    func(l *Link) { l.Commitment[0] ^= 1 },
		"prev":       func(l *Link) { l.Prev[31] ^= 1 },
	} {
		l := vector()
		change(&l)
		if l.Hash() == base {
			t.Errorf("%s is not covered", name)
		}
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1.0 , "a" : [ true , null ] } `: `{"a":[true,null],"b":1}`,
		`"\u00e9\/"`: `"é/"`,
		`1e21`:       `1e+21`,
	} {
		if got, err := Canonical([]byte(in)); err != nil || string(got) != want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `{"a":1,"a":2}`, "\"\xff\"", `1e400`, `[-1e309]`, `{} x`, `{"\"":"1\\","b":1E400}`, `[` + strings.Repeat("9", 310) + `]`} {
		if got, err := Canonical([]byte(in)); err == nil {
			t.Errorf("Canonical(%q) = %s, want a refusal", in, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[1.5,"x"]}`, `1e400`, `"\ud800"`, `[[[[`, `{"a":{"a":{}}}`,
		`{"b":"x","a!":["y","z"],"a":[]}`, `{"a":"x","a":"y"}`, `{"a":"x",}`, `{"é":"x","z":"\u0041"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := Canonical(in)
		if err != nil {
			return
		}
		twice, err := Canonical(once)
		if err != nil || string(once) != string(twice) || !utf8.Valid(once) {
			t.Fatalf("%q -> %q -> %q, %v", in, once, twice, err)
		}
	})
}
