package facts

import "strings"

// rsTok is a token of Rust.
type rsTok struct {
	kind     byte // n name, s string, c char, l lifetime, 0 number, p punctuation, d doc of what follows, i doc of what is around
	text     string
	from, to int
}

// rsCode is a file as tokens, with the brackets that belong together.
type rsCode struct {
	text  string
	toks  []rsTok
	match []int
}

// lexRust cuts a file into tokens; nil where brackets, strings or comments do not end.
func lexRust(text string) *rsCode {
	c := &rsCode{text: text}
	at := 0
	if strings.HasPrefix(text, "#!") && !strings.HasPrefix(text, "#![") {
		at = lineEnd(text, 0)
	}
	for at < len(text) {
		if isSpace(text[at]) || text[at] == '\f' {
			at++
			continue
		}
		tok, ok := rsToken(text, at)
		if !ok {
			return nil
		}
		if tok.kind != 0 {
			c.toks = append(c.toks, tok)
		}
		at = tok.to
	}
	c.match = make([]int, len(c.toks))
	var open []int
	for i, t := range c.toks {
		c.match[i] = i
		if t.kind != 'p' {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			if len(open) == 0 {
				return nil
			}
			o := open[len(open)-1]
			open = open[:len(open)-1]
			if pair := c.toks[o].text + t.text; pair != "()" && pair != "[]" && pair != "{}" {
				return nil
			}
			c.match[o], c.match[i] = i, o
		}
	}
	if len(open) > 0 {
		return nil
	}
	return c
}

// rsToken reads one token; kind 0 is a comment.
func rsToken(text string, at int) (rsTok, bool) {
	tok := func(kind byte, end int) (rsTok, bool) { return rsTok{kind, text[at:end], at, end}, true }
	rest := text[at:]
	switch b := text[at]; {
	case strings.HasPrefix(rest, "//"):
		end := lineEnd(text, at)
		switch {
		case strings.HasPrefix(rest, "//!"):
			return tok('i', end)
		case strings.HasPrefix(rest, "///") && !strings.HasPrefix(rest, "////"):
			return tok('d', end)
		}
		return rsTok{to: end}, true
	case strings.HasPrefix(rest, "/*"):
		depth, i := 0, at
		for i < len(text) {
			switch {
			case strings.HasPrefix(text[i:], "/*"):
				depth++
				i += 2
			case strings.HasPrefix(text[i:], "*/"):
				depth--
				i += 2
			default:
				i++
			}
			if depth == 0 {
				switch {
				case strings.HasPrefix(rest, "/*!"):
					return tok('i', i)
				case strings.HasPrefix(rest, "/**") && !strings.HasPrefix(rest, "/***") && i-at > 4:
					return tok('d', i)
				}
				return rsTok{to: i}, true
			}
		}
		return rsTok{}, false
	case isLetter(b):
		end := at
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end])) {
			end++
		}
		word := text[at:end]
		if end < len(text) {
			switch {
			case (word == "r" || word == "br" || word == "cr") && (text[end] == '"' || text[end] == '#'):
				if stop, ok := rawEnd(text, end); ok {
					return tok('s', stop)
				}
			case (word == "b" || word == "c") && text[end] == '"':
				return rsQuoted(text, at, end)
			case word == "b" && text[end] == '\'':
				if stop := charEnd(text, end); stop > 0 {
					return tok('c', stop)
				}
			}
		}
		return tok('n', end)
	case isDigit(b):
		end := at
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end]) || text[end] == '.' && end+1 < len(text) && isDigit(text[end+1])) {
			end++
		}
		return tok('0', end)
	case b == '"':
		return rsQuoted(text, at, at)
	case b == '\'':
		if stop := charEnd(text, at); stop > 0 {
			return tok('c', stop)
		}
		end := at + 1
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end])) {
			end++
		}
		return tok('l', end)
	}
	for _, op := range []string{"...", "..=", "->", "=>", "::", "..", "==", "<=", ">=", "!=", "&&", "||"} {
		if strings.HasPrefix(rest, op) {
			return tok('p', at+len(op))
		}
	}
	return tok('p', at+1)
}

func rsQuoted(text string, at, q int) (rsTok, bool) {
	for i := q + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return rsTok{'s', text[at : i+1], at, i + 1}, true
		}
	}
	return rsTok{}, false
}

