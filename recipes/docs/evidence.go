package docs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckEvidence holds a draft against the repository. Its first line is the title.
func CheckEvidence(draft, title string, r *Repository, link Link) []Finding {
	blocks, found := splitBlocks(draft)
	c := &checker{repo: r, link: link, found: found}
	c.title(blocks, title)
	for i, b := range blocks {
		c.cites(b)
		switch {
		case b.kind == heading && b.level == 1:
		case b.kind == heading:
			c.statement(b, c.cited(sectionBlocks(blocks, i)))
		case b.kind == code && len(b.cites) > 0:
			c.listing(b)
		case len(b.cites) > 0:
			c.statement(b, c.cited([]block{b}))
		case b.kind == code:
			c.say(UncitedFact, b.line, "a code block has no citation: put one on a line of its own below it")
		default:
			c.bare(b)
		}
	}
	c.sections(blocks)
	c.share(blocks)
	slices.SortStableFunc(c.found, func(a, b Finding) int { return cmp.Or(a.Line-b.Line, strings.Compare(a.Code, b.Code)) })
	return slices.Compact(c.found)
}

type checker struct {
	repo  *Repository
	link  Link
	found []Finding
}

func (c *checker) say(code string, line int, format string, args ...any) {
	c.found = append(c.found, Finding{code, line, fmt.Sprintf(format, args...)})
}

func (c *checker) title(blocks []block, title string) {
	if len(blocks) == 0 || blocks[0].kind != heading || blocks[0].level != 1 || strings.TrimSpace(blocks[0].text) != title {
		c.say(PageTitle, 1, "the page does not begin with its title: its first line is # %s", title)
		return
	}
	for _, b := range blocks[1:] {
		if b.kind == heading && b.level == 1 {
			c.say(PageTitle, b.line, "a page has one title: make %.80q a heading of level 2", b.text)
		}
	}
}

// sectionBlocks returns the blocks of the section that a heading begins.
func sectionBlocks(blocks []block, at int) []block {
	for i := at + 1; i < len(blocks); i++ {
		if blocks[i].kind == heading && blocks[i].level <= blocks[at].level {
			return blocks[at:i]
		}
	}
	return blocks[at:]
}

// cites looks at whether the cited lines are there.
func (c *checker) cites(b block) {
	if len(b.cites) > maxCites {
		c.say(CiteMuch, b.line, "a statement cites %d places: cite at most %d", len(b.cites), maxCites)
	}
	for _, one := range b.cites {
		lines, ok := c.repo.lines(one)
		switch {
		case !c.repo.Has(one.File):
			c.say(CiteFile, b.line, "%.200s is not text of the repository: cite a file that is", one.File)
		case !ok:
			c.say(CiteLines, b.line, "%s has no lines %d to %d: cite lines that it has", one.File, one.From, one.To)
		case len(lines) > maxLines:
			c.say(CiteMuch, b.line, "%d lines of %s are cited: cite those that say it, at most %d", len(lines), one.File, maxLines)
		case one.Hash != "" && !strings.HasPrefix(hashOf(lines), one.Hash):
			c.say(CiteHash, b.line, "lines %d to %d of %s have another hash than the citation: read them again", one.From, one.To, one.File)
		}
	}
}

// proof holds the cited text.
type proof struct {
	text  string // as it is
	flat  string // white space made one, for code
	stems map[string]bool
}

// cited returns the text that blocks cite, as far as it exists.
func (c *checker) cited(blocks []block) proof {
	var b strings.Builder
	for _, one := range blocks {
		for _, cite := range one.cites {
			if lines := c.repo.proves(cite); len(lines) <= maxLines {
				b.WriteString(strings.Join(lines, ""))
			}
		}
	}
	p := proof{text: b.String(), stems: map[string]bool{}}
	p.flat = flattenSpace(p.text)
	for w := range words(p.text) {
		p.stems[StemWord(w)] = true
	}
	return p
}

func flattenSpace(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.Fields(line)...)
	}
	return strings.Join(out, " ")
}

var unproved = map[string]string{
	FactCode: "the name or code", FactNumber: "the number", FactFlag: "the flag", FactPath: "the path", FactAddress: "the address", FactWord: "the word",
}

