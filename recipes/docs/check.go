package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"ramet/internal/base/fault"
)

// The codes of what the gate finds besides those of CheckEvidence.
const (
	pageMissing    = "PAGE_MISSING"    // planned, and neither written nor given up
	pageUnplanned  = "PAGE_UNPLANNED"  // written, and not planned
	pageChanged    = "PAGE_CHANGED"    // not what was made of its draft
	outsideChanged = "OUTSIDE_CHANGED" // text that is not ours
	draftForeign   = "DRAFT_FOREIGN"   // a writer touched something that is not its draft
)

// runCheck runs the gate. It prints what is wrong, a line for each: PATH:LINE: CODE: what.
func runCheck(ctx context.Context, c Call) error {
	var in pins
	var p Plan
	var d drafts
	if err := errors.Join(c.read(inputsFile, &in), c.read(planFile, &p), c.read(pagesFile, &d)); err != nil {
		return err
	}
	repo, _, err := c.source(ctx, in)
	if err != nil {
		return err
	}
	base, err := c.unpack(ctx, baseFile, in.Base)
	if err != nil {
		return err
	}
	g := &gate{out: c.Stdout.Write, plan: p, drafts: d, base: os.DirFS(base.Dir), tree: os.DirFS(c.Dir)}
	g.pages(repo)
	if err := g.judged(c, repo); err != nil {
		return err
	}
	if err := g.files(); err != nil {
		return err
	}
	if g.found > 0 {
		return fault.New(fault.GateFailed, "%d things are wrong with the pages", g.found)
	}
	return nil
}

type gate struct {
	out        func([]byte) (int, error)
	plan       Plan
	drafts     drafts
	base, tree fs.FS
	found      int
}

func (g *gate) say(code, file string, line int, format string, args ...any) {
	g.found++
	g.out(fmt.Appendf(nil, "%s:%d: %s: %s\n", file, max(line, 1), code, fmt.Sprintf(format, args...)))
}

// pages holds each page against the lines that it cites.
func (g *gate) pages(repo *Repository) {
	for _, name := range g.drafts.Foreign {
		g.say(draftForeign, name, 1, "a writer changed this file: only the drafts of the plan are written")
	}
	for _, page := range g.plan.Pages {
		draft, ok := g.drafts.Pages[page.Path]
		if !ok {
			if _, none := g.drafts.None[page.Path]; !none {
				g.say(pageMissing, page.Path, 1, "the page is planned, and was not written: write %s", page.Draft)
			}
			continue
		}
		to := pageLinks(g.plan, page)
		link := func(at string) (string, bool) {
			title, ok := to[at]
			return title, ok
		}
		for _, f := range CheckEvidence(draft, page.Title, repo, link) {
			g.say(f.Code, page.Path, f.Line, "%s", f.Message)
		}
	}
}

// files holds the tree against the base: whatever differs is a page of the plan, and in it
// nothing but the text between our markers.
func (g *gate) files() error {
	wanted, err := publishedFiles(g.base, g.plan, g.drafts)
	if err != nil {
		return err
	}
	planned := func(name string) bool {
		return slices.ContainsFunc(g.plan.Pages, func(p Page) bool { return p.Path == name })
	}
	seen := map[string]bool{}
	err = fs.WalkDir(g.tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		seen[name] = true
		now, old, there, err := readBoth(g.tree, g.base, name)
		if err != nil || bytes.Equal(now, old) && there {
			return err
		}
		switch {
		case !there && !planned(name):
			g.say(pageUnplanned, name, 1, "the plan has no such page: take it out")
		case !planned(name):
			g.say(outsideChanged, name, 1, "the file is not ours, and was changed: undo it")
		case !bytes.Equal(now, wanted[name]):
			g.changed(name, now, old)
		}
		return nil
	})
	if err != nil {
		return fault.New(fault.StorageIO, "read the tree: %w", err)
	}
	return g.gone(seen, slices.Sorted(maps.Keys(wanted)))
}

