package check

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// The names of the artifacts.
const (
	inventoryFile = "inventory.json"
	factsFile     = "facts.json"
	planFile      = "plan.json"
	citationsFile = "citations.json"
	sectionsDir   = "sections"
)

// Schema looks at whether the artifacts have their form and agree with each other and
// with the tree. It reads them anew, and needs Artifacts, Tree, Changes and Patch.
func Schema(s *Site) []Finding {
	c := schema{site: s}
	inventory, facts, plan, cited := docs.Inventory{}, docs.Facts{}, docs.Plan{}, docs.Citations{}
	haveInventory := c.read(inventoryFile, &inventory)
	haveFacts := c.read(factsFile, &facts)
	havePlan := c.read(planFile, &plan)
	haveCited := c.read(citationsFile, &cited)
	if haveInventory {
		c.inventory(inventory)
	}
	if haveFacts {
		c.facts(facts, inventory, haveInventory)
	}
	if havePlan {
		c.plan(plan, facts, haveFacts)
	}
	if havePlan && haveCited {
		c.citations(cited, plan)
	}
	c.patch()
	return c.out.sorted()
}

// Load reads the artifacts that other gates need into the site. What is missing stays
// empty; what cannot be read is an error.
func (s *Site) Load() error {
	for name, into := range map[string]any{factsFile: &s.Facts, planFile: &s.Plan, citationsFile: &s.Citations} {
		data, err := fs.ReadFile(s.Artifacts, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = docs.Decode(data, into)
		}
		if err != nil {
			return fmt.Errorf("read artifact %s: %w", name, err)
		}
	}
	return nil
}

type schema struct {
	site *Site
	out  findings
}

// wrong tells of an artifact. Nothing but making it again helps, so that it blocks.
func (c *schema) wrong(code, name, format string, args ...any) {
	c.out.add(Blocker, code, "", 0, fmt.Sprintf("artifacts/%s: ", name)+fmt.Sprintf(format, args...), "let the worker that makes the file make it again")
}

// read reads an artifact and holds it against its own bytes.
func (c *schema) read(name string, into any) bool {
	data, err := fs.ReadFile(c.site.Artifacts, name)
	if err != nil {
		c.wrong("SCHEMA_MISSING", name, "the artifact is missing: make it again")
		return false
	}
	if err := docs.Decode(data, into); err != nil {
		c.wrong("SCHEMA_FORM", name, "the artifact does not have its form: make it again (%s)", err)
		return false
	}
	if again, err := docs.Encode(into); err != nil || !bytes.Equal(again, data) {
		c.wrong("SCHEMA_BYTES", name, "the artifact is not written as artifacts are (sorted keys, two spaces, all fields): make it again")
	}
	return true
}

func (c *schema) inventory(inv docs.Inventory) {
	if !slices.IsSortedFunc(inv.Files, func(a, b docs.File) int { return strings.Compare(a.Path, b.Path) }) {
		c.wrong("SCHEMA_ORDER", inventoryFile, "files are not in the order of their paths: make it again")
	}
	for _, f := range inv.Files {
		if !fs.ValidPath(f.Path) || !digest(f.SHA256) || f.Size < 0 {
			c.wrong("SCHEMA_VALUE", inventoryFile, "file %.200q has no valid path, size or hash: make it again", f.Path)
		}
	}
}

var (
	claimForm   = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	sectionForm = regexp.MustCompile(`^[a-z0-9-]+$`)
	hexForm     = regexp.MustCompile(`^[0-9a-f]+$`)
)

func digest(s string) bool { return len(s) == 64 && hexForm.MatchString(s) }

func (c *schema) facts(f docs.Facts, inv docs.Inventory, haveInventory bool) {
	if haveInventory && f.Commit != inv.Commit {
		c.wrong("SCHEMA_COMMIT", factsFile, "the facts are of another commit than the inventory: take them again")
	}
	files := map[string]bool{}
	for _, file := range inv.Files {
		files[file.Path] = true
	}
	before := ""
	for _, claim := range f.Claims {
		switch {
		case !claimForm.MatchString(claim.ID):
			c.wrong("SCHEMA_VALUE", factsFile, "claim %.200q has no valid id: take the facts again", claim.ID)
		case claim.ID == before:
			c.wrong("SCHEMA_TWICE", factsFile, "claim %s is there twice: take the facts again", claim.ID)
		case claim.ID < before:
			c.wrong("SCHEMA_ORDER", factsFile, "claim %s is not in the order of ids: take the facts again", claim.ID)
		}
		before = claim.ID
		if len(claim.Evidence) == 0 {
			c.wrong("SCHEMA_EVIDENCE", factsFile, "claim %s has no evidence: take the facts again", claim.ID)
		}
		for _, e := range claim.Evidence {
			if !fs.ValidPath(e.File) || e.From < 1 || e.To < e.From || !digest(e.SHA256) || haveInventory && !files[e.File] {
				c.wrong("SCHEMA_EVIDENCE", factsFile, "claim %s has evidence that is no place in the inventory's files: take the facts again", claim.ID)
			}
		}
	}
}

