package text

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// AppendQuoted appends a text as a string of JSON, as RFC 8785 writes it: what need not be escaped is not.
// It is false, and nothing was appended, for what is no UTF-8. Long conversations are sent with every
// step: eight bytes are looked at in one go.
func AppendQuoted(b []byte, s string) ([]byte, bool) {
	plain := run(s, highBits)
	if plain < len(s) && !utf8.ValidString(s[plain:]) {
		return b, false
	}
	b = append(append(b, '"'), s[:plain]...)
	for s = s[plain:]; s != ""; s = s[1:] {
		n := run(s, 0)
		if b = append(b, s[:n]...); n == len(s) {
			break
		}
		s = s[n:]
		switch c := s[0]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(b, '"'), true
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// run counts the bytes before the first that is escaped in JSON, or is above ASCII where also has the
// high bits.
func run(s string, also uint64) int {
	i := 0
	for bytes := unsafe.Slice(unsafe.StringData(s), len(s)); len(s)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(bytes[i:])
		// A byte's high bit is set where the byte is below 0x20, or zero but for the quote or the backslash. One that
		// borrowed from a byte before it may have it too: the first is always right.
		quote, slash := w^'"'*lowBits, w^'\\'*lowBits
		found := (w-0x20*lowBits)&^w | (quote-lowBits)&^quote | (slash-lowBits)&^slash
		if found = found&highBits | w&also; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c&0x80 != 0 && also != 0 {
			break
		}
	}
	return i
}