// changed reports a page that differs from what its draft makes.
func (g *gate) changed(name string, now, old []byte) {
	section := ""
	for _, p := range g.plan.Pages {
		if p.Path == name {
			section = p.Section
		}
	}
	a, b, ok, err := findSection(now, name, section)
	c, d, was, _ := findSection(old, name, section)
	if old != nil && (err != nil || !ok || !was || !bytes.Equal(now[:a], old[:c]) || !bytes.Equal(now[b:], old[d:])) {
		g.say(outsideChanged, name, 1, "something outside the markers of %s was changed: undo it", section)
		return
	}
	g.say(pageChanged, name, 1, "the page is not what its draft makes: change the draft, and nothing else")
}

// gone looks for files that are no longer there.
func (g *gate) gone(seen map[string]bool, wanted []string) error {
	for _, name := range wanted {
		if !seen[name] {
			g.say(pageMissing, name, 1, "the page was made, and is not in the tree")
		}
	}
	return fs.WalkDir(g.base, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && name == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err == nil && !d.IsDir() && !seen[name] {
			g.say(outsideChanged, name, 1, "the file is not ours, and was removed: undo it")
		}
		return err
	})
}

// readBoth reads a file of two trees; of a link, where it leads.
func readBoth(tree, base fs.FS, name string) (now, old []byte, there bool, err error) {
	if now, err = readContent(tree, name); err != nil {
		return nil, nil, false, err
	}
	old, err = readContent(base, name)
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil, false, nil
	}
	return now, old, true, err
}

func readContent(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Lstat(fsys, name)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := fs.ReadLink(fsys, name)
		return []byte("link to " + to), err
	}
	if !info.Mode().IsRegular() {
		return []byte(info.Mode().String()), nil
	}
	return fs.ReadFile(fsys, name)
}

// A model may judge whether statements follow from the lines that they cite: compose gives it
// each page, and the gate reads its verdicts. Without one no model is asked.

const (
	judgedFile    = "artifacts/judged.json" // the sections that are judged
	statementsDir = "artifacts/statements/"
	verdictsDir   = "reports/judge/"

	judgeDenied = "JUDGE_DENIED" // a statement does not follow
	judgeSilent = "JUDGE_SILENT" // there is no verdict
)

// verdicts holds the judge's verdicts on a section.
type verdicts struct {
	Verdicts []struct {
		ID    int    `json:"id"`
		Holds bool   `json:"holds"`
		Why   string `json:"why"`
	} `json:"verdicts"`
}

// accuse writes what the judge is given.
func (c Call) accuse(p Plan, d drafts, repo *Repository) error {
	judged, written := []string{}, []string{}
	for _, page := range p.Pages {
		draft, ok := d.Pages[page.Path]
		if page.Draft == "" || !ok {
			continue
		}
		said := SplitStatements(draft, repo)
		if err := c.write(statementsDir+page.Section+".json", said); err != nil {
			return err
		}
		written = append(written, page.Section)
		if len(said) > 0 && c.Value("judge") != "" {
			judged = append(judged, page.Section)
		}
	}
	if err := c.write(statementsDir+"all.json", written); err != nil {
		return err
	}
	return c.write(judgedFile, judged)
}

// judged reads the verdicts of the judge.
func (g *gate) judged(c Call, repo *Repository) error {
	var sections []string
	if err := c.read(judgedFile, &sections); err != nil {
		return err
	}
	for _, section := range sections {
		var v verdicts
		name := verdictsDir + section + ".json"
		if _, err := os.Stat(filepath.Join(c.Inputs, filepath.FromSlash(name))); err == nil {
			if err := c.read(name, &v); err != nil {
				return err
			}
		}
		for _, page := range g.plan.Pages {
			if draft, ok := g.drafts.Pages[page.Path]; ok && page.Section == section {
				g.sentence(page, SplitStatements(draft, repo), v)
			}
		}
	}
	return nil
}

// sentence reports the statements of a page that the judge denies.
func (g *gate) sentence(page Page, said []Statement, v verdicts) {
	for _, s := range said {
		heard := false
		for _, one := range v.Verdicts {
			if one.ID != s.ID {
				continue
			}
			if heard = true; !one.Holds {
				g.say(judgeDenied, page.Path, s.Line, "the cited lines do not say this: %.300s (%.200q)", one.Why, s.Text)
				break
			}
		}
		if !heard {
			g.say(judgeSilent, page.Path, s.Line, "the judge did not say whether this follows from its lines: %.200q", s.Text)
		}
	}
}
