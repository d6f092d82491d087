package secret

// alphabet is a set of ASCII characters.
type alphabet [2]uint64

func newAlphabet(letters string) *alphabet {
	var a alphabet
	for i := range len(letters) {
		a[letters[i]>>6&1] |= 1 << (letters[i] & 63)
	}
	return &a
}

func (a *alphabet) has(c byte) bool { return c < 128 && a[c>>6]&(1<<(c&63)) != 0 }

// run returns the end of the characters from i on that are in the alphabet.
func (a *alphabet) run(s string, i int) int {
	for i < len(s) && a.has(s[i]) {
		i++
	}
	return i
}

// meets reports whether the alphabets have a character in common.
func (a *alphabet) meets(b *alphabet) bool { return a[0]&b[0] != 0 || a[1]&b[1] != 0 }

const (
	digits = "0123456789"
	small  = "abcdefghijklmnopqrstuvwxyz"
	large  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum  = small + large + digits
)

// alphabets has the characters of the alphabets that forms name.
var alphabets = map[string]string{
	"digit":  digits,
	"hex":    digits + "abcdefABCDEF",
	"letter": small + large,
	"lower":  small + digits,
	"upper":  large + digits,
	"base32": large + "234567",
	"bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
	"base62": alnum,
	"base64": alnum + "+/",
	"pad":    "=",
	"url":    alnum + "_-",
	"path":   alnum + "_-/",
	"padded": alnum + "_-.=",
	"tilde":  alnum + "_-.~",
	"coded":  alnum + "%",
	"full":   alnum + "_-+/=",
}

// letters returns the characters of the alphabet, each a string.
func (a *alphabet) letters() []string {
	var out []string
	for c := range byte(128) {
		if a.has(c) {
			out = append(out, string(rune(c)))
		}
	}
	return out
}
