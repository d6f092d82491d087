package facts

import "strings"

// jsTok is a token of JavaScript or TypeScript.
type jsTok struct {
	kind     byte // n name, s string, t template, r regular expression, 0 number, p punctuation
	text     string
	from, to int
	first    bool // on its line
	doc      span // the comment /** … */ right before it
}

// jsCode is a file as tokens, with the brackets that belong together.
type jsCode struct {
	text  string
	toks  []jsTok
	match []int // index of the partner of a bracket
	cut   bool  // a template never ends
}

// lexScript cuts a file into tokens; nil where brackets do not pair up.
func lexScript(text string) *jsCode {
	c := &jsCode{text: text}
	first := true
	var doc span
	for at := 0; at < len(text); {
		switch b := text[at]; {
		case b == '\n':
			first = true
			at++
		case isSpace(b):
			at++
		case at == 0 && strings.HasPrefix(text, "#!"), strings.HasPrefix(text[at:], "//"):
			at = lineEnd(text, at)
		case strings.HasPrefix(text[at:], "/*"):
			end := strings.Index(text[at+2:], "*/")
			if end < 0 {
				return nil
			}
			end += at + 4
			if strings.HasPrefix(text[at:], "/**") && end-at > 4 {
				doc = span{at, end}
			}
			at = end
		default:
			tok := c.token(at)
			if c.cut {
				return nil
			}
			tok.first, tok.doc = first, doc
			first, doc = false, span{}
			c.toks = append(c.toks, tok)
			at = tok.to
		}
	}
	if !c.pair() {
		return nil
	}
	return c
}

func (c *jsCode) token(at int) jsTok {
	text := c.text
	end := at
	switch b := text[at]; {
	case isLetter(b) || b == '$' || b == '#' || b == '@' && false:
		for end++; end < len(text) && (isLetter(text[end]) || isDigit(text[end]) || text[end] == '$'); {
			end++
		}
		return jsTok{kind: 'n', text: text[at:end], from: at, to: end}
	case isDigit(b):
		for end++; end < len(text) && (isLetter(text[end]) || isDigit(text[end]) || text[end] == '.'); {
			end++
		}
		return jsTok{kind: '0', text: text[at:end], from: at, to: end}
	case b == '"' || b == '\'':
		for end++; end < len(text) && text[end] != '\n'; end++ {
			if text[end] == '\\' {
				end++
			} else if text[end] == b {
				return jsTok{kind: 's', text: text[at : end+1], from: at, to: end + 1}
			}
		}
		// An apostrophe in the text of JSX.
	case b == '`':
		if end := templateEnd(text, at); end > 0 {
			return jsTok{kind: 't', text: text[at:end], from: at, to: end}
		}
		c.cut = true
	case b == '/' && c.regexAllowed():
		class := false
	scan:
		for end++; end < len(text); end++ {
			switch text[end] {
			case '\n':
				break scan
			case '\\':
				end++
			case '[':
				class = true
			case ']':
				class = false
			case '/':
				if class {
					continue
				}
				for end++; end < len(text) && isLetter(text[end]); {
					end++
				}
				return jsTok{kind: 'r', text: text[at:end], from: at, to: end}
			}
		}
	}
	for _, op := range []string{"...", "=>", "===", "!==", "==", "!=", "<=", ">=", "&&", "||", "??", "?."} {
		if strings.HasPrefix(text[at:], op) {
			return jsTok{kind: 'p', text: op, from: at, to: at + len(op)}
		}
	}
	return jsTok{kind: 'p', text: text[at : at+1], from: at, to: at + 1}
}

// regexAllowed says whether a slash begins a regular expression: where a value is expected.
func (c *jsCode) regexAllowed() bool {
	if len(c.toks) == 0 {
		return true
	}
	last := c.toks[len(c.toks)-1]
	switch last.kind {
	case 'p':
		return last.text != ")" && last.text != "]" && last.text != "}" && last.text != "<"
	case 'n':
		switch last.text {
		case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "yield", "await":
			return true
		}
	}
	return false
}

// templateEnd is the offset behind the template literal that begins at the offset.
func templateEnd(text string, at int) int {
	stack := []byte{'`'}
	for i := at + 1; i < len(text); i++ {
		inText := stack[len(stack)-1] == '`'
		switch b := text[i]; {
		case b == '\\':
			i++
		case b == '`' && inText:
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return i + 1
			}
		case b == '`':
			stack = append(stack, '`')
		case inText && b == '$' && i+1 < len(text) && text[i+1] == '{':
			stack = append(stack, '{')
			i++
		case inText:
		case b == '{':
			stack = append(stack, '{')
		case b == '}':
			stack = stack[:len(stack)-1]
		case b == '"' || b == '\'':
			for i++; i < len(text) && text[i] != b && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return 0
}

func (c *jsCode) pair() bool {
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
				return false
			}
			o := open[len(open)-1]
			open = open[:len(open)-1]
			if c.toks[o].text+t.text != "()" && c.toks[o].text+t.text != "[]" && c.toks[o].text+t.text != "{}" {
				return false
			}
			c.match[o], c.match[i] = i, o
		}
	}
	return len(open) == 0
}

