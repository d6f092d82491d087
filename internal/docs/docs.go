// Package docs knows what documentation is made of: facts about a repository with their
// evidence, a plan of pages that name the facts they may use, and the citations of the
// pages that were written. Its subpackages find facts, make plans, write pages together
// and check them. Nothing here runs anything of the repository.
//
// # Forms
//
// All files are JSON with sorted keys, two spaces and a line feed (see Encode), and hold
// no time, no id of a run and no place of a machine.
//
// # Citations
//
// A draft cites a claim with a marker behind the sentence or at the end of the line:
//
//	Parse reads a line.<!-- claim: go.func.parse.Parse -->
//
// The writer takes the markers out of the pages and keeps them as citations, with the
// line that they stood on.
package docs

// Evidence is where a claim can be checked.
type Evidence struct {
	File   string `json:"file"`   // in the repository, with slashes
	From   int    `json:"from"`   // first line, from 1
	To     int    `json:"to"`     // last line
	SHA256 string `json:"sha256"` // of these lines with their line feeds, as they are in the file
}

// Kind of a claim.
type Kind string

// The kinds of claims.
const (
	Project    Kind = "project"    // name, version, description: one claim each
	Licence    Kind = "licence"    // which one
	Readme     Kind = "readme"     // a part of the README: its heading and text
	Requires   Kind = "requires"   // language version, direct dependencies
	Install    Kind = "install"    // how it is installed: follows from the manifest
	Entry      Kind = "entry"      // something that can be run: main package, console script, bin
	Command    Kind = "command"    // a subcommand of a command line
	Flag       Kind = "flag"       // a flag or argument of it
	Module     Kind = "module"     // a package, module or crate, with what it says about itself
	Function   Kind = "function"   // exported
	Type       Kind = "type"       // exported: struct, class, interface, trait, enum …
	Method     Kind = "method"     // of an exported type
	Value      Kind = "value"      // exported constant or variable
	Example    Kind = "example"    // of use, from tests or examples
	Convention Kind = "convention" // how it is built, tested, formatted: Makefile, scripts, CI
)

// Claim is one fact.
type Claim struct {
	ID        string     `json:"id"` // [a-z0-9._-]+, stable while the fact is: language.kind.module.name
	Kind      Kind       `json:"kind"`
	Name      string     `json:"name"`                // what it is about, as users spell it
	Module    string     `json:"module,omitempty"`    // what it belongs to
	Language  string     `json:"language,omitempty"`  // go, python, javascript, typescript, rust
	Signature string     `json:"signature,omitempty"` // as in the source, in one piece
	Text      string     `json:"text"`                // what is claimed, in a sentence or as the source says it
	Evidence  []Evidence `json:"evidence"`            // at least one
}

// Facts is artifacts/facts.json.
type Facts struct {
	Name      string   `json:"name"`      // of the project
	Commit    string   `json:"commit"`    // that was looked at
	Languages []string `json:"languages"` // by number of files
	Claims    []Claim  `json:"claims"`    // by id
}

// Inventory is artifacts/inventory.json.
type Inventory struct {
	Commit string `json:"commit"`
	Files  []File `json:"files"` // by path
}

// File is one file of a repository.
type File struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256"`
	Language string `json:"language,omitempty"`
	Role     string `json:"role"` // source, test, doc, manifest, licence, readme, build, generated, vendored, data, other
}

// Plan is artifacts/plan.json.
type Plan struct {
	Title    string    `json:"title"`
	Commit   string    `json:"commit"` // of the facts
	Sections []Section `json:"sections"`
}

// Section is a part of the documentation; one worker drafts it.
type Section struct {
	Name  string `json:"name"` // scope of its items, [a-z0-9-]+
	Title string `json:"title"`
	Brief string `json:"brief"` // what it is for, and for whom
	Pages []Page `json:"pages"`
}

// Page is one file to be written.
type Page struct {
	Path    string   `json:"path"` // in the target repository
	Title   string   `json:"title"`
	Brief   string   `json:"brief"`
	Claims  []string `json:"claims"`            // ids that it may use
	Related []string `json:"related,omitempty"` // paths of pages it should point to
	Update  bool     `json:"update,omitempty"`  // it exists: what others wrote on it stays
}

// Assignment is artifacts/sections/<name>.json: a section with the claims themselves, as
// the worker gets it.
type Assignment struct {
	Project string           `json:"project"`
	Section Section          `json:"section"`
	Claims  map[string]Claim `json:"claims"` // by id, those of its pages
	// Titles are those of the related pages, by path: they may be of other sections.
	Titles map[string]string `json:"titles,omitempty"`
}

// Citations is artifacts/citations.json.
type Citations struct {
	Pages []Cited `json:"pages"` // by path
}

// Cited is a page with what it cites.
type Cited struct {
	Path    string   `json:"path"`
	Section string   `json:"section"`
	SHA256  string   `json:"sha256"` // of the page as written
	Claims  []CiteAt `json:"claims"`
}

// CiteAt is one citation.
type CiteAt struct {
	Line  int    `json:"line"` // of the page as written
	Claim string `json:"claim"`
}
