package run

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds nested payloads.
const maxDepth = 500

var errCut = errors.New("the value is cut off")

// canonicalValue checks that b begins with a JSON value in RFC 8785 form and
// returns its length. It is one pass without allocation for ordinary payloads:
// canonicalising and comparing would cost a replay most of its time. A fuzz test
// holds it to the same verdict as canonicalising.
func canonicalValue(b []byte, depth int) (int, error) {
	if depth > maxDepth {
		return 0, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	if len(b) == 0 {
		return 0, errCut
	}
	switch c := b[0]; {
	case c == '{':
		return canonicalObject(b, depth)
	case c == '[':
		return canonicalArray(b, depth)
	case c == '"':
		n, _, err := canonicalString(b)
		return n, err
	case c == '-' || isDigit(c):
		return canonicalNumber(b)
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return len(word), nil
		}
	}
	return 0, fmt.Errorf("unexpected %.20q", b)
}

func canonicalObject(b []byte, depth int) (int, error) {
	at := 1
	if at < len(b) && b[at] == '}' {
		return 2, nil
	}
	var last []byte
	lastEscaped := false
	for first := true; ; first = false {
		n, escaped, err := canonicalString(b[at:])
		if err != nil {
			return 0, err
		}
		key := b[at : at+n]
		if !first && !keyBefore(last, key, lastEscaped || escaped) {
			return 0, fmt.Errorf("key %.60s is not in order", key)
		}
		last, lastEscaped = key, escaped
		at += n
		if at >= len(b) {
			return 0, errCut
		}
		if b[at] != ':' {
			return 0, fmt.Errorf("unexpected %.20q after a key", b[at:])
		}
		at++
		if n, err = canonicalValue(b[at:], depth+1); err != nil {
			return 0, err
		}
		at += n
		if at >= len(b) {
			return 0, errCut
		}
		if b[at] == '}' {
			return at + 1, nil
		}
		if b[at] != ',' {
			return 0, fmt.Errorf("unexpected %.20q in an object", b[at:])
		}
		at++
	}
}

func canonicalArray(b []byte, depth int) (int, error) {
	at := 1
	if at < len(b) && b[at] == ']' {
		return 2, nil
	}
	for {
		n, err := canonicalValue(b[at:], depth+1)
		if err != nil {
			return 0, err
		}
		at += n
		if at >= len(b) {
			return 0, errCut
		}
		if b[at] == ']' {
			return at + 1, nil
		}
		if b[at] != ',' {
			return 0, fmt.Errorf("unexpected %.20q in an array", b[at:])
		}
		at++
	}
}

// canonicalString returns the length with quotes, and whether there are escapes
// or characters beyond ASCII, for which keys need a closer comparison.
func canonicalString(b []byte) (n int, special bool, err error) {
	if len(b) == 0 {
		return 0, false, errCut
	}
	if b[0] != '"' {
		return 0, false, fmt.Errorf("unexpected %.20q where a string belongs", b)
	}
	for i := 1; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			return i + 1, special, nil
		case c == '\\':
			special = true
			n, err := canonicalEscape(b[i:])
			if err != nil {
				return 0, false, err
			}
			i += n
		case c < 0x20:
			return 0, false, fmt.Errorf("control character %#x in a string", c)
		case c < utf8.RuneSelf:
			i++
		default:
			special = true
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				return 0, false, errors.New("a string is not UTF-8")
			}
			i += size
		}
	}
	return 0, false, errCut
}

// canonicalEscape accepts the escapes that RFC 8785 prescribes: the short forms
// where there is one, else \u00xx in lower case for control characters.
func canonicalEscape(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, errCut
	}
	if bytes.IndexByte([]byte(`"\bfnrt`), b[1]) >= 0 {
		return 2, nil
	}
	if b[1] != 'u' {
		return 0, fmt.Errorf("escape %.2q is not needed", b)
	}
	if len(b) < 6 {
		return 0, errCut
	}
	hex := string(b[2:6])
	if hex[:2] != "00" || hex[2] != '0' && hex[2] != '1' || !isHex(b[5:6]) {
		return 0, fmt.Errorf("escape %.6q is not needed", b)
	}
	switch hex {
	case "0008", "0009", "000a", "000c", "000d":
		return 0, fmt.Errorf("escape %.6q has a shorter form", b)
	}
	return 6, nil
}

// keyBefore compares keys by UTF-16 code units, as RFC 8785 orders them. For
// plain ASCII that is the order of bytes.
func keyBefore(a, b []byte, special bool) bool {
	if !special {
		return bytes.Compare(a[1:len(a)-1], b[1:len(b)-1]) < 0
	}
	ua, ub := utf16Units(a), utf16Units(b)
	for i := range min(len(ua), len(ub)) {
		if ua[i] != ub[i] {
			return ua[i] < ub[i]
		}
	}
	return len(ua) < len(ub)
}

func utf16Units(quoted []byte) []uint16 {
	text, _ := jsontext.AppendUnquote(nil, quoted) // its syntax was checked
	return utf16.Encode([]rune(string(text)))
}

// canonicalNumber accepts short integers at sight and asks the library for the
// rest.
func canonicalNumber(b []byte) (int, error) {
	n := 0
	for n < len(b) && (isDigit(b[n]) || b[n] == '-' || b[n] == '+' || b[n] == '.' || b[n] == 'e' || b[n] == 'E') {
		n++
	}
	digits := b[:n]
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if isShortInteger(digits) && (digits[0] != '0' || len(digits) == 1 && n == 1) {
		return n, nil
	}
	v := jsontext.Value(bytes.Clone(b[:n]))
	// A number beyond a double would become the largest one without a word.
	if tok, err := jsontext.NewDecoder(bytes.NewReader(v)).ReadToken(); err != nil {
		return 0, fmt.Errorf("%.40q is no number", b[:n])
	} else if _, err := tok.Float(); err != nil {
		return 0, fmt.Errorf("number %.40s does not fit a double", b[:n])
	}
	if err := v.Canonicalize(); err != nil || !bytes.Equal(v, b[:n]) {
		return 0, fmt.Errorf("number %.40s is not in RFC 8785 form", b[:n])
	}
	return n, nil
}

func isShortInteger(digits []byte) bool {
	if len(digits) == 0 || len(digits) > 15 {
		return false
	}
	for _, c := range digits {
		if !isDigit(c) {
			return false
		}
	}
	return true
}