// is compares a token that is not a string.
func (c *jsCode) is(i int, text string) bool {
	return i >= 0 && i < len(c.toks) && c.toks[i].kind != 's' && c.toks[i].kind != 't' && c.toks[i].text == text
}

func (c *jsCode) name(i int) string {
	if i >= 0 && i < len(c.toks) && c.toks[i].kind == 'n' {
		return c.toks[i].text
	}
	return ""
}

// str is the value of a string without escapes that matter, or of a plain template.
func (c *jsCode) str(i int) (string, bool) {
	if i < 0 || i >= len(c.toks) {
		return "", false
	}
	t := c.toks[i]
	if t.kind != 's' && (t.kind != 't' || strings.Contains(t.text, "${")) {
		return "", false
	}
	return pyUnescape(t.text[1 : len(t.text)-1]), true
}

// spell is the source of tokens from i to before j as one piece, without comments.
func (c *jsCode) spell(i, j int) string {
	var b strings.Builder
	for n := i; n < j && n < len(c.toks); n++ {
		if n > i && c.toks[n-1].to < c.toks[n].from {
			b.WriteByte(' ')
		}
		b.WriteString(c.toks[n].text)
	}
	return squeeze(b.String())
}

// jsDoc is the text of a comment /** … */ with its tags as a list.
func jsDoc(comment string) string {
	comment = strings.TrimSuffix(strings.TrimPrefix(comment, "/**"), "*/")
	var out []string
	inExample := false
	for line := range strings.SplitSeq(comment, "\n") {
		line = strings.TrimRight(line, " \t\r")
		bare := strings.TrimLeft(line, " \t")
		if after, ok := strings.CutPrefix(bare, "*"); ok {
			line = strings.TrimPrefix(after, " ")
		} else {
			line = bare
		}
		tag, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(tag, "@") {
			if inExample {
				line = "\t" + line
			}
			out = append(out, line)
			continue
		}
		if inExample = tag == "@example"; inExample {
			out = append(out, "", "Example:", "")
			if rest != "" {
				out = append(out, "\t"+rest)
			}
			continue
		}
		out = append(out, jsTag(tag, strings.TrimSpace(rest), len(out) > 0 && !strings.HasPrefix(out[len(out)-1], "- "))...)
	}
	return cleanMarkdown(inlineTags(strings.Join(out, "\n")), nil)
}

// jsTag turns a tag of JSDoc into lines of Markdown.
func jsTag(tag, rest string, apart bool) []string {
	typ := ""
	if strings.HasPrefix(rest, "{") {
		depth := 0
		for i := range len(rest) {
			if rest[i] == '{' {
				depth++
			} else if rest[i] == '}' {
				if depth--; depth == 0 {
					typ, rest = rest[1:i], strings.TrimSpace(rest[i+1:])
					break
				}
			}
		}
	}
	dressed := func(word string) []string {
		line := "- " + word
		if typ != "" {
			line += " (`" + typ + "`)"
		}
		if rest = strings.TrimSpace(strings.TrimPrefix(rest, "-")); rest != "" {
			line += ": " + rest
		}
		if apart {
			return []string{"", line}
		}
		return []string{line}
	}
	switch tag {
	case "@param", "@arg", "@argument", "@property", "@prop", "@typeParam", "@template":
		var name string
		name, rest, _ = strings.Cut(rest, " ")
		return dressed("`" + strings.Trim(name, "[]") + "`")
	case "@returns", "@return":
		if typ == "" && rest == "" {
			return nil
		}
		return dressed("Returns")
	case "@throws", "@exception":
		return dressed("Throws")
	case "@deprecated":
		return dressed("Deprecated")
	case "@description", "@desc", "@summary", "@remarks", "@fileoverview", "@file":
		return []string{rest}
	}
	return nil
}

// inlineTags takes {@link X} apart.
func inlineTags(s string) string {
	for {
		from := strings.Index(s, "{@")
		if from < 0 {
			return s
		}
		to := strings.IndexByte(s[from:], '}')
		if to < 0 {
			return s
		}
		_, body, _ := strings.Cut(s[from+2:from+to], " ")
		target, label, labelled := strings.Cut(body, "|")
		if labelled {
			target = label
		}
		target = strings.TrimSpace(target)
		if target != "" && !labelled {
			target = "`" + target + "`"
		}
		s = s[:from] + target + s[from+to+1:]
	}
}
