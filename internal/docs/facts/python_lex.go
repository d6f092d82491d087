package facts

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// pyTok is a token of Python: name, string, number or operator.
type pyTok struct {
	kind     byte // n, s, 0, o
	text     string
	from, to int // offsets
}

// pyLine is a logical line: brackets and backslashes continue it.
type pyLine struct {
	indent int
	toks   []pyTok
}

func (l pyLine) is(i int, text string) bool {
	return i >= 0 && i < len(l.toks) && l.toks[i].text == text && l.toks[i].kind != 's'
}

// pyLines cuts a file into logical lines; nothing where brackets or strings do not end, so
// that a file that Python would refuse makes no claims.
func pyLines(text string) []pyLine {
	var out []pyLine
	var line pyLine
	var open []byte
	start := true // of a logical line
	for at := 0; at < len(text); {
		c := text[at]
		switch {
		case c == '\n':
			at++
			if len(open) > 0 {
				continue
			}
			if len(line.toks) > 0 {
				out = append(out, line)
			}
			line, start = pyLine{}, true
		case c == '\\' && at+1 < len(text) && (text[at+1] == '\n' || text[at+1] == '\r'):
			at += 2
			if text[at-1] == '\r' && at < len(text) && text[at] == '\n' {
				at++
			}
		case isSpace(c) || c == '\f':
			if start {
				if c == '\t' {
					line.indent = line.indent/8*8 + 8
				} else if c == ' ' {
					line.indent++
				}
			}
			at++
		case c == '#':
			at = lineEnd(text, at)
		default:
			start = false
			tok, ok := pyToken(text, at)
			if !ok {
				return nil
			}
			switch tok.text {
			case "(", "[", "{":
				if tok.kind == 'o' {
					open = append(open, tok.text[0])
				}
			case ")", "]", "}":
				if tok.kind == 'o' {
					if len(open) == 0 {
						return nil
					}
					open = open[:len(open)-1]
				}
			}
			line.toks = append(line.toks, tok)
			at = tok.to
		}
	}
	if len(open) > 0 {
		return nil
	}
	if len(line.toks) > 0 {
		out = append(out, line)
	}
	return out
}

func pyToken(text string, at int) (pyTok, bool) {
	c := text[at]
	end := at
	switch {
	case isLetter(c):
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end])) {
			end++
		}
		if end < len(text) && (text[end] == '"' || text[end] == '\'') && end-at <= 2 && strings.Trim(text[at:end], "rRbBuUfFtT") == "" {
			return pyQuoted(text, at, end)
		}
		return pyTok{'n', text[at:end], at, end}, true
	case isDigit(c):
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end]) || text[end] == '.') {
			end++
		}
		return pyTok{'0', text[at:end], at, end}, true
	case c == '"' || c == '\'':
		return pyQuoted(text, at, at)
	}
	for _, op := range []string{"...", "->", "**", "//", ":=", "==", "!=", "<=", ">=", "+="} {
		if strings.HasPrefix(text[at:], op) {
			return pyTok{'o', op, at, at + len(op)}, true
		}
	}
	return pyTok{'o', text[at : at+1], at, at + 1}, true
}

// pyQuoted reads a string whose quotes begin at q.
func pyQuoted(text string, at, q int) (pyTok, bool) {
	mark := text[q : q+1]
	if strings.HasPrefix(text[q:], mark+mark+mark) {
		mark = text[q : q+3]
	}
	for i := q + len(mark); i < len(text); {
		switch {
		case text[i] == '\\':
			i += 2
		case strings.HasPrefix(text[i:], mark):
			return pyTok{'s', text[at : i+len(mark)], at, i + len(mark)}, true
		case text[i] == '\n' && len(mark) == 1:
			return pyTok{}, false
		default:
			i++
		}
	}
	return pyTok{}, false
}

// pyValue is the text of a string literal that is written out: no bytes, no f-string.
func pyValue(tok pyTok) (string, bool) {
	if tok.kind != 's' {
		return "", false
	}
	q := strings.IndexAny(tok.text, `"'`)
	prefix := strings.ToLower(tok.text[:q])
	if strings.ContainsAny(prefix, "bft") {
		return "", false
	}
	n := 1
	if len(tok.text) >= q+6 && strings.Repeat(tok.text[q:q+1], 3) == tok.text[q:q+3] {
		n = 3
	}
	body := tok.text[q+n : len(tok.text)-n]
	if strings.Contains(prefix, "r") || !strings.Contains(body, `\`) {
		return body, true
	}
	return pyUnescape(body), true
}

func pyUnescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '\n':
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'x', 'u', 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if i+n < len(s) {
				if r, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32); err == nil && utf8.ValidRune(rune(r)) {
					b.WriteRune(rune(r))
					i += n
					continue
				}
			}
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// pyText joins neighbouring string literals, as Python does.
func pyText(toks []pyTok) (string, bool) {
	toks = pyInner(toks)
	var b strings.Builder
	for _, t := range toks {
		if t.kind == 'o' && t.text == "+" {
			continue
		}
		s, ok := pyValue(t)
		if !ok {
			return "", false
		}
		b.WriteString(s)
	}
	return b.String(), len(toks) > 0
}

// pyInner takes away parentheses around the whole.
func pyInner(toks []pyTok) []pyTok {
	for len(toks) > 2 && toks[0].text == "(" && toks[len(toks)-1].text == ")" && pyClose(toks, 0) == len(toks)-1 {
		toks = toks[1 : len(toks)-1]
	}
	return toks
}

// pyClose is the index of the bracket that closes the one at i, or the end.
func pyClose(toks []pyTok, i int) int {
	depth := 0
	for ; i < len(toks); i++ {
		if toks[i].kind != 'o' {
			continue
		}
		switch toks[i].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(toks)
}

// pySplit cuts at a mark outside of brackets.
func pySplit(toks []pyTok, mark string) [][]pyTok {
	var out [][]pyTok
	depth, start := 0, 0
	for i, t := range toks {
		if t.kind != 'o' {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case mark:
			if depth == 0 {
				out = append(out, toks[start:i])
				start = i + 1
			}
		}
	}
	if start < len(toks) {
		out = append(out, toks[start:])
	}
	return out
}

// pyArg is an argument of a call.
type pyArg struct {
	name string // of a keyword argument
	toks []pyTok
}

// pyArgs reads the arguments of the call whose parenthesis stands at i.
func pyArgs(toks []pyTok, i int) []pyArg {
	if i >= len(toks) || toks[i].text != "(" {
		return nil
	}
	end := pyClose(toks, i)
	var out []pyArg
	for _, part := range pySplit(toks[i+1:min(end, len(toks))], ",") {
		if len(part) > 2 && part[0].kind == 'n' && part[1].kind == 'o' && part[1].text == "=" {
			out = append(out, pyArg{part[0].text, part[2:]})
		} else if len(part) > 0 {
			out = append(out, pyArg{"", part})
		}
	}
	return out
}

// pyKeyword is the string that a keyword argument is given, or nothing.
func pyKeyword(args []pyArg, name string) string {
	for _, a := range args {
		if a.name == name {
			s, _ := pyText(a.toks)
			return s
		}
	}
	return ""
}

// pySpell writes tokens as one piece with the spaces of the source, but no comments.
func pySpell(text string, toks []pyTok) string {
	var b strings.Builder
	for i, t := range toks {
		if i > 0 && toks[i-1].to < t.from {
			b.WriteByte(' ')
		}
		if t.kind == 's' {
			b.WriteString(oneLine(t.text, 200))
		} else {
			b.WriteString(t.text)
		}
	}
	return squeeze(b.String())
}