// statement holds a text against what it cites.
func (c *checker) statement(b block, p proof) {
	all, hidden := readTokens(b.text, c.link)
	if hidden != "" {
		c.say(HiddenText, b.line, "%s is in the text: write plain words", hidden)
		return
	}
	for _, t := range all {
		if c.holds(t, p) {
			continue
		}
		if t.code == FactWord {
			c.say(t.code, b.line, "the word %q is neither in the cited lines nor elsewhere in the repository: say it in its words, or leave it out", t.text)
			continue
		}
		c.say(t.code, b.line, "%s %.200q is not in the cited lines: cite lines that have it, or leave it out", unproved[t.code], t.text)
	}
}

// holds reports whether a token occurs in the cited lines.
func (c *checker) holds(t evidenceToken, p proof) bool {
	switch t.code {
	case FactWord:
		return c.word(t.text, p)
	case FactNumber:
		return occursAlone(p.text, t.text, true)
	case FactAddress:
		return strings.Contains(p.text, t.text) || strings.Contains(p.text, strings.TrimSuffix(t.text, "/"))
	}
	if occursAlone(p.flat, flattenSpace(t.text), false) || t.raw != "" && t.raw != t.text && occursAlone(p.flat, t.raw, false) {
		return true
	}
	// A name in capitals may be written otherwise where it is code: HTTP and http, URLs and url.
	bare := t.text
	if strings.HasSuffix(bare, "s") && strings.ToUpper(bare[:len(bare)-1]) == bare[:len(bare)-1] {
		bare = bare[:len(bare)-1]
	}
	return wordForm().MatchString(bare) && occursAlone(strings.ToLower(p.flat), strings.ToLower(bare), false)
}

// word reports whether a plain word is known.
func (c *checker) word(text string, p proof) bool {
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "’", "'"), "'") // don't, it's
	if text == "" || CommonWords(text) {
		return true
	}
	stem := StemWord(text)
	return p.stems[stem] || c.repo.stems[stem]
}

// occursAlone reports whether a piece occurs in a text by itself, and not within a longer one.
func occursAlone(text, piece string, number bool) bool {
	if piece == "" {
		return true
	}
	inner := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
	first, _ := utf8.DecodeRuneInString(piece)
	last, _ := utf8.DecodeLastRuneInString(piece)
	for at := 0; ; {
		i := strings.Index(text[at:], piece)
		if i < 0 {
			return false
		}
		i += at
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, size := utf8.DecodeRuneInString(text[i+len(piece):])
		free := !(i > 0 && inner(first) && inner(before)) && !(i+len(piece) < len(text) && inner(last) && inner(after))
		if number {
			next, _ := utf8.DecodeRuneInString(text[min(len(text), i+len(piece)+size):])
			free = (free || before == 'v' && unicode.IsNumber(first)) && !(before == '.' && unicode.IsNumber(first) && digitBefore(text[:i])) && !(after == '.' && unicode.IsNumber(next))
		}
		if free {
			return true
		}
		at = i + 1
	}
}

// digitBefore reports whether a text ends in a digit and a dot.
func digitBefore(text string) bool {
	return len(text) > 1 && text[len(text)-2] >= '0' && text[len(text)-2] <= '9'
}

// listing holds a code block against what it cites, line by line.
func (c *checker) listing(b block) {
	p := c.cited([]block{b})
	n := b.line
	for line := range strings.Lines(b.text) {
		n++
		if flat := flattenSpace(line); flat != "" && !strings.Contains(p.flat, flat) {
			c.say(FactBlock, n, "the line %.200q is not in the cited lines: copy it unchanged", strings.TrimSpace(line))
		}
	}
	if strings.ContainsAny(b.lang, " \t") || len(b.lang) > 20 {
		c.say(HiddenText, b.line, "behind the mark of a code block stands more than its language")
	}
}

// bare looks at prose without a citation: it may hold nothing that could be wrong.
func (c *checker) bare(b block) {
	all, hidden := readTokens(b.text, c.link)
	if hidden != "" {
		c.say(HiddenText, b.line, "%s is in the text: write plain words", hidden)
		return
	}
	for _, t := range all {
		if t.code != FactWord || !CommonWords(t.text) {
			c.say(UncitedFact, b.line, "%.200q is said without a citation: put <!-- cite: FILE:FROM-TO --> behind it, or leave it out", t.text)
			return
		}
	}
}

