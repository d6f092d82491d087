package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
)

// runCompose makes pages of the drafts, in the worktree that it is called in.
func runCompose(ctx context.Context, c Call) error {
	var in pins
	var p Plan
	var refs drafts
	if err := errors.Join(c.read(inputsFile, &in), c.read(planFile, &p), c.read(refsFile, &refs)); err != nil {
		return err
	}
	repo, source, err := c.source(ctx, in)
	if err != nil {
		return err
	}
	out := drafts{Pages: map[string]string{}, None: map[string]string{}}
	if out.Foreign, err = c.apply(ctx, source, in.Source, p); err != nil {
		return err
	}
	for _, page := range p.Pages {
		text, ok := refs.Pages[page.Path]
		if page.Draft != "" {
			data, err := os.ReadFile(filepath.Join(source.Dir, filepath.FromSlash(page.Draft)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fault.New(fault.StorageIO, "read %s: %w", page.Draft, err)
			}
			text, ok = string(data), err == nil
		}
		if ok {
			out.Pages[page.Path] = PinCites(text, repo)
			continue
		}
		if why, err := os.ReadFile(filepath.Join(source.Dir, filepath.FromSlash(nonePath(page)))); err == nil {
			out.None[page.Path] = strings.Join(strings.Fields(string(why)), " ")
		}
	}
	if err := c.accuse(p, out, repo); err != nil {
		return err
	}
	made, err := publishedFiles(os.DirFS(c.Dir), p, out)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if err := c.write(name, made[name]); err != nil {
			return err
		}
	}
	for name, v := range map[string]any{pagesFile: out, "artifacts/body.md": writeBody(p, out, made), "artifacts/title.txt": []byte("Documentation of " + strings.Join(strings.Fields(p.Title), " ") + "\n")} {
		if err := c.write(name, v); err != nil {
			return err
		}
	}
	return nil
}

// apply applies the writers' patches to the source, and returns the files they touched that are
// no drafts of the plan.
func (c Call) apply(ctx context.Context, source git.Tree, commit string, p Plan) ([]string, error) {
	var patches []string
	err := filepath.WalkDir(filepath.Join(c.Inputs, "drafts"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(name) == ".patch" {
			patches = append(patches, name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // there is no section to write
		}
		return err
	})
	if err != nil {
		return nil, fault.New(fault.StorageIO, "read the drafts: %w", err)
	}
	slices.SortFunc(patches, func(a, b string) int { // fixes come after what they mend
		return strings.Compare(patchOrder(c.Inputs, a), patchOrder(c.Inputs, b))
	})
	for _, name := range patches {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fault.New(fault.StorageIO, "read %s: %w", name, err)
		}
		if _, err := git.Apply(ctx, source, data); err != nil && !fault.Is(err, fault.InvalidText) {
			return nil, err
		}
	}
	changed, err := git.Changed(ctx, source, commit)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changed, func(name string) bool {
		return slices.ContainsFunc(p.Pages, func(page Page) bool {
			return page.Draft != "" && (name == page.Draft || name == nonePath(page))
		})
	}), nil
}

// nonePath returns the file in which a writer reports that a page cannot be written.
func nonePath(page Page) string { return strings.TrimSuffix(page.Draft, ".md") + ".none" }

func patchOrder(inputs, name string) string {
	rel, _ := filepath.Rel(inputs, name)
	if rel = filepath.ToSlash(rel); strings.HasPrefix(rel, "drafts/fixes/") {
		return "2" + rel
	}
	return "1" + rel
}

// publishedFiles returns the files that the drafts make of a tree. Files that are the same as before are left out.
func publishedFiles(base fs.FS, p Plan, d drafts) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, page := range p.Pages {
		draft, ok := d.Pages[page.Path]
		if !ok {
			continue
		}
		old, err := fs.ReadFile(base, page.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.StorageIO, "read %s: %w", page.Path, err)
		}
		if err != nil {
			old = nil
		}
		made, err := putSection(old, page.Path, page.Section, renderPage(p, page, pruneLinks(StripMarks(draft), p, page, deadPages(base, p, d))))
		if err != nil {
			return nil, err
		}
		if old == nil {
			made = append([]byte(pageHead(p, page)), made...)
		}
		if string(made) != string(old) {
			out[page.Path] = made
		}
	}
	return out, nil
}

// deadPages returns the planned pages that will not be there: their writers gave them up.
func deadPages(base fs.FS, p Plan, d drafts) map[string]bool {
	out := map[string]bool{}
	for _, page := range p.Pages {
		_, written := d.Pages[page.Path]
		if _, err := fs.Stat(base, page.Path); !written && err != nil {
			out[page.Path] = true
		}
	}
	return out
}

// pruneLinks takes links to pages out that will not be there: an item of a list that is nothing else
// goes, and of any other link its words stay. A section that is empty then goes too.
func pruneLinks(text string, p Plan, page Page, dead map[string]bool) string {
	gone := map[string]bool{}
	for to := range dead {
		gone[relativePath(page.Path, to)] = true
	}
	if len(gone) == 0 {
		return text
	}
	var out []string
	for _, line := range strings.Split(text, "\n") {
		bare := strings.TrimSpace(mdLink().ReplaceAllStringFunc(line, func(whole string) string {
			if gone[mdLink().FindStringSubmatch(whole)[2]] {
				return ""
			}
			return whole
		}))
		if bare == "-" || bare == "*" {
			continue
		}
		out = append(out, mdLink().ReplaceAllStringFunc(line, func(whole string) string {
			if m := mdLink().FindStringSubmatch(whole); gone[m[2]] {
				return m[1]
			}
			return whole
		}))
	}
	for len(out) > 0 && (out[len(out)-1] == "" || strings.HasPrefix(out[len(out)-1], "## ")) {
		out = out[:len(out)-1]
	}
	return strings.Join(out, "\n") + "\n"
}

