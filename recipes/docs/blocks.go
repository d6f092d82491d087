package docs

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"ramet/internal/base/text"
)

// kind of a block.
type kind int

const (
	prose kind = iota
	heading
	code
)

// block is a statement: a paragraph, an item of a list, a table, a heading or a code block.
type block struct {
	kind  kind
	level int // of a heading
	line  int
	text  string // without citations and marks of lists
	cites []Cite
	lang  string
}

var (
	headingForm = text.Regexp(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	itemForm    = text.Regexp(`^[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+`)
	fenceForm   = text.Regexp("^[ \t]*(```+|~~~+)[ \t]*([^`]*)$")
	ruleForm    = text.Regexp(`^[ \t]*(?:=+|-{2,}|(?:[-*_][ \t]*){3,})[ \t]*$`)
	tableRule   = text.Regexp(`^[ \t]*\|?[ \t:|-]+\|[ \t:|-]*$`)
)

// splitter cuts a draft into blocks.
type splitter struct {
	blocks []block
	open   bool // the last block goes on
	fence  string
	found  []Finding
}

// splitBlocks gives the blocks of a draft, and what could not be read.
func splitBlocks(draft string) ([]block, []Finding) {
	s := &splitter{}
	n := 0
	for line := range strings.Lines(strings.ReplaceAll(draft, "\r\n", "\n")) {
		n++
		s.add(n, strings.TrimRight(line, "\n"))
	}
	return s.blocks, s.found
}

func (s *splitter) say(code string, line int, message string) {
	s.found = append(s.found, Finding{code, line, message})
}

func (s *splitter) add(n int, line string) {
	if s.fence != "" {
		last := &s.blocks[len(s.blocks)-1]
		if bare := strings.TrimSpace(line); strings.HasPrefix(bare, s.fence) && strings.Trim(bare, s.fence[:1]) == "" {
			s.fence, s.open = "", false
			return
		}
		last.text += line + "\n"
		return
	}
	line, cites := s.cites(n, line)
	bare := strings.TrimSpace(line)
	switch m := headingForm().FindStringSubmatch(line); {
	case bare == "":
		if len(cites) > 0 {
			s.attach(n, cites)
		}
		s.open = false
		return
	case m != nil:
		s.open = false
		s.blocks = append(s.blocks, block{kind: heading, level: len(m[1]), line: n, text: m[2], cites: cites})
		return
	}
	if m := fenceForm().FindStringSubmatch(line); m != nil {
		s.fence = m[1]
		s.blocks = append(s.blocks, block{kind: code, line: n, lang: strings.TrimSpace(m[2]), cites: cites})
		s.open = false
		return
	}
	if ruleForm().MatchString(line) || tableRule().MatchString(line) {
		if s.open && !strings.Contains(line, "|") {
			s.say(HiddenText, n, "a line below a text makes a heading of it: write headings with #")
		}
		return
	}
	if m := itemForm().FindString(line); m != "" {
		s.open = false
		line = line[len(m):]
	}
	if !s.open {
		s.blocks = append(s.blocks, block{line: n})
		s.open = true
	}
	last := &s.blocks[len(s.blocks)-1]
	last.text += line + "\n"
	last.cites = append(last.cites, cites...)
}

// cites takes the citations out of a line.
func (s *splitter) cites(n int, line string) (string, []Cite) {
	var out []Cite
	rest := evidenceComment().ReplaceAllStringFunc(line, func(whole string) string {
		got, err := readCites(evidenceComment().FindStringSubmatch(whole)[1])
		if err != nil {
			s.say(CiteForm, n, err.Error())
		}
		out = append(out, got...)
		return ""
	})
	if strings.Contains(rest, "<!--") || strings.Contains(rest, "-->") {
		s.say(HiddenText, n, "a comment is not closed on its line: take it out")
	}
	return rest, out
}

// attach gives citations on lines of their own to the block above them.
func (s *splitter) attach(n int, cites []Cite) {
	if len(s.blocks) == 0 || s.blocks[len(s.blocks)-1].kind == heading {
		s.say(CiteForm, n, "a citation follows nothing: put it after its statement")
		return
	}
	last := &s.blocks[len(s.blocks)-1]
	last.cites = append(last.cites, cites...)
}

// Most of what one statement may cite.
const (
	maxLines = 150 // of one citation
	maxCites = 8   // of one statement
)

// Cite is one citation.
type Cite struct {
	File     string
	From, To int
	Hash     string // SHA-256 of the lines with their ends, in hex; empty: not pinned yet
}

// String returns the citation as it is written.
func (c Cite) String() string {
	s := fmt.Sprintf("%s:%d-%d", c.File, c.From, c.To)
	if c.Hash != "" {
		s += "@" + c.Hash
	}
	return s
}

// MarkStatements returns the comment that holds citations.
func MarkStatements(cites ...Cite) string {
	var all []string
	for _, c := range cites {
		all = append(all, c.String())
	}
	return "<!-- cite: " + strings.Join(all, "; ") + " -->"
}

var (
	evidenceComment = text.Regexp(`(?s)<!--(.*?)-->`)
	citeForm        = text.Regexp(`^([^\s:;][^:;]*):([0-9]{1,7})(?:-([0-9]{1,7}))?(?:@([0-9a-f]{8,64}))?$`)
)

// readCites reads the citations in a comment.
func readCites(inside string) ([]Cite, error) {
	list, ok := strings.CutPrefix(strings.TrimSpace(inside), "cite:")
	if !ok {
		return nil, fmt.Errorf("a comment is not a citation: take it out, or write <!-- cite: FILE:FROM-TO -->")
	}
	var out []Cite
	for part := range strings.SplitSeq(list, ";") {
		m := citeForm().FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, fmt.Errorf("%.100q is not a citation: write <!-- cite: FILE:FROM-TO -->, several with ; between them", strings.TrimSpace(part))
		}
		c := Cite{File: m[1], Hash: m[4]}
		c.From, _ = strconv.Atoi(m[2])
		c.To = c.From
		if m[3] != "" {
			c.To, _ = strconv.Atoi(m[3])
		}
		out = append(out, c)
	}
	return out, nil
}

