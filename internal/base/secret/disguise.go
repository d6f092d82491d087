package secret

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// pattern is a text to look for.
type pattern struct {
	text  string
	label string

	// Base64 at an odd place shares its outer characters with its neighbours.
	// The pattern has only the characters that are the value's alone; these
	// say that a shared one stands before or after them.
	before, after bool
}

// disguisesOf returns the forms of a value that are searched for. Percent-encoding is not
// among them: the text is decoded instead, since there are many ways to encode
// and one to decode.
func disguisesOf(value string) []pattern {
	texts := map[string]bool{value: true}
	texts[strings.ReplaceAll(value, " ", "+")] = true // a space in a form
	for _, html := range []bool{false, true} {
		texts[jsonEscaped(value, html)] = true
	}
	var out []pattern
	for text := range texts {
		out = append(out, pattern{text: text})
	}
	return append(out, base64Forms(value)...)
}

// jsonEscaped returns the value as it stands within a JSON string.
func jsonEscaped(value string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(value); err != nil {
		return value // a string is always encodable
	}
	return strings.TrimSuffix(b.String(), "\n")[1 : b.Len()-2]
}

// base64Forms returns the forms of the value within base64, one for each of the
// three places its first byte can have in a group.
func base64Forms(value string) []pattern {
	var out []pattern
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			padded := make([]byte, shift, shift+len(value))
			text := alphabet.EncodeToString(append(padded, value...))
			first := (shift*8 + 5) / 6            // first character without foreign bits
			last := (shift + len(value)) * 8 / 6  // end of the last one
			shared := (shift+len(value))*8%6 != 0 // the value ends within a character
			p := pattern{text: text[first:last], before: shift != 0, after: shared}
			if alphabet == base64.RawURLEncoding && out[shift].text == p.text {
				continue // no character in it tells the alphabets apart
			}
			out = append(out, p)
		}
	}
	return out
}

// percentDecoded decodes every %hh of s; ok is false when there is none.
func percentDecoded(s string) (plain string, ok bool) {
	if strings.IndexByte(s, '%') < 0 {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		next := strings.IndexByte(s[i:], '%')
		if next < 0 {
			b.WriteString(s[i:])
			break
		}
		b.WriteString(s[i : i+next])
		i += next
		c, isCode := percentCode(s[i:])
		if !isCode {
			b.WriteByte('%')
			i++
			continue
		}
		b.WriteByte(c)
		i += 3
		ok = true
	}
	return b.String(), ok
}

// percentPlaces returns where each byte of percentDecoded(s) is in s, and the
// end. It is a step of its own because most texts hold no secret.
func percentPlaces(s string) []int {
	places := make([]int, 0, len(s)+1)
	for i := 0; i < len(s); {
		places = append(places, i)
		if _, isCode := percentCode(s[i:]); isCode {
			i += 2
		}
		i++
	}
	return append(places, len(s))
}

func percentCode(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	hi, ok1 := hexDigit(s[1])
	lo, ok2 := hexDigit(s[2])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
