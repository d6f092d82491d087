package secret

import (
	"slices"
	"strings"
)

const (
	open     = "[redacted:"
	nameless = "secret" // where a name is missing, or would itself give a value away
	maxName  = 64
)

// markerFor returns the text that replaces a secret.
func markerFor(name string) string {
	clean := func(c byte) byte {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
			return c
		}
		return '_'
	}
	b := []byte(name[:min(len(name), maxName)])
	for i := range b {
		b[i] = clean(b[i])
	}
	if len(b) == 0 {
		return open + nameless + "]"
	}
	return open + string(b) + "]"
}

func containedIn(text string, markers []string) bool {
	return slices.ContainsFunc(markers, func(m string) bool { return strings.Contains(m, text) })
}

// span is a piece of a text that has to go.
type span struct {
	from, to int
	label    string // the marker that replaces it
}

// replaceSpans puts markers in place of the spans. Known markers in s are treated
// as one unit: a span within one is no secret, a span that touches one takes
// all of it. Markers that are not known are text like any other: a secret must
// not hide in something that looks like a marker.
func replaceSpans(s string, spans []span, markers []string) string {
	if len(spans) == 0 {
		return s
	}
	spans = respectUnits(spans, unitsIn(s, markers))
	if len(spans) == 0 {
		return s
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		if a.to != b.to {
			return b.to - a.to
		}
		return strings.Compare(a.label, b.label)
	})
	var out strings.Builder
	done := 0 // s[:done] is written or dropped
	for i := 0; i < len(spans); {
		whole := spans[i]
		for i++; i < len(spans) && spans[i].from < whole.to; i++ {
			whole.to = max(whole.to, spans[i].to)
		}
		out.WriteString(s[done:whole.from])
		out.WriteString(whole.label)
		done = whole.to
	}
	out.WriteString(s[done:])
	return out.String()
}

// unitsIn finds the known markers in s, in order.
func unitsIn(s string, markers []string) []span {
	var units []span
	for at := 0; ; {
		i := strings.Index(s[at:], open)
		if i < 0 {
			return units
		}
		at += i
		longest := s[at:min(len(s), at+len(open)+maxName+1)]
		end := strings.IndexByte(longest, ']') + 1
		if end > 0 && slices.Contains(markers, longest[:end]) {
			units = append(units, span{from: at, to: at + end})
			at += end
		} else {
			at += len(open)
		}
	}
}

func respectUnits(spans, units []span) []span {
	if len(units) == 0 {
		return spans
	}
	var out []span
	for _, sp := range spans {
		// The first unit that ends after the span begins.
		i, _ := slices.BinarySearchFunc(units, sp.from, func(u span, from int) int {
			if u.to <= from {
				return -1
			}
			return 1
		})
		inside := i < len(units) && units[i].from <= sp.from && sp.to <= units[i].to
		if inside {
			continue
		}
		for ; i < len(units) && units[i].from < sp.to; i++ {
			sp.from, sp.to = min(sp.from, units[i].from), max(sp.to, units[i].to)
		}
		out = append(out, sp)
	}
	return out
}