// pageHead returns the text above our markers of a new page, as its system needs it.
func pageHead(p Plan, page Page) string {
	switch {
	case p.System == "sphinx" && strings.HasSuffix(page.Path, ".rst"):
		return ":orphan:\n\n"
	case p.System == "sphinx":
		return "---\norphan: true\n---\n\n"
	case p.System == "hugo":
		return "---\ntitle: \"" + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(page.Title) + "\"\n---\n\n"
	}
	return ""
}

// renderPage returns the text between our markers.
func renderPage(p Plan, page Page, text string) string {
	if p.System == "hugo" { // the title is in the front matter
		if first, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "# ") {
			text = rest
		}
	}
	if strings.HasSuffix(page.Path, ".rst") {
		return toRST(text)
	}
	return text
}

// sectionMarks returns the lines around our text.
func sectionMarks(name, section string) (begin, end string) {
	if path.Ext(name) == ".rst" {
		return ".. ramet:begin " + section, ".. ramet:end " + section
	}
	return "<!-- ramet:begin " + section + " -->", "<!-- ramet:end " + section + " -->"
}

// findSection finds what is ours in a page: from the beginning of the first marker to the end of the
// last line of the second. ok: there are markers, once and in their order.
func findSection(page []byte, name, section string) (from, to int, ok bool, err error) {
	begin, end := sectionMarks(name, section)
	from, to = -1, -1
	at := 0
	for line := range bytes.Lines(page) {
		switch strings.TrimRight(string(line), "\r\n \t") {
		case begin:
			if from >= 0 {
				return 0, 0, false, brokenMarks(name, section)
			}
			from = at
		case end:
			if from < 0 || to >= 0 {
				return 0, 0, false, brokenMarks(name, section)
			}
			to = at + len(line)
		}
		at += len(line)
	}
	if from >= 0 && to < 0 {
		return 0, 0, false, brokenMarks(name, section)
	}
	return from, to, from >= 0, nil
}

func brokenMarks(name, section string) error {
	begin, end := sectionMarks(name, section)
	return fault.New(fault.Conflict, "the markers in %s are not one %q and then one %q", name, begin, end).WithHint("put them right, or remove both")
}

// putSection puts a text between the markers of a page; a page that is not there is new.
func putSection(page []byte, name, section, text string) ([]byte, error) {
	begin, end := sectionMarks(name, section)
	block := begin + "\n\n" + strings.TrimSpace(text) + "\n\n" + end + "\n"
	if page == nil {
		return []byte(block), nil
	}
	from, to, ok, err := findSection(page, name, section)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.Conflict, "%s is not ours: it has no markers of the section %s", name, section)
	}
	if bytes.Contains(page[from:to], []byte("\r\n")) {
		block = strings.ReplaceAll(block, "\n", "\r\n")
	}
	if to == len(page) && !bytes.HasSuffix(page, []byte("\n")) {
		block = strings.TrimRight(block, "\r\n")
	}
	return append(append(bytes.Clone(page[:from]), block...), page[to:]...), nil
}

const shownCites = 12 // of each page

// writeBody writes the text of the pull request: what changed, on what it rests, what was left out,
// how to check it and how to go back.
func writeBody(p Plan, d drafts, made map[string][]byte) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Documentation of %s\n\nWritten from the text of the repository at commit `%s`.\n\n## What changed\n\n", strings.Join(strings.Fields(p.Title), " "), p.Commit)
	if len(made) == 0 {
		b.WriteString("Nothing: the pages are what they were.\n\n")
	}
	for _, page := range p.Pages {
		if _, ok := made[page.Path]; !ok {
			continue
		}
		var places []string
		for _, c := range FindCites(d.Pages[page.Path]) {
			if at := fmt.Sprintf("`%s:%d-%d`", c.File, c.From, c.To); !slices.Contains(places, at) {
				places = append(places, at)
			}
		}
		more := ""
		if n := len(places); n > shownCites {
			places, more = places[:shownCites], fmt.Sprintf(" and %d places more", n-shownCites)
		}
		fmt.Fprintf(&b, "- `%s`, which cites %s%s\n", page.Path, strings.Join(places, ", "), more)
	}
	var left []string
	for _, page := range p.Pages {
		if why, ok := d.None[page.Path]; ok {
			left = append(left, fmt.Sprintf("no page %q: %s", page.Title, why))
		}
	}
	if left = append(left, p.Notes...); len(left) > 0 {
		b.WriteString("\n## What was left out\n\n")
		for _, n := range left {
			fmt.Fprintf(&b, "- %s\n", n)
		}
	}
	b.WriteString("\n## How to check\n\nEach statement was held by program against the lines that it cites: its names, numbers and words occur there. " +
		"Whether it follows from them is for a reader: open the places above at that commit.\n\n## How to go back\n\n" +
		"- Before it is merged: close this pull request and delete its branch. Nothing else was changed.\n" +
		"- Afterwards: `git revert -m 1 <merge commit>`, or `git revert <commit>` where it was squashed.\n")
	const limit = 60_000 // of forges
	text := b.String()
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "\n\n(Shortened: the list is too long for a pull request.)\n"
	}
	return []byte(text)
}
