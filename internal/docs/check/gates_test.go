package check

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ramet/internal/docs"
)

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

const source = "package a\n\n// F does.\nfunc F() {}\n"

const written = "# A\n\nF does.\n\n## Facts\n\nThis section says a number of things about what the function F does and when.\n\n## Links\n\nSee [one](x.md) and [two words](y.md) and [so on](z.md) for more about this [topic with a long name](w.md).\n"

// documented is a site in order.
func documented() *Site {
	s := tree("docs/a.md", written)
	s.Repo = fstest.MapFS{"f.go": {Data: []byte(source)}}
	s.Facts = docs.Facts{Name: "a", Commit: "c", Languages: []string{"go"}, Claims: []docs.Claim{
		{ID: "go.f", Kind: docs.Function, Evidence: []docs.Evidence{{File: "f.go", From: 3, To: 4, SHA256: sum("// F does.\nfunc F() {}\n")}}},
		{ID: "go.pkg", Kind: docs.Module, Evidence: []docs.Evidence{{File: "f.go", From: 1, To: 1, SHA256: sum("package a\n")}}},
	}}
	s.Plan = docs.Plan{Title: "a", Commit: "c", Sections: []docs.Section{{Name: "use", Title: "Use", Pages: []docs.Page{{Path: "docs/a.md", Title: "A", Claims: []string{"go.f"}}}}}}
	s.Citations = docs.Citations{Pages: []docs.Cited{{Path: "docs/a.md", Section: "use", SHA256: sum(written), Claims: []docs.CiteAt{{Line: 3, Claim: "go.f"}, {Line: 7, Claim: "go.f"}}}}}
	return s
}

