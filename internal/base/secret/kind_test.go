package secret

import (
	"fmt"
	"hash/crc32"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// sampleOf makes a key of a form. No key stands in this repository, not even a made-up
// one: scanners of others would take it for real.
func sampleOf(random *rand.Rand, f *form) string {
	var b strings.Builder
	for _, p := range f.pieces {
		b.WriteString(p.literal)
		if p.set == nil {
			continue
		}
		letters := p.set.letters()
		for range p.min + random.IntN(min(p.max-p.min, 40)+1) {
			b.WriteString(letters[random.IntN(len(letters))])
		}
	}
	return b.String()
}

// asked is how many samples of each form are tried.
const asked = 200

func TestEveryKindIsFound(t *testing.T) {
	kinds := kindsOf(false)
	if len(kinds) < 80 {
		t.Errorf("only %d kinds", len(kinds))
	}
	r, random := New(nil), rand.New(rand.NewPCG(1, 2))
	for _, k := range kinds {
		missed, total := 0, 0
		for _, f := range k.forms {
			for range asked {
				key := sampleOf(random, f)
				total++
				if strings.Contains(r.All("curl -H 'x: "+key+"' https://example.com\n"), key) {
					missed++
				}
			}
		}
		// Of what is random, something looks written now and then.
		if missed*50 > total {
			t.Errorf("%s: %d of %d were missed", k.name, missed, total)
		}
	}
}

func TestEveryNamedKindIsFound(t *testing.T) {
	r, random := New(nil), rand.New(rand.NewPCG(1, 2))
	for _, k := range kindsOf(true) {
		missed, total := 0, 0
		for _, f := range k.forms {
			for _, vendor := range k.near {
				for range asked {
					key := sampleOf(random, f)
					if !strings.ContainsAny(key, digits) {
						continue // what has no digit is taken for a name
					}
					total++
					if strings.Contains(r.All(strings.ToUpper(vendor)+"_API_KEY="+key+"\n"), key) {
						missed++
					}
				}
			}
		}
		if missed*50 > total {
			t.Errorf("%s: %d of %d were missed", k.name, missed, total)
		}
	}
}

// A kind is not taken for another one.
func TestAKindIsToldByItsName(t *testing.T) {
	r, random := New(nil), rand.New(rand.NewPCG(3, 4))
	for _, k := range kindsOf(false) {
		wrong := map[string]int{}
		total := 0
		for _, f := range k.forms {
			for range asked {
				total++
				for _, found := range r.Find(sampleOf(random, f)) {
					if found.Name != k.name {
						wrong[found.Name]++
					}
				}
			}
		}
		for name, n := range wrong {
			if n*20 > total {
				t.Errorf("%s is told as %s: %d of %d", k.name, name, n, total)
			}
		}
	}
}

func TestAChecksumMakesUpForWhatIsGluedToAKey(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	r := New(nil)
	body := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(base62[random.IntN(62)])
		}
		return b.String()
	}
	github := func(prefix string) string {
		secret := body(30)
		sum := crc32.ChecksumIEEE([]byte(secret))
		var digits [6]byte
		for i := 5; i >= 0; i-- {
			digits[i] = base62[sum%62]
			sum /= 62
		}
		return prefix + secret + string(digits[:])
	}
	grafana := "glsa_" + body(32)
	grafana += fmt.Sprintf("_%08x", bits.ReverseBytes32(crc32.ChecksumIEEE([]byte(grafana))))
	age := "AGE-SECRET-KEY-1"
	for range 52 {
		age += strings.ToUpper(bech32Letters[random.IntN(32):][:1])
	}
	sum, _ := bech32Remainder(age + "QQQQQQ")
	for i := range 6 {
		age += strings.ToUpper(bech32Letters[(sum^1)>>(25-5*i)&31:][:1])
	}
	for _, key := range []string{github("ghp_"), github("gho_"), github("npm_"), grafana, age} {
		if got := r.All("x" + key + "x"); strings.Contains(got, key) || got[0] != 'x' || got[len(got)-1] != 'x' {
			t.Errorf("%s…: %q", key[:5], got)
		}
		wrong := key[:len(key)-1] + "!"
		if got := r.All("x" + wrong + "x"); got != "x"+wrong+"x" {
			t.Errorf("%q", got)
		}
	}
}

// The examples of BIP 173.
func TestBech32(t *testing.T) {
	for text, want := range map[string]bool{
		"A12UEL5L": true,
		"abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw": true,
		"abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxq": false,
		"1": false, "": false, "x1b4n0q5v": false,
	} {
		if got := sumOfBech32(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestATableWithAMistakeIsRefused(t *testing.T) {
	for _, text := range []string{"a<nothing:3>", "a<hex>", "a<hex:x>", "a<hex:5-3>", "a<hex:5"} {
		if _, err := parseForm(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
