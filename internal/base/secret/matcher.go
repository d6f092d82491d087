package secret

import "strings"

// prefixLen sets how many bytes of a pattern are hashed, and bucketLen how many tell it from
// others: keys of one kind begin alike. No pattern is shorter, since no value is.
const prefixLen, bucketLen = 4, MinValue

// matcher finds many patterns in one pass: a bit for the hash of the next four
// bytes reports whether any pattern can begin here, which is nearly always no.
type matcher struct {
	may      [1 << 16 / 64]uint64
	byPrefix map[string][]pattern
}

// newMatcher returns nil if there is nothing to look for.
func newMatcher(patterns []pattern) *matcher {
	m := &matcher{byPrefix: map[string][]pattern{}}
	for _, p := range patterns {
		if len(p.text) < bucketLen {
			continue
		}
		x := prefixAt(p.text, 0)
		h := hashPrefix(x)
		m.may[h/64] |= 1 << (h % 64)
		m.byPrefix[p.text[:bucketLen]] = append(m.byPrefix[p.text[:bucketLen]], p)
	}
	if len(m.byPrefix) == 0 {
		return nil
	}
	return m
}

// find appends a span for every occurrence, overlapping ones included.
func (m *matcher) find(s string, spans []span) []span {
	if len(s) < prefixLen {
		return spans
	}
	x := prefixAt(s, 0) << 8
	for end := prefixLen - 1; end < len(s); end++ {
		x = x>>8 | uint32(s[end])<<24
		h := hashPrefix(x)
		if m.may[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		i := end + 1 - prefixLen
		if i+bucketLen > len(s) {
			return spans
		}
		for _, p := range m.byPrefix[s[i:i+bucketLen]] {
			if strings.HasPrefix(s[i:], p.text) {
				spans = append(spans, p.spanAt(s, i))
			}
		}
	}
	return spans
}

// spanAt returns the pattern's place when it begins at i, with the characters that
// hold some bits of it, and the padding behind them.
func (p pattern) spanAt(s string, i int) span {
	from, to := i, i+len(p.text)
	if p.before && from > 0 && isBase64(s[from-1]) {
		from--
	}
	if p.after && to < len(s) && isBase64(s[to]) {
		to++
		for n := 0; n < 2 && to < len(s) && s[to] == '='; n++ {
			to++
		}
	}
	return span{from, to, p.label}
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '+' || c == '/' || c == '-' || c == '_'
}

func prefixAt(s string, i int) uint32 {
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}

func hashPrefix(x uint32) uint32 { return x * 0x9E3779B1 >> 16 }
