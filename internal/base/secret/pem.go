package secret

import "strings"

const (
	pemBegin   = "-----BEGIN "
	pemPrivate = "PRIVATE KEY"
	pemEnd     = "-----END "
	pemLabel   = 100     // the longest label that is looked at
	pemMost    = 1 << 16 // the longest key
	pemRun     = 32      // a line of a key has at least so many characters of base64
)

// privateKeys returns the private keys in PEM and in OpenPGP's armour. One whose end is
// missing, as in a text that was cut, goes as far as its lines look like one.
func privateKeys(s string) []span {
	var out []span
	for at := 0; ; {
		i := strings.Index(s[at:], pemBegin)
		if i < 0 {
			return out
		}
		from := at + i
		at = from + len(pemBegin)
		label, _, isLine := strings.Cut(s[at:min(len(s), at+pemLabel)], "-----")
		if !isLine || !strings.HasSuffix(strings.TrimSuffix(label, " BLOCK"), pemPrivate) {
			continue
		}
		at += len(label) + len("-----")
		to := at + pemBody(s[at:min(len(s), at+pemMost)])
		if to > at {
			out = append(out, span{from, to, markerFor("private-key")})
			at = to
		}
	}
}

// pemBody returns how long the key is whose first line stands before s, with its last line; 0
// when there is none.
func pemBody(s string) int {
	set := newAlphabet(alphabets["base64"])
	body, _, dashed := strings.Cut(s, "-----")
	last := 0 // the end of the last line of base64
	for i := 0; i < len(body); {
		end := set.run(body, i)
		if end-i >= pemRun || last > 0 && end > i && len(strings.Trim(body[last:i], "\\nr \r\n\t=")) == 0 {
			last = end
		}
		i = end + 1
	}
	if last == 0 {
		return 0
	}
	if rest := s[len(body):]; dashed && strings.HasPrefix(rest, pemEnd) {
		if i := strings.Index(rest[len(pemEnd):], "-----"); i >= 0 {
			return len(body) + len(pemEnd) + i + len("-----")
		}
	}
	for last < len(body) && body[last] == '=' {
		last++
	}
	return last
}