func TestClaims(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Site)
		want   []string
	}{
		"in order": {func(s *Site) {}, []string{}},
		"changed source": {func(s *Site) {
			s.Repo = fstest.MapFS{"f.go": {Data: []byte(strings.ReplaceAll(source, "does", "did"))}}
		}, []string{"CLAIM_EVIDENCE docs/a.md:3", "CLAIM_EVIDENCE docs/a.md:7"}},
		"moved source":        {func(s *Site) { s.Repo = fstest.MapFS{"f.go": {Data: []byte("\n" + source)}} }, []string{"CLAIM_EVIDENCE docs/a.md:3", "CLAIM_EVIDENCE docs/a.md:7"}},
		"source is gone":      {func(s *Site) { s.Repo = fstest.MapFS{} }, []string{"CLAIM_EVIDENCE docs/a.md:3", "CLAIM_EVIDENCE docs/a.md:7"}},
		"no evidence":         {func(s *Site) { s.Facts.Claims[0].Evidence = nil }, []string{"CLAIM_EVIDENCE docs/a.md:3", "CLAIM_EVIDENCE docs/a.md:7"}},
		"lines that are none": {func(s *Site) { s.Facts.Claims[0].Evidence[0].To = 99 }, []string{"CLAIM_EVIDENCE docs/a.md:3", "CLAIM_EVIDENCE docs/a.md:7"}},
		"a path that is none": {func(s *Site) { s.Facts.Claims[0].Evidence[0].File = "../f.go" }, []string{"CLAIM_EVIDENCE docs/a.md:3", "CLAIM_EVIDENCE docs/a.md:7"}},
		"unknown claim":       {func(s *Site) { s.Citations.Pages[0].Claims[0].Claim = "go.g" }, []string{"CLAIM_UNKNOWN docs/a.md:3"}},
		"other's claim":       {func(s *Site) { s.Citations.Pages[0].Claims[0].Claim = "go.pkg" }, []string{"CLAIM_NOT_OF_PAGE docs/a.md:3"}},
		"other page": {func(s *Site) {
			s.Citations.Pages = append(s.Citations.Pages, docs.Cited{Path: "docs/b.md", Claims: []docs.CiteAt{{Line: 1, Claim: "go.f"}}})
		}, []string{"CLAIM_PAGE_UNPLANNED docs/b.md:0"}},
		"nothing cited":    {func(s *Site) { s.Citations.Pages[0].Claims = nil }, []string{"CLAIM_NONE docs/a.md:0"}},
		"no citations":     {func(s *Site) { s.Citations.Pages = nil }, []string{"CLAIM_NONE docs/a.md:0"}},
		"nothing to cite":  {func(s *Site) { s.Citations.Pages[0].Claims = nil; s.Plan.Sections[0].Pages[0].Claims = nil }, []string{}},
		"bare section":     {func(s *Site) { s.Citations.Pages[0].Claims = s.Citations.Pages[0].Claims[:1] }, []string{"CLAIM_SECTION_NONE docs/a.md:5"}},
		"page not written": {func(s *Site) { s.Plan.Sections[0].Pages[0].Path = "docs/z.md" }, []string{"CLAIM_PAGE_MISSING docs/z.md:0", "CLAIM_PAGE_UNPLANNED docs/a.md:0"}},
		"own check":        {func(s *Site) { s.Evidence = func(fs.FS, docs.Evidence) error { return fs.ErrInvalid } }, []string{"CLAIM_EVIDENCE docs/a.md:3", "CLAIM_EVIDENCE docs/a.md:7"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := documented()
			c.change(s)
			found := Claims(s)
			sound(t, found)
			if got := told(found); !slices.Equal(sorted(got), sorted(c.want)) {
				t.Errorf("%v, want %v", found, c.want)
			}
		})
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func TestSectionsThatStateFacts(t *testing.T) {
	for body, want := range map[string]bool{
		"Some words.":                     false,
		"- [a](b): one\n- [c](d): two":    false,
		"```\ncode\n```":                  true,
		"    code":                        true,
		"| a |\n|---|\n| b |":             true,
		strings.Repeat("word ", 13):       true,
		strings.Repeat("[word](x) ", 40):  false,
		"### Sub\n\n" + "word word word.": false,
		"- one two three four five\n- six seven eight nine ten\n- eleven twelve thirteen": true,
	} {
		s := documented()
		s.Tree = fstest.MapFS{"docs/a.md": {Data: []byte("# A\n\nText.\n\n## S\n\n" + body + "\n\n# End\n\n" + strings.Repeat("word ", 20) + "\n")}}
		s.Citations.Pages[0].Claims = s.Citations.Pages[0].Claims[:1]
		if got := slices.Equal(told(Claims(s)), []string{"CLAIM_SECTION_NONE docs/a.md:5"}); got != want {
			t.Errorf("%q: %v", body, told(Claims(s)))
		}
	}
}

func TestPaths(t *testing.T) {
	const link, strange = fs.ModeSymlink | 0o777, fs.ModeNamedPipe | 0o600
	for name, c := range map[string]struct {
		change Change
		mode   fs.FileMode // of the file; 0: it is a plain one
		want   []string
	}{
		"new":              {Change{Path: "docs/a.md", NewMode: "100644"}, 0, nil},
		"changed":          {Change{Path: "docs/a.md", OldMode: "100644", NewMode: "100644"}, 0, nil},
		"executable stays": {Change{Path: "docs/a.md", OldMode: "100755", NewMode: "100755"}, 0, nil},
		"hidden file":      {Change{Path: "docs/.nojekyll", NewMode: "100644"}, 0, nil},
		"removed":          {Change{Path: "docs/a.md", OldMode: "100644", Deleted: true}, 0, []string{"PATH_DELETED"}},
		"outside":          {Change{Path: "src/a.md", NewMode: "100644"}, 0, []string{"PATH_OUTSIDE"}},
		"beside":           {Change{Path: "docs2/a.md", NewMode: "100644"}, 0, []string{"PATH_OUTSIDE"}},
		"moved out of":     {Change{Path: "docs/a.md", From: "src/a.md", OldMode: "100644", NewMode: "100644"}, 0, []string{"PATH_OUTSIDE"}},
		"removed outside":  {Change{Path: "src/a.md", OldMode: "100644", Deleted: true}, 0, []string{"PATH_DELETED", "PATH_OUTSIDE"}},
		"absolute":         {Change{Path: "/etc/passwd", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"drive":            {Change{Path: "c:/x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"up":               {Change{Path: "docs/../../x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"backslash":        {Change{Path: `docs\x`, NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"empty":            {Change{NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git":              {Change{Path: "docs/.git/config", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git in capitals":  {Change{Path: "docs/.GIT/hooks/x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git, short name":  {Change{Path: "docs/GIT~1/x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git, dots":        {Change{Path: "docs/.git. ./x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git, hidden mark": {Change{Path: "docs/.g\u200cit/x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"submodules":       {Change{Path: ".gitmodules", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"control":          {Change{Path: "docs/a\nb.md", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"windows":          {Change{Path: "docs/aux.md", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"windows, colon":   {Change{Path: "docs/a:b.md", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"link by patch":    {Change{Path: "docs/a.md", NewMode: "120000"}, 0, []string{"PATH_SYMLINK"}},
		"link in the tree": {Change{Path: "docs/a.md", NewMode: "100644"}, link, []string{"PATH_SYMLINK"}},
		"link in both":     {Change{Path: "docs/a.md", NewMode: "120000"}, link, []string{"PATH_SYMLINK"}},
		"pipe":             {Change{Path: "docs/a.md", NewMode: "100644"}, strange, []string{"PATH_NO_FILE"}},
		"repository":       {Change{Path: "docs/a.md", NewMode: "160000"}, 0, []string{"PATH_SUBMODULE"}},
		"mode":             {Change{Path: "docs/a.md", OldMode: "100644", NewMode: "100755"}, 0, []string{"PATH_MODE"}},
		"new executable":   {Change{Path: "docs/a.md", NewMode: "100755"}, 0, []string{"PATH_MODE"}},
		"not there":        {Change{Path: "docs/gone.md", NewMode: "100644"}, 0, []string{"PATH_MISSING"}},
		"clash":            {Change{Path: "docs/b.md", NewMode: "100644"}, 0, []string{"PATH_CASE_CLASH"}},
		"clash of folders": {Change{Path: "docs/sub/x.md", NewMode: "100644"}, 0, []string{"PATH_CASE_CLASH"}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"docs/B.md": {}, "docs/Sub/y.md": {}}
			if p := c.change.Path; fs.ValidPath(p) && !strings.Contains(p, "gone") && !c.change.Deleted {
				fsys[p] = &fstest.MapFile{Mode: c.mode}
				if c.mode == 0 {
					fsys[p].Mode = 0o644
				}
			}
			s := &Site{Tree: fsys, Changes: []Change{c.change}, Allowed: []string{"docs/**"}}
			found := Paths(s)
			sound(t, found)
			var got []string
			for _, f := range found {
				got = append(got, f.Code)
			}
			if !slices.Equal(sorted(got), c.want) {
				t.Errorf("%v, want %v", found, c.want)
			}
		})
	}
}

func TestPathsBehindALink(t *testing.T) {
	s := &Site{Tree: fstest.MapFS{"docs": {Mode: fs.ModeSymlink | 0o777, Data: []byte("/etc")}}, Changes: []Change{{Path: "docs/passwd", NewMode: "100644"}}, Allowed: []string{"docs/**"}}
	if got := told(Paths(s)); !slices.Equal(got, []string{"PATH_SYMLINK docs/passwd:0"}) {
		t.Error(got)
	}
	s = tree("a.md", "x")
	s.Allowed = []string{"[", "**/*.md"}
	if got := told(Paths(s)); !slices.Equal(got, []string{"PATH_PATTERN :0"}) {
		t.Error(got)
	}
}

func TestLimits(t *testing.T) {
	s := tree("a.md", "1\n2\n3", "b.md", "1\n2\n", "c.md", "")
	for _, c := range []struct {
		limits Limits
		want   []string
	}{
		{Limits{}, []string{}},
		{Limits{Files: 3, LinesPerFile: 3}, []string{}},
		{Limits{Files: 2}, []string{"LIMIT_FILES :0"}},
		{Limits{LinesPerFile: 2}, []string{"LIMIT_LINES a.md:0"}},
		{Limits{LinesPerFile: 1}, []string{"LIMIT_LINES a.md:0", "LIMIT_LINES b.md:0"}},
	} {
		s.Limits = c.limits
		found := Size(s)
		sound(t, found)
		if got := told(found); !slices.Equal(got, c.want) {
			t.Error(c.limits, got)
		}
	}
}

func TestSecretsAreToldWithoutThem(t *testing.T) {
	s := tree("a.md", "x\nkey hunter2\n", "b.md", "clean\n")
	s.Texts = map[string]string{"the body": "maybe"}
	s.Secrets = func(text string) []Secret {
		switch {
		case strings.Contains(text, "hunter2"):
			return []Secret{{Name: "password", Line: 2, Sure: true}}
		case text == "maybe":
			return []Secret{{Name: "generic", Line: 1}}
		}
		return nil
	}
	found := Secrets(s)
	sound(t, found)
	if got := told(found); !slices.Equal(got, []string{"SECRET_MAYBE :1", "SECRET a.md:2"}) || found[0].Severity != Warn || found[1].Severity != Blocker {
		t.Error(found)
	}
	for _, f := range found {
		if strings.Contains(f.Message+f.Fix, "hunter2") {
			t.Error(f)
		}
	}
}