// sections finds sections with text and without citations.
func (c *checker) sections(blocks []block) {
	for i, b := range blocks {
		if b.kind != heading || b.level == 1 {
			continue
		}
		says, cites := 0, 0
		for _, one := range sectionBlocks(blocks, i)[1:] {
			cites += len(one.cites)
			says += c.weight(one)
		}
		if says > 0 && cites == 0 {
			c.say(UncitedSection, b.line, "section %.100q cites nothing: cite what it says, or leave it out", b.text)
		}
	}
}

// weight returns the number of words of a block, links to other pages aside.
func (c *checker) weight(b block) int {
	if b.kind == heading {
		return 0
	}
	text := linkForm().ReplaceAllStringFunc(b.text, func(whole string) string {
		if title, ok := c.link(linkForm().FindStringSubmatch(whole)[3]); ok && strings.HasPrefix(whole, "["+title+"]") {
			return ""
		}
		return whole
	})
	return len(strings.Fields(text))
}

// share looks at how much of a page has no citation.
func (c *checker) share(blocks []block) {
	bare, all := 0, 0
	for _, b := range blocks {
		n := c.weight(b)
		all += n
		if len(b.cites) == 0 {
			bare += n
		}
	}
	switch {
	case all == 0:
		c.say(PageEmpty, 1, "the page says nothing: write it")
	case bare*3 > all:
		c.say(UncitedMuch, 1, "%d of %d words have no citation: at most a third may", bare, all)
	}
}

// Finding is something that is wrong with a page.
type Finding struct {
	Code    string
	Line    int // of the draft, from 1
	Message string
}

// The codes of findings.
const (
	CiteForm       = "CITE_FORM"       // no citation that can be read
	CiteFile       = "CITE_FILE"       // no such file, or one that is not an evidence
	CiteLines      = "CITE_LINES"      // the file has no such lines
	CiteHash       = "CITE_HASH"       // the lines are others
	CiteMuch       = "CITE_MUCH"       // so many lines that anything could stand in them
	FactCode       = "FACT_CODE"       // a name or piece of code that the lines do not have
	FactNumber     = "FACT_NUMBER"     // a number or version
	FactFlag       = "FACT_FLAG"       // a flag
	FactPath       = "FACT_PATH"       // a path
	FactAddress    = "FACT_ADDRESS"    // a URL
	FactWord       = "FACT_WORD"       // a word that the repository does not use
	FactBlock      = "FACT_BLOCK"      // a line of a code block
	UncitedFact    = "UNCITED_FACT"    // a fact without a citation
	UncitedSection = "UNCITED_SECTION" // a section without one
	UncitedMuch    = "UNCITED_MUCH"    // more than a third of a page
	HiddenText     = "HIDDEN_TEXT"     // something that readers do not see
	PageEmpty      = "PAGE_EMPTY"      // nothing but a title
	PageTitle      = "PAGE_TITLE"      // not the title that was planned
)

// Statement is a statement of a page with a citation, for a judge.
type Statement struct {
	ID    int    `json:"id"`   // from 1, in the order of the page
	Line  int    `json:"line"` // of the draft
	Text  string `json:"statement"`
	Lines string `json:"lines"` // that it cites, each place below its name
}

// SplitStatements returns those of a draft that cite something. Code is left out: it is compared line by line.
func SplitStatements(draft string, r *Repository) []Statement {
	blocks, _ := splitBlocks(draft)
	out := []Statement{}
	for _, b := range blocks {
		if b.kind != prose || len(b.cites) == 0 {
			continue
		}
		var lines strings.Builder
		for _, c := range b.cites {
			fmt.Fprintf(&lines, "%s:%d-%d\n", c.File, c.From, c.To)
			if found := r.proves(c); len(found) <= maxLines {
				lines.WriteString(strings.Join(found, ""))
			}
		}
		out = append(out, Statement{ID: len(out) + 1, Line: b.line, Text: strings.TrimSpace(b.text), Lines: lines.String()})
	}
	return out
}
