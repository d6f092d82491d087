// Package docs has the programs of the recipe docs, which the commands of docs.yaml call (`ramet run program docs plan`).
// They read files and write files, and can do nothing that a program of another recipe could not.
//
//		plan     which pages are needed: in which system, where, what is left out and why
//		compose  the pages, from drafts with citations
//		check    the gate: pages against the lines that they cite, and against the plan
//
//	  - What others wrote stays, byte by byte: a page is new, or has our markers, and only the text between them is ours. The
//	    gate compares all files of the tree with the base.
//	  - A published page is a function of the checked draft. No page is written that is not planned. The same commits and
//	    drafts give the same bytes.
//
// # Evidence
//
// A writer puts a citation after a statement, or on a line of its own below it:
//
//	Parse reads a line. <!-- cite: parse.go:12-14; README.md:3 -->
//
// CheckEvidence compares a page with the lines it cites, at a pinned commit:
//
//   - Cited lines exist, have their hash (see PinCites), and are few.
//   - Every code span, identifier, flag, path, number, version and address of a statement occurs in the lines that it
//     cites. Every other word is common (common.txt), or occurs there by its stem, or elsewhere in the repository's own text.
//   - Each line of a code block occurs in the lines that it cites.
//   - Text without citations has none of these, and is at most a third of a page; every section has a citation, unless it
//     only links.
//   - There is no markup that could hide something: no HTML, no comments, no invisible characters.
//
// Whether a statement follows from its lines, and whether something important is missing, only a reader can judge.
//
// # Reference
//
// GoReference and PythonReference write the reference of a repository's public names, with go/ast and with Python's ast.
// Nothing of the repository is executed. Each entry is a declaration and its comment, with citations; what would not pass
// CheckEvidence is left out. A language without such a tool has no reference, and the notes give the reason.
package docs

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
)

// Call is one call of a program.
type Call struct {
	Dir    string // where it is called: the worktree, or the tree that a gate looks at
	Inputs string // the folder of the inputs
	Temp   string // a folder of its own
	Value  func(name string) string
	Stdout io.Writer
}

// Programs are the programs by name.
var Programs = map[string]func(context.Context, Call) error{"plan": runPlan, "compose": runCompose, "check": runCheck}

// Names of files.
const (
	inputsFile = "artifacts/inputs.json"
	planFile   = "artifacts/plan.json"
	pagesFile  = "artifacts/pages.json"
	refsFile   = "artifacts/reference.json"
	baseFile   = "work/base.bundle"
	sourceFile = "work/source.bundle"

	draftsDir = "ramet-drafts" // in the worktree of a writer
)

// Plan is artifacts/plan.json.
type Plan struct {
	Title    string    `json:"title"`
	Commit   string    `json:"commit"` // of the text that is cited
	System   string    `json:"system"` // sphinx, mkdocs, docusaurus, mdbook, hugo; empty: plain files
	Dir      string    `json:"dir"`
	Sections []Section `json:"sections"` // that a writer writes
	Pages    []Page    `json:"pages"`
	Notes    []string  `json:"notes"` // what is left out, and why
}

// Section is a section of a recipe.
type Section struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Brief string `json:"brief"`
}

// Page is a page that is planned.
type Page struct {
	Path    string `json:"path"`
	Title   string `json:"title"`
	Section string `json:"section"`         // of the markers
	Draft   string `json:"draft,omitempty"` // where its writer puts it; empty: a program wrote it
}

// drafts is artifacts/pages.json and artifacts/reference.json: pages by path, with citations.
type drafts struct {
	Pages map[string]string `json:"pages"`
	// None are pages that their writers gave up, and why.
	None map[string]string `json:"none,omitempty"`
	// Foreign are files that writers touched and should not have.
	Foreign []string `json:"foreign,omitempty"`
}

// pins holds the part of artifacts/inputs.json that is read.
type pins struct {
	Inputs []struct{ Name, Commit string }
	Base   string
	Source string
}

func (c Call) read(name string, into any) error {
	data, err := os.ReadFile(filepath.Join(c.Inputs, filepath.FromSlash(name)))
	if err != nil {
		return fault.New(fault.NotFound, "read the input %s: %w", name, err).WithHint("name it among the inputs")
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fault.New(fault.InvalidText, "read the input %s: %w", name, err)
	}
	return nil
}

// write writes a file of the item.
func (c Call) write(name string, v any) error {
	data, ok := v.([]byte)
	if !ok {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return fault.New(fault.Failed, "write %s: %w", name, err)
		}
		data = append(text, '\n')
	}
	at := filepath.Join(c.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		return fault.New(fault.StorageIO, "write %s: %w", name, err)
	}
	if err := os.WriteFile(at, data, 0o666); err != nil {
		return fault.New(fault.StorageIO, "write %s: %w", name, err)
	}
	return nil
}

// unpack makes a folder of the files of a bundle.
func (c Call) unpack(ctx context.Context, name, commit string) (git.Tree, error) {
	t := git.Tree{Dir: filepath.Join(c.Temp, filepath.Base(name)+".tree")}
	return t, git.FromBundle(ctx, filepath.Join(c.Inputs, filepath.FromSlash(name)), commit, t)
}

// source opens the text that is cited.
func (c Call) source(ctx context.Context, p pins) (*Repository, git.Tree, error) {
	t, err := c.unpack(ctx, sourceFile, p.Source)
	if err != nil {
		return nil, t, err
	}
	r, err := OpenRepository(os.DirFS(t.Dir))
	if err != nil {
		return nil, t, fault.New(fault.StorageIO, "read the repository: %w", err)
	}
	return r, t, nil
}
