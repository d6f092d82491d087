package secrets

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// maker makes texts that an expression matches.
type maker struct {
	random *rand.Rand
	text   string // the expression, for the case of its letters
}

// fewer to more is how often something is repeated, beyond the least, where there is no
// limit.
const fewer, more = 8, 24

// capture is the part of an expression that is the n-th group.
func capture(e *syntax.Regexp, n int) *syntax.Regexp {
	if e.Op == syntax.OpCapture && e.Cap == n {
		return e
	}
	for _, sub := range e.Sub {
		if c := capture(sub, n); c != nil {
			return c
		}
	}
	return nil
}

func (m *maker) make(e *syntax.Regexp) string {
	switch e.Op {
	case syntax.OpLiteral:
		return m.literal(e)
	case syntax.OpCharClass:
		return m.oneOf(e.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "." // a dot that should have been escaped, where it is not repeated
	case syntax.OpStar:
		return m.repeat(e.Sub[0], 0, -1)
	case syntax.OpPlus:
		return m.repeat(e.Sub[0], 1, -1)
	case syntax.OpQuest:
		return m.repeat(e.Sub[0], 0, 1)
	case syntax.OpRepeat:
		return m.repeat(e.Sub[0], e.Min, e.Max)
	case syntax.OpAlternate:
		return m.make(e.Sub[m.random.IntN(len(e.Sub))])
	case syntax.OpConcat, syntax.OpCapture:
		var b strings.Builder
		for _, sub := range e.Sub {
			b.WriteString(m.make(sub))
		}
		return b.String()
	}
	return "" // the edges of words and of lines
}

// literal writes letters as the expression does: where case is ignored, the parsed form
// has capitals.
func (m *maker) literal(e *syntax.Regexp) string {
	text := string(e.Rune)
	if e.Flags&syntax.FoldCase == 0 {
		return text
	}
	if i := strings.Index(strings.ToLower(m.text), strings.ToLower(text)); i >= 0 {
		return m.text[i : i+len(text)]
	}
	return strings.ToLower(text)
}

// oneOf is a character of a class: a letter, a digit or a sign in ASCII; one of the
// class's own where it has none of those.
func (m *maker) oneOf(ranges []rune) string {
	var all, plain []rune
	for i := 0; i < len(ranges); i += 2 {
		for r := max(ranges[i], '\t'); r <= min(ranges[i+1], '~'); r++ {
			all = append(all, r)
			if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-+/.=", r) {
				plain = append(plain, r)
			}
		}
	}
	if len(plain) > 0 {
		all = plain
	}
	if len(all) == 4 && all[0]|0x20 == all[2] && all[1]|0x20 == all[3] {
		all = all[2:] // two letters where case is ignored: they are meant as they are written
	}
	return string(all[m.random.IntN(len(all))])
}

func (m *maker) repeat(e *syntax.Regexp, least, most int) string {
	if most < 0 {
		least, most = least+fewer, least+more
	}
	if e.Op == syntax.OpAnyChar || e.Op == syntax.OpAnyCharNotNL {
		e = &syntax.Regexp{Op: syntax.OpCharClass, Rune: []rune{'a', 'z', '0', '9'}}
	}
	var b strings.Builder
	for range least + m.random.IntN(most-least+1) {
		b.WriteString(m.make(e))
	}
	return b.String()
}
