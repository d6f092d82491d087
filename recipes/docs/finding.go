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
