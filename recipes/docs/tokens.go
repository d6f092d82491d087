package docs

import (
	"strings"
	"unicode"

	"ramet/internal/base/text"
)

// evidenceToken is a piece of a statement that must be found somewhere.
type evidenceToken struct {
	code string // what it is, as the code of the finding if it is not there
	text string
	raw  string // with the marks around it that Markdown has, too: _examples/; empty: the same
}

// Link reports whether an address of a page leads to something that is there, and how that is
// called; only such links need no evidence.
type Link func(to string) (title string, ok bool)

var (
	linkForm   = text.Regexp(`(!?)\[([^\[\]]*)\]\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s+"([^"]*)")?\s*\)`)
	autoLink   = text.Regexp(`<((?:https?|ftp)://[^\s<>]+)>`)
	address    = text.Regexp(`(?:https?|ftp)://[^\s<>"` + "`" + `]+`)
	htmlForm   = text.Regexp(`<[A-Za-z/!?]`)
	entityForm = text.Regexp(`&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);`)
	escaped    = text.Regexp(`\\([!-/:-@\[-` + "`" + `{-~])`)
	plainEnt   = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&")
)

// readTokens reads a statement. hidden is what a reader would not see as it is written.
func readTokens(text string, link Link) (out []evidenceToken, hidden string) {
	for _, r := range text {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return nil, "an invisible character"
		}
	}
	text, spans := codeSpans(text)
	for _, s := range spans {
		out = append(out, evidenceToken{code: FactCode, text: s})
	}
	text = autoLink().ReplaceAllString(text, " $1 ")
	text = linkForm().ReplaceAllStringFunc(text, func(whole string) string {
		m := linkForm().FindStringSubmatch(whole)
		title, ok := link(m[3])
		switch {
		case m[1] == "" && ok && strings.TrimSpace(m[2]) == title && m[4] == "":
			return " "
		case !ok || m[1] != "":
			out = append(out, evidenceToken{code: FactAddress, text: m[3]})
		}
		return " " + m[2] + " " + m[4] + " "
	})
	if htmlForm().MatchString(text) {
		return nil, "HTML"
	}
	text = plainEnt.Replace(text)
	if e := entityForm().FindString(text); e != "" {
		return nil, "the character reference " + e
	}
	text = escaped().ReplaceAllString(text, "$1")
	text = address().ReplaceAllStringFunc(text, func(u string) string {
		out = append(out, evidenceToken{code: FactAddress, text: strings.TrimRight(u, ".,;:!?)*_'")})
		return " "
	})
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("—–|…", r) }) {
		out = append(out, classify(word)...)
	}
	return out, ""
}

// codeSpans takes the code within a text out of it.
func codeSpans(text string) (rest string, spans []string) {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '`')
		if i < 0 {
			break
		}
		run := 0
		for i+run < len(text) && text[i+run] == '`' {
			run++
		}
		b.WriteString(text[:i])
		after := text[i+run:]
		end := closing(after, run)
		if end < 0 || i > 0 && text[i-1] == '\\' {
			text = after
			continue
		}
		if s := strings.TrimSpace(after[:end]); s != "" {
			spans = append(spans, s)
		}
		b.WriteByte(' ')
		text = after[end+run:]
	}
	b.WriteString(text)
	return b.String(), spans
}

// closing finds a run of exactly n backticks.
func closing(s string, n int) int {
	for i := 0; i < len(s); i++ {
		run := 0
		for i+run < len(s) && s[i+run] == '`' {
			run++
		}
		if run == n {
			return i
		}
		i += max(run-1, 0)
	}
	return -1
}

const (
	openers = `*_~"'“”‘’«»([{<,;:!?=+&>`
	closers = `*_~"'“”‘’«»()]}>,;:!?.=+<[{&`
)

var (
	flagForm  = text.Regexp(`^--?[A-Za-z][A-Za-z0-9_-]*$`)
	wordForm  = text.Regexp(`^[\p{L}\p{M}]+(?:['’][\p{L}]+)?$`)
	partsForm = text.Regexp(`^[\p{L}\p{M}'’]+(?:[-/][\p{L}\p{M}'’]+)+$`)
)

// classify returns the kind of a word.
func classify(word string) []evidenceToken {
	called := strings.Contains(word, "()")
	raw := strings.TrimRight(strings.TrimLeft(word, openers[2:]), closers[2:]) // * and _ may be its own
	word = strings.TrimRight(strings.TrimLeft(word, openers), closers)
	for _, end := range []string{"'s", "’s"} {
		word = strings.TrimSuffix(word, end)
	}
	if word == "" || strings.Trim(word, "-*_/.#$@%^\\") == "" {
		return nil
	}
	lower := strings.ToLower(word)
	one := func(code string) []evidenceToken { return []evidenceToken{{code, word, raw}} }
	switch {
	case common()[lower] && !called:
		return nil
	case called:
		return one(FactCode)
	case flagForm().MatchString(word):
		return one(FactFlag)
	case strings.ContainsFunc(word, unicode.IsNumber):
		return one(FactNumber)
	case wordForm().MatchString(word):
		return one(named(word))
	case partsForm().MatchString(word):
		var out []evidenceToken
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return r == '-' || r == '/' }) {
			if len(part) > 1 {
				out = append(out, classify(part)...)
			}
		}
		if strings.Contains(word, "/") && len(out) > 0 {
			return one(FactPath)
		}
		return out
	case strings.ContainsAny(word, `/\`):
		return one(FactPath)
	}
	return one(FactCode)
}

// named distinguishes names from plain words, by their capital letters.
func named(word string) string {
	runes := []rune(strings.NewReplacer("'", "", "’", "").Replace(word))
	upper := 0
	for _, r := range runes[1:] {
		if unicode.IsUpper(r) {
			upper++
		}
	}
	if upper > 0 || len(runes) == 1 && unicode.IsUpper(runes[0]) {
		return FactCode
	}
	return FactWord
}
