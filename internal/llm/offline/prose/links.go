package prose

import (
	"strings"
)

// Inline cleans a line of Markdown: pictures, tags and links that lead nowhere from
// another page are reduced to their words.
func Inline(s string, refs map[string]string) string {
	s = seen(s)
	s = outsideCode(s, func(s string) string {
		s = picture().ReplaceAllString(s, "")
		s = breaks().ReplaceAllString(s, " ")
		s = anchor().ReplaceAllStringFunc(s, func(a string) string {
			m := anchor().FindStringSubmatch(a)
			return Link(strings.TrimSpace(tag().ReplaceAllString(m[2], "")), m[1])
		})
		s = auto().ReplaceAllStringFunc(s, func(a string) string {
			if to := strings.Trim(a, "<>"); valid(to) {
				return "\x01" + to + "\x02"
			}
			return CodeSpan(strings.Trim(a, "<>"))
		})
		s = tag().ReplaceAllString(s, "")
		return strings.NewReplacer("<", "&lt;", "\x01", "<", "\x02", ">").Replace(s)
	})
	s = links(s, refs)
	s = outsideCode(s, func(s string) string {
		return bare().ReplaceAllStringFunc(s, func(a string) string {
			if lead := a[:strings.Index(a, "http")]; !valid(a[len(lead):]) {
				return lead + CodeSpan(a[len(lead):])
			}
			return a
		})
	})
	return strings.TrimSpace(strings.Join(strings.Fields(s), " "))
}

var (
	rustPath = lazily(`^[A-Za-z_]\w*(?:::\w+)+(?:\(\))?!?$`)
	bare     = lazily(`(?:^|[\s*_])https?://[A-Za-z0-9][^\s<>"'\x60\\|{}()\[\]]*[A-Za-z0-9/#=_-]`)
	picture  = lazily(`!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])`)
	breaks   = lazily(`(?i)<br\s*/?>`)
	anchor   = lazily(`(?is)<a\s[^>]*?href\s*=\s*["']([^"']*)["'][^>]*>(.*?)</a\s*>`)
	auto     = lazily(`<((?:https?://|mailto:)[^\s<>]+)>`)
	tag      = lazily(`</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?>`)
)

// links rewrites [words](address), [words][ref] and [words] with a definition.
func links(s string, refs map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch s[i] {
		case '\\':
			n := min(2, len(s)-i)
			b.WriteString(s[i : i+n])
			i += n
			continue
		case '`':
			n := i
			for n < len(s) && s[n] == '`' {
				n++
			}
			end := closing(s[n:], n-i)
			if end < 0 {
				end = 0
			} else {
				end += n - i
			}
			b.WriteString(s[i : n+end])
			i = n + end
			continue
		case '[':
			if words, url, n, ok := linkAt(s[i:], refs); ok {
				b.WriteString(Link(words, url))
				i += n
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// linkAt reads a link at the beginning of a text, and how long it is.
func linkAt(s string, refs map[string]string) (words, url string, n int, ok bool) {
	depth, end := 0, -1
	for i := 0; i < len(s) && end < 0; i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				end = i
			}
		}
	}
	if end < 0 {
		return "", "", 0, false
	}
	words = strings.TrimSpace(s[1:end])
	rest := s[end+1:]
	key := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	switch {
	case strings.HasPrefix(rest, "("):
		close := strings.IndexByte(rest, ')')
		if close < 0 {
			return "", "", 0, false
		}
		target := strings.Fields(strings.Trim(rest[1:close], "<> "))
		if len(target) > 0 {
			url = target[0]
		}
		return links(words, refs), url, end + 1 + close + 1, true
	case strings.HasPrefix(rest, "["):
		close := strings.IndexByte(rest, ']')
		if close < 0 {
			return "", "", 0, false
		}
		ref := rest[1:close]
		if ref == "" {
			ref = words
		}
		return words, refs[key(ref)], end + 1 + close + 1, true
	}
	if url, ok = refs[key(words)]; ok {
		return words, url, end + 1, true
	}
	// [`Name`] and [path::to::name] of rustdoc are links to items.
	if strings.HasPrefix(words, "`") && strings.HasSuffix(words, "`") {
		return words, "", end + 1, true
	}
	if rustPath().MatchString(words) {
		return CodeSpan(words), "", end + 1, true
	}
	return "", "", 0, false
}
