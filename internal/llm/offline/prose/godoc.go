package prose

import (
	"go/doc/comment"
	"slices"
	"strings"
)

// goDoc reads a doc comment. Blocks between fences are code, as many write them.
func goDoc(text string) []Block {
	var out []Block
	for _, p := range fenced(text) {
		if p.code {
			out = append(out, Block{Kind: Code, Text: p.text, Language: p.language})
			continue
		}
		parser := comment.Parser{LookupSym: func(string, string) bool { return true }}
		for _, b := range parser.Parse(p.text).Content {
			if p, ok := b.(*comment.Paragraph); ok {
				out = append(out, looseList(spans(p.Text))...)
				continue
			}
			out = append(out, goBlock(b))
		}
	}
	return out
}

func goBlock(b comment.Block) Block {
	switch b := b.(type) {
	case *comment.Heading:
		return Block{Kind: Heading, Text: oneSpace(spans(b.Text)), Level: 3}
	case *comment.Code:
		return Block{Kind: Code, Text: b.Text, Language: guess(b.Text)}
	case *comment.List:
		var items []string
		for _, item := range b.Items {
			mark := "- "
			if item.Number != "" {
				mark = strings.TrimSpace(item.Number) + ". "
			}
			var parts []string
			for _, c := range item.Content {
				if p, ok := c.(*comment.Paragraph); ok {
					parts = append(parts, Wrap(spans(p.Text), "   "))
				}
			}
			items = append(items, mark+strings.ReplaceAll(strings.Join(parts, "\n\n   "), "\n   ", "\n"+strings.Repeat(" ", len(mark))))
		}
		return Block{Kind: List, Text: strings.Join(items, "\n")}
	case *comment.Paragraph:
		return Block{Kind: Paragraph, Text: oneSpace(spans(b.Text))}
	}
	return Block{}
}

// looseList finds a list that was written without the indent that makes it one.
func looseList(text string) []Block {
	lines := strings.Split(text, "\n")
	for i := range lines {
		if looseItem().MatchString(lines[i]) && (i > 0 && strings.HasSuffix(strings.TrimSpace(lines[i-1]), ":") || i+1 < len(lines) && slices.ContainsFunc(lines[i+1:], looseItem().MatchString)) {
			return []Block{{Text: oneSpace(strings.Join(lines[:i], " "))}, {Kind: List, Text: listLines(lines[i:], nil)}}
		}
	}
	return []Block{{Text: oneSpace(text)}}
}

var looseItem = lazily(`^ {0,3}(?:[-+•]|\\\*|\d{1,2}[.)]) +\S`)

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// spans joins the pieces of a paragraph; its lines stay.
func spans(all []comment.Text) string {
	var b strings.Builder
	var plain strings.Builder
	flush := func() {
		b.WriteString(Escape(plain.String()))
		plain.Reset()
	}
	for _, t := range all {
		switch t := t.(type) {
		case comment.Plain:
			plain.WriteString(string(t))
		case comment.Italic:
			plain.WriteString(string(t))
		case *comment.Link:
			if t.Auto {
				plain.WriteString(t.URL)
				continue
			}
			flush()
			b.WriteString(Link(oneSpace(spans(t.Text)), t.URL))
		case *comment.DocLink:
			flush()
			b.WriteString(CodeSpan(words(t.Text)))
		}
	}
	flush()
	return b.String()
}

func words(all []comment.Text) string {
	var b strings.Builder
	for _, t := range all {
		switch t := t.(type) {
		case comment.Plain:
			b.WriteString(string(t))
		case comment.Italic:
			b.WriteString(string(t))
		}
	}
	return b.String()
}

// Link points to an address of the web; anything else is only its words.
func Link(words, url string) string {
	if !web().MatchString(url) || !valid(url) || strings.TrimSpace(words) == "" {
		return words
	}
	return "[" + words + "](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(url) + ")"
}

var web = lazily(`^(?:https?://[A-Za-z0-9]|mailto:[A-Za-z0-9])[^\s<>"'\x60\\]*$`)

// piece is a part of a text: code between fences, or what stands between.
type piece struct {
	text, language string
	code           bool
}

// fenced cuts a text at its fences. One that is not closed goes to the end.
func fenced(text string) []piece {
	var out []piece
	var now []string
	mark, language := "", ""
	flush := func(code bool) {
		if len(now) > 0 {
			out = append(out, piece{strings.Join(now, "\n"), language, code})
		}
		now = nil
	}
	indent := ""
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimLeft(line, " \t")
		m := fenceLine().FindStringSubmatch(trimmed)
		switch {
		case mark == "" && m != nil && !(m[1][0] == '`' && strings.Contains(m[2], "`")):
			flush(false)
			mark, indent = m[1], line[:len(line)-len(trimmed)]
			info := strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune(" ,{\t", r) })
			if language = ""; len(info) > 0 {
				language = info[0]
			}
		case mark != "" && m != nil && strings.HasPrefix(m[1], mark) && strings.TrimSpace(m[2]) == "":
			flush(true)
			mark, language = "", ""
		case mark != "":
			now = append(now, strings.TrimPrefix(line, indent))
		default:
			now = append(now, line)
		}
	}
	flush(mark != "")
	return out
}

var fenceLine = lazily("^(`{3,}|~{3,})[ \t]*(.*)$")

// guess tells the language of an indented block, where that is safe.
func guess(code string) string {
	switch {
	case goLine().MatchString(code):
		return "go"
	case shellLine().MatchString(code):
		return "sh"
	}
	return "text"
}

var (
	goLine    = lazily(`(?m)^\s*(?:func |package |import [("]|type \w+ (?:struct|interface)|var \w+ |if .*\{$|for .*\{$|return\b|defer )|:= |\berr != nil`)
	shellLine = lazily(`^\s*(?:[$%] \w|(?:sudo )?(?:go (?:get|install|build|run|test|mod)|npm (?:i|install|run|test)|npx|yarn (?:add|install)|pnpm (?:add|install)|pip3? install|python3? -m|cargo (?:add|install|build|run|test)|git clone|brew install|apt(?:-get)? install|make|docker run|curl)\b)`)
)