func hashOf(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// PinCites gives every citation of a draft the hash of its lines. A hash that a writer gave stays,
// and Check holds it against the lines. What cannot be read stays as it is.
func PinCites(draft string, r *Repository) string {
	return evidenceComment().ReplaceAllStringFunc(draft, func(whole string) string {
		cites, err := readCites(evidenceComment().FindStringSubmatch(whole)[1])
		if err != nil {
			return whole
		}
		for i, c := range cites {
			if lines, ok := r.lines(c); ok && c.Hash == "" {
				cites[i].Hash = hashOf(lines)
			}
		}
		return MarkStatements(cites...)
	})
}

// FindCites returns all citations of a draft.
func FindCites(draft string) []Cite {
	var out []Cite
	for _, m := range evidenceComment().FindAllStringSubmatch(draft, -1) {
		cites, _ := readCites(m[1])
		out = append(out, cites...)
	}
	return out
}

// StripMarks returns a draft as it is published: without its citations.
func StripMarks(draft string) string {
	var out []string
	for _, line := range strings.Split(draft, "\n") {
		bare := strings.TrimRight(evidenceComment().ReplaceAllString(line, ""), " \t")
		if bare == "" && strings.TrimSpace(line) != "" {
			continue // nothing but citations
		}
		if bare == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, bare)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}

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

//go:embed common.txt
var commonText string

// common are the stems of words that claim nothing by themselves.
var common = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(commonText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			out[word] = true
			out[StemWord(word)] = true
		}
	}
	return out
})

// CommonWords reports whether a word claims nothing by itself.
func CommonWords(word string) bool {
	word = strings.ToLower(word)
	return common()[word] || common()[StemWord(word)]
}

// words yields the words of a text in small letters; names in camel case and with underscores
// are several.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, before := -1, rune(0)
		for i, r := range text {
			letter := unicode.IsLetter(r) || unicode.IsMark(r)
			hump := letter && unicode.IsUpper(r) && unicode.IsLower(before)
			if start >= 0 && (!letter || hump) {
				if !yield(strings.ToLower(text[start:i])) {
					return
				}
				start = -1
			}
			if letter && start < 0 {
				start = i
			}
			before = r
		}
		if start >= 0 {
			yield(strings.ToLower(text[start:]))
		}
	}
}

// endings that are cut off a word, the longer ones first, with what stays at least.
var endings = []struct {
	cut, put string
	stays    int
}{
	{"ations", "", 4}, {"ation", "", 4}, {"ments", "", 4}, {"ment", "", 4}, {"ness", "", 4}, {"edly", "", 3},
	{"ings", "", 2}, {"ing", "", 2}, {"ions", "", 4}, {"ion", "", 4}, {"ied", "y", 2}, {"ies", "y", 2}, {"ers", "", 3}, {"er", "", 3},
	{"ors", "", 4}, {"or", "", 4}, {"ed", "", 2}, {"ly", "", 3}, {"es", "", 2}, {"s", "", 2},
}

// StemWord returns a common stem of related words. It is a rule of thumb for English; words of other languages are
// compared nearly as they are.
func StemWord(word string) string {
	word = strings.ToLower(word)
	for _, e := range endings {
		rest, ok := strings.CutSuffix(word, e.cut)
		if ok && len(rest) >= e.stays && !(e.cut == "s" && strings.HasSuffix(rest, "s")) {
			word = rest + e.put
			break
		}
	}
	if rest, ok := strings.CutSuffix(word, "e"); ok && len(rest) >= 2 {
		word = rest
	}
	if rest, ok := strings.CutSuffix(word, "y"); ok && len(rest) >= 2 {
		word = rest + "i"
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] && word[n-1] != 's' && word[n-1] != 'l' {
		word = word[:n-1]
	}
	return word
}