// rawEnd is behind r#"…"#, from its first # or quote.
func rawEnd(text string, at int) (int, bool) {
	n := 0
	for at+n < len(text) && text[at+n] == '#' {
		n++
	}
	if at+n >= len(text) || text[at+n] != '"' {
		return 0, false // r#name
	}
	end := strings.Index(text[at+n+1:], `"`+strings.Repeat("#", n))
	if end < 0 {
		return 0, false
	}
	return at + n + 1 + end + 1 + n, true
}

// charEnd is behind a character, or 0 for a lifetime.
func charEnd(text string, at int) int {
	if at+2 >= len(text) {
		return 0
	}
	if text[at+1] == '\\' {
		end := strings.IndexByte(text[at+3:min(len(text), at+16)], '\'')
		if end < 0 {
			return 0
		}
		return at + 3 + end + 1
	}
	for n := 1; n <= 4 && at+1+n < len(text); n++ { // one rune
		if text[at+1+n] == '\'' && (n == 1 || text[at+1] >= 0x80) {
			return at + 2 + n
		}
	}
	return 0
}

func (c *rsCode) is(i int, text string) bool {
	return i >= 0 && i < len(c.toks) && c.toks[i].text == text && (c.toks[i].kind == 'n' || c.toks[i].kind == 'p')
}

func (c *rsCode) name(i int) string {
	if i >= 0 && i < len(c.toks) && c.toks[i].kind == 'n' {
		return strings.TrimPrefix(c.toks[i].text, "r#")
	}
	return ""
}

// spell writes tokens as one piece, without comments.
func (c *rsCode) spell(i, j int) string {
	var b strings.Builder
	last := -1
	for n := i; n < j && n < len(c.toks); n++ {
		t := c.toks[n]
		if t.kind == 'd' || t.kind == 'i' {
			continue
		}
		if c.is(n, "#") && c.is(n+1, "[") && c.match[n+1] < j { // an attribute
			n = c.match[n+1]
			continue
		}
		if last >= 0 && last < t.from {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
		last = t.to
	}
	return squeeze(b.String())
}

// rsString is the value of a string literal.
func rsString(t rsTok) string {
	if t.kind != 's' {
		return ""
	}
	s := strings.TrimLeft(t.text, "bcr#")
	s = strings.TrimRight(s, "#")
	if len(s) < 2 {
		return ""
	}
	s = s[1 : len(s)-1]
	if strings.HasPrefix(t.text, "r") {
		return s
	}
	for { // a line that goes on in the next
		before, after, found := strings.Cut(s, "\\\n")
		if !found {
			return pyUnescape(s)
		}
		s = before + strings.TrimLeft(after, " \t\r\n")
	}
}

// rsDocLine is the text of one doc comment.
func rsDocLine(text string) string {
	switch {
	case strings.HasPrefix(text, "///"), strings.HasPrefix(text, "//!"):
		return strings.TrimRight(strings.TrimPrefix(text[3:], " "), " \t\r")
	}
	body := strings.TrimSuffix(text[3:], "*/")
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if i > 0 {
			l = strings.TrimPrefix(strings.TrimPrefix(l, "*"), " ")
		}
		lines[i] = l
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// rsDocText makes a text of doc comments: hidden lines of examples and links to items go.
func rsDocText(lines []string) string {
	var out []string
	fence := false
	for line := range strings.SplitSeq(strings.Join(lines, "\n"), "\n") {
		if mark := strings.TrimSpace(line); strings.HasPrefix(mark, "```") {
			fence = !fence
			if info := mark[3:]; fence && (info == "" || strings.Contains("no_run ignore should_panic compile_fail edition2018 edition2021", strings.Split(info, ",")[0])) {
				line = "```rust"
			}
		} else if fence && (mark == "#" || strings.HasPrefix(mark, "# ")) {
			continue
		} else if !fence && strings.HasPrefix(mark, "#") {
			line = "**" + strings.TrimSpace(strings.TrimLeft(mark, "#")) + "**" // a heading would break the page around it
		}
		out = append(out, line)
	}
	return cleanMarkdown(intraLinks(strings.Join(out, "\n")), nil)
}

// intraLinks turns [`X`] into `X`.
func intraLinks(s string) string {
	return strings.NewReplacer("[`", "`", "`]", "`").Replace(s)
}
