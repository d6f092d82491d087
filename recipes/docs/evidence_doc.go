// Package evidence holds a page against the lines that it cites, by program and for any
// language. Evidence is text at a pinned commit: a file, lines, and the hash of these lines.
//
// A writer puts a citation behind a statement, or on a line of its own below it:
//
//	Parse reads a line. <!-- cite: parse.go:12-14; README.md:3 -->
//
// # Promises
//
//   - Cited lines exist and have their hash (see Pin), and are few.
//   - Every code span, identifier, flag, path, number, version and address of a statement
//     occurs in the lines that it cites. Every other word is one of the common ones (common.txt),
//     or occurs there by its stem, or elsewhere in the repository's own text.
//   - Each line of a code block occurs in the lines that it cites.
//   - What is not cited holds none of these, and is at most a third of a page; no section is
//     without a citation, but for one that only links.
//   - There is no markup in which something could be hidden: no HTML, no comments, no characters
//     that nobody sees.
//   - Check is a function: the same page and repository give the same findings in the same order.
//
// # What it cannot know
//
// Whether a statement follows from its lines: "Parse never fails" stands behind lines that hold
// "never" and "fails". Whether something important is missing. These are for a reader.

package docs

// Finding is something that is wrong with a page.
type Finding struct {
	Code    string
	Line    int // of the draft, from 1
	Message string
}

// The codes of findings.
const (
	CiteForm       = "CITE_FORM"       // no citation that can be read
	CiteFile       = "CITE_FILE"       // no such file, or one that is no evidence
	CiteLines      = "CITE_LINES"      // the file has no such lines
	CiteHash       = "CITE_HASH"       // the lines are others
	CiteMuch       = "CITE_MUCH"       // so many lines that anything could stand in them
	FactCode       = "FACT_CODE"       // a name or piece of code that the lines do not have
	FactNumber     = "FACT_NUMBER"     // a number or version
	FactFlag       = "FACT_FLAG"       // a flag
	FactPath       = "FACT_PATH"       // a path
	FactAddress    = "FACT_ADDRESS"    // a URL
	FactWord       = "FACT_WORD"       // a word that nobody in the repository uses
	FactBlock      = "FACT_BLOCK"      // a line of a code block
	UncitedFact    = "UNCITED_FACT"    // a fact without a citation
	UncitedSection = "UNCITED_SECTION" // a section without one
	UncitedMuch    = "UNCITED_MUCH"    // more than a third of a page
	HiddenText     = "HIDDEN_TEXT"     // something that readers do not see
	PageEmpty      = "PAGE_EMPTY"      // nothing but a title
	PageTitle      = "PAGE_TITLE"      // not the title that was planned
)
