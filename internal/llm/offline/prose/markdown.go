package prose

import (
	"strings"
)

// markdown reads the Markdown of a README or of rustdoc, where code without a language is
// of the one given.
func markdown(text, language string) []Block {
	text = htmlComment().ReplaceAllString(text, "")
	refs, text := references(text)
	var out []Block
	for _, p := range fenced(text) {
		if p.code {
			code, lang := p.text, p.language
			if language == "rust" && rustCode(lang) {
				code, lang = unhide(code), "rust"
			}
			if lang == "" {
				lang = guess(code)
			}
			out = append(out, Block{Kind: Code, Text: code, Language: lang})
			continue
		}
		out = append(out, markdownBlocks(p.text, language, refs)...)
	}
	return out
}

var htmlComment = lazily(`(?s)<!--.*?(?:-->|$)`)

// rustCode says whether what stands behind a fence means Rust.
func rustCode(info string) bool {
	switch info {
	case "", "rust", "no_run", "ignore", "should_panic", "compile_fail", "edition2015", "edition2018", "edition2021", "edition2024":
		return true
	}
	return false
}

// unhide drops the lines that rustdoc does not show.
func unhide(code string) string {
	var out []string
	for line := range strings.SplitSeq(code, "\n") {
		t := strings.TrimLeft(line, " ")
		if t == "#" || strings.HasPrefix(t, "# ") {
			continue
		}
		out = append(out, strings.Replace(line, "##", "#", strings.Count(t, "##")&1))
	}
	return strings.Join(out, "\n")
}

// references takes the definitions of links out of a text.
func references(text string) (map[string]string, string) {
	refs := map[string]string{}
	text = definition().ReplaceAllStringFunc(text, func(s string) string {
		m := definition().FindStringSubmatch(s)
		refs[strings.ToLower(strings.Join(strings.Fields(m[1]), " "))] = m[2]
		return ""
	})
	return refs, text
}

var definition = lazily(`(?m)^ {0,3}\[([^\]\n]+)\]:[ \t]*<?([^\s>]+)>?(?:[ \t]+["'(][^\n]*)?[ \t]*$`)

// markdownBlocks reads what stands between fences.
func markdownBlocks(text, language string, refs map[string]string) []Block {
	lines := strings.Split(text, "\n")
	var out []Block
	var para []string
	flush := func() {
		if s := Inline(strings.Join(para, " "), refs); strings.TrimSpace(s) != "" {
			out = append(out, Block{Kind: Paragraph, Text: s})
		}
		para = nil
	}
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		bare := strings.TrimSpace(line)
		switch {
		case bare == "":
			flush()
		case len(para) == 0 && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			var code []string
			for ; i < len(lines) && (strings.TrimSpace(lines[i]) == "" || strings.HasPrefix(lines[i], "    ") || strings.HasPrefix(lines[i], "\t")); i++ {
				code = append(code, strings.TrimPrefix(strings.TrimPrefix(lines[i], "\t"), "    "))
			}
			i--
			body := strings.TrimRight(strings.Join(code, "\n"), "\n ")
			lang := language
			if lang == "" {
				lang = guess(body)
			}
			out = append(out, Block{Kind: Code, Text: body, Language: lang})
		case atx().MatchString(line):
			flush()
			m := atx().FindStringSubmatch(line)
			out = append(out, Block{Kind: Heading, Text: Inline(m[2], refs), Level: len(m[1])})
		case len(para) > 0 && setext().MatchString(line):
			words := Inline(strings.Join(para, " "), refs)
			para = nil
			level := 1
			if bare[0] == '-' {
				level = 2
			}
			out = append(out, Block{Kind: Heading, Text: words, Level: level})
		case rule().MatchString(line):
			flush()
		case item().MatchString(line):
			flush()
			var list []string
			for ; i < len(lines) && (item().MatchString(lines[i]) || continued(lines, i)); i++ {
				list = append(list, lines[i])
			}
			i--
			out = append(out, Block{Kind: List, Text: listLines(list, refs)})
		case strings.HasPrefix(bare, ">"):
			flush()
			var quoted []string
			for ; i < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i]), ">"); i++ {
				q := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines[i]), ">"))
				if !alert().MatchString(q) {
					quoted = append(quoted, q)
				}
			}
			i--
			if s := Inline(strings.Join(quoted, " "), refs); s != "" {
				out = append(out, Block{Kind: Quote, Text: "> " + Wrap(guard(strings.TrimLeft(s, "# ")), "> ")})
			}
		case strings.Contains(line, "|") && i+1 < len(lines) && dashes().MatchString(lines[i+1]):
			flush()
			var rows []string
			for ; i < len(lines) && strings.Contains(lines[i], "|"); i++ {
				rows = append(rows, lines[i])
			}
			i--
			out = append(out, Block{Kind: Table, Text: tableRows(rows, refs)})
		default:
			para = append(para, bare)
		}
	}
	flush()
	return out
}

var (
	atx    = lazily(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$`)
	setext = lazily(`^ {0,3}(?:=+|-{2,})[ \t]*$`)
	rule   = lazily(`^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|={3,})$`)
	item   = lazily(`^( {0,7})([-*+•]|\\\*|\d{1,3}[.)])[ \t]+(\S.*)$`)
	dashes = lazily(`^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
	alert  = lazily(`^\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]$`)
)

// continued says whether a line goes on with the item before it.
func continued(lines []string, i int) bool {
	if strings.TrimSpace(lines[i]) != "" {
		return !atx().MatchString(lines[i]) && (strings.HasPrefix(lines[i], "  ") || strings.HasPrefix(lines[i], "\t") || i > 0 && strings.TrimSpace(lines[i-1]) != "")
	}
	return i+1 < len(lines) && (item().MatchString(lines[i+1]) || strings.HasPrefix(lines[i+1], "  ") && strings.TrimSpace(lines[i+1]) != "")
}

// listLines writes a list anew: one mark for all items, two levels at most.
func listLines(lines []string, refs map[string]string) string {
	var out []string
	var now []string
	mark, indent := "", ""
	flush := func() {
		if s := Inline(strings.Join(now, " "), refs); s != "" && mark != "" {
			out = append(out, indent+mark+Wrap(guard(s), indent+strings.Repeat(" ", len(mark))))
		}
		now = nil
	}
	outer, above := -1, 0 // how far the first item is in, how long its mark is
	for _, line := range lines {
		m := item().FindStringSubmatch(line)
		if m == nil {
			now = append(now, strings.TrimSpace(line))
			continue
		}
		flush()
		if outer < 0 {
			outer = len(m[1])
		}
		if mark = "- "; m[2][0] >= '0' && m[2][0] <= '9' {
			mark = strings.TrimRight(m[2], ".)") + ". "
		}
		if indent = ""; len(m[1]) > outer+1 && above > 0 {
			indent = strings.Repeat(" ", above)
		} else {
			above = len(mark)
		}
		now = []string{m[3]}
	}
	flush()
	return strings.Join(out, "\n")
}
