package check

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

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