func (c *schema) plan(p docs.Plan, f docs.Facts, haveFacts bool) {
	if haveFacts && p.Commit != f.Commit {
		c.wrong("SCHEMA_COMMIT", planFile, "the plan is of another commit than the facts: plan again")
	}
	claims := map[string]docs.Claim{}
	for _, claim := range f.Claims {
		claims[claim.ID] = claim
	}
	pages, sections := map[string]string{}, map[string]bool{}
	for _, s := range p.Sections {
		if !sectionForm.MatchString(s.Name) {
			c.wrong("SCHEMA_VALUE", planFile, "section %.200q has no valid name: plan again", s.Name)
		}
		if sections[s.Name] {
			c.wrong("SCHEMA_TWICE", planFile, "section %.200q is there twice: plan again", s.Name)
		}
		sections[s.Name] = true
		for _, page := range s.Pages {
			switch {
			case !fs.ValidPath(page.Path) || !isPage(page.Path):
				c.wrong("SCHEMA_VALUE", planFile, "page %.200q has no valid path of a page: plan again", page.Path)
			case pages[strings.ToLower(page.Path)] != "":
				c.wrong("SCHEMA_TWICE", planFile, "page %s is there twice: plan again", page.Path)
			}
			pages[strings.ToLower(page.Path)] = page.Path
			for _, id := range page.Claims {
				if _, ok := claims[id]; !ok && haveFacts {
					c.wrong("SCHEMA_UNKNOWN", planFile, "page %s may use claim %.200q, which does not exist: plan again", page.Path, id)
				}
			}
		}
	}
	for _, s := range p.Sections {
		for _, page := range s.Pages {
			for _, related := range page.Related {
				if pages[strings.ToLower(related)] != related {
					c.wrong("SCHEMA_UNKNOWN", planFile, "page %s is related to %.200q, which is not planned: plan again", page.Path, related)
				}
			}
		}
		c.assignment(s, claims, haveFacts)
	}
}

// assignment holds what a worker was given against the plan.
func (c *schema) assignment(s docs.Section, claims map[string]docs.Claim, haveFacts bool) {
	name := path.Join(sectionsDir, s.Name+".json")
	var got docs.Assignment
	if !sectionForm.MatchString(s.Name) || !c.read(name, &got) {
		return
	}
	same := func(a, b any) bool {
		x, err1 := docs.Encode(a)
		y, err2 := docs.Encode(b)
		return err1 == nil && err2 == nil && bytes.Equal(x, y)
	}
	if !same(got.Section, s) {
		c.wrong("SCHEMA_DIFFERS", name, "the section is not the plan's: make it again")
	}
	if !haveFacts {
		return
	}
	for _, page := range s.Pages {
		for _, id := range page.Claims {
			if claim, ok := claims[id]; ok && !same(got.Claims[id], claim) {
				c.wrong("SCHEMA_DIFFERS", name, "claim %s is not the one of the facts: make it again", id)
			}
		}
	}
}

func (c *schema) citations(cited docs.Citations, p docs.Plan) {
	sections := map[string]string{}
	for _, s := range p.Sections {
		for _, page := range s.Pages {
			sections[page.Path] = s.Name
		}
	}
	before := ""
	for _, page := range cited.Pages {
		switch {
		case page.Path == before:
			c.wrong("SCHEMA_TWICE", citationsFile, "page %s is there twice: apply the drafts again", page.Path)
		case page.Path < before:
			c.wrong("SCHEMA_ORDER", citationsFile, "page %s is not in the order of paths: apply the drafts again", page.Path)
		}
		before = page.Path
		section, ok := sections[page.Path]
		if !ok {
			c.wrong("SCHEMA_UNKNOWN", citationsFile, "page %.200q is not in the plan: apply the drafts again", page.Path)
			continue
		}
		if page.Section != section {
			c.wrong("SCHEMA_DIFFERS", citationsFile, "page %s is of section %s in the plan: apply the drafts again", page.Path, section)
		}
		data, err := fs.ReadFile(c.site.Tree, page.Path)
		if err != nil || c.site.kind(page.Path) != file {
			continue // the gate of claims tells
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != page.SHA256 {
			c.wrong("SCHEMA_DIFFERS", citationsFile, "page %s is not the one that was cited from: apply the drafts again", page.Path)
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, at := range page.Claims {
			if at.Line < 1 || at.Line > lines {
				c.wrong("SCHEMA_VALUE", citationsFile, "page %s has no line for the citation of %.200q: apply the drafts again", page.Path, at.Claim)
			}
		}
	}
}

// patch holds the patch against the tree: what is reviewed is what is published.
func (c *schema) patch() {
	for _, change := range c.site.Changes {
		if change.Blob == "" || !hexForm.MatchString(change.Blob) || c.site.kind(change.Path) != file {
			continue // the gate of paths tells what is missing
		}
		data, err := fs.ReadFile(c.site.Tree, change.Path)
		if err != nil {
			continue
		}
		if !change.Deleted && !slices.ContainsFunc(blobs(data), func(b string) bool { return strings.HasPrefix(b, change.Blob) }) {
			c.wrong("SCHEMA_DIFFERS", c.site.Patch, "%s is not what the patch makes of it: apply the drafts again", change.Path)
		}
	}
}

// blobs are the hashes that git gives to a content, in its two kinds of repositories.
func blobs(data []byte) []string {
	whole := append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...)
	old, new := sha1.Sum(whole), sha256.Sum256(whole)
	return []string{hex.EncodeToString(old[:]), hex.EncodeToString(new[:])}
}
