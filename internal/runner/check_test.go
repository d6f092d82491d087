package runner

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ramet/internal/base/secret"
	"ramet/internal/run/recipe"
	"ramet/internal/testkit"
)

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func TestPaths(t *testing.T) {
	const link, strange = fs.ModeSymlink | 0o777, fs.ModeNamedPipe | 0o600
	for name, c := range map[string]struct {
		change FileChange
		mode   fs.FileMode // of the file; 0: it is a plain one
		want   []string
	}{
		"new":              {FileChange{Path: "docs/a.md", NewMode: "100644"}, 0, nil},
		"changed":          {FileChange{Path: "docs/a.md", OldMode: "100644", NewMode: "100644"}, 0, nil},
		"executable stays": {FileChange{Path: "docs/a.md", OldMode: "100755", NewMode: "100755"}, 0, nil},
		"hidden file":      {FileChange{Path: "docs/.nojekyll", NewMode: "100644"}, 0, nil},
		"removed":          {FileChange{Path: "docs/a.md", OldMode: "100644", Deleted: true}, 0, []string{"PATH_DELETED"}},
		"outside":          {FileChange{Path: "src/a.md", NewMode: "100644"}, 0, []string{"PATH_OUTSIDE"}},
		"beside":           {FileChange{Path: "docs2/a.md", NewMode: "100644"}, 0, []string{"PATH_OUTSIDE"}},
		"moved out of":     {FileChange{Path: "docs/a.md", From: "src/a.md", OldMode: "100644", NewMode: "100644"}, 0, []string{"PATH_OUTSIDE"}},
		"removed outside":  {FileChange{Path: "src/a.md", OldMode: "100644", Deleted: true}, 0, []string{"PATH_DELETED", "PATH_OUTSIDE"}},
		"absolute":         {FileChange{Path: "/etc/passwd", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"drive":            {FileChange{Path: "c:/x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"up":               {FileChange{Path: "docs/../../x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"backslash":        {FileChange{Path: `docs\x`, NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"empty":            {FileChange{NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git":              {FileChange{Path: "docs/.git/config", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git in capitals":  {FileChange{Path: "docs/.GIT/hooks/x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git, short name":  {FileChange{Path: "docs/GIT~1/x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git, dots":        {FileChange{Path: "docs/.git. ./x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"git, hidden mark": {FileChange{Path: "docs/.g\u200cit/x", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"submodules":       {FileChange{Path: ".gitmodules", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"control":          {FileChange{Path: "docs/a\nb.md", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"windows":          {FileChange{Path: "docs/aux.md", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"windows, colon":   {FileChange{Path: "docs/a:b.md", NewMode: "100644"}, 0, []string{"PATH_UNSAFE"}},
		"link by patch":    {FileChange{Path: "docs/a.md", NewMode: "120000"}, 0, []string{"PATH_SYMLINK"}},
		"link in the tree": {FileChange{Path: "docs/a.md", NewMode: "100644"}, link, []string{"PATH_SYMLINK"}},
		"link in both":     {FileChange{Path: "docs/a.md", NewMode: "120000"}, link, []string{"PATH_SYMLINK"}},
		"pipe":             {FileChange{Path: "docs/a.md", NewMode: "100644"}, strange, []string{"PATH_NO_FILE"}},
		"repository":       {FileChange{Path: "docs/a.md", NewMode: "160000"}, 0, []string{"PATH_SUBMODULE"}},
		"mode":             {FileChange{Path: "docs/a.md", OldMode: "100644", NewMode: "100755"}, 0, []string{"PATH_MODE"}},
		"new executable":   {FileChange{Path: "docs/a.md", NewMode: "100755"}, 0, []string{"PATH_MODE"}},
		"not there":        {FileChange{Path: "docs/gone.md", NewMode: "100644"}, 0, []string{"PATH_MISSING"}},
		"clash":            {FileChange{Path: "docs/b.md", NewMode: "100644"}, 0, []string{"PATH_CASE_CLASH"}},
		"clash of folders": {FileChange{Path: "docs/sub/x.md", NewMode: "100644"}, 0, []string{"PATH_CASE_CLASH"}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"docs/B.md": {}, "docs/Sub/y.md": {}}
			if p := c.change.Path; fs.ValidPath(p) && !strings.Contains(p, "gone") && !c.change.Deleted {
				fsys[p] = &fstest.MapFile{Mode: c.mode}
				if c.mode == 0 {
					fsys[p].Mode = 0o644
				}
			}
			s := &CheckSite{Tree: fsys, Changes: []FileChange{c.change}, Allowed: []string{"docs/**"}}
			found := CheckPaths(s)
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
	s := &CheckSite{Tree: fstest.MapFS{"docs": {Mode: fs.ModeSymlink | 0o777, Data: []byte("/etc")}}, Changes: []FileChange{{Path: "docs/passwd", NewMode: "100644"}}, Allowed: []string{"docs/**"}}
	if got := toldCheck(CheckPaths(s)); !slices.Equal(got, []string{"PATH_SYMLINK docs/passwd:0"}) {
		t.Error(got)
	}
	s = treeCheck("a.md", "x")
	s.Allowed = []string{"[", "**/*.md"}
	if got := toldCheck(CheckPaths(s)); !slices.Equal(got, []string{"PATH_PATTERN :0"}) {
		t.Error(got)
	}
}

// A gate is in three lists: recipe parses its name, runner has its function, and the documentation names it.
func TestEveryGateOfRecipesIsImplementedAndDocumented(t *testing.T) {
	implemented := slices.Sorted(maps.Keys(CheckGates))
	gates := recipe.Shape().Schema()["properties"].(map[string]any)["gates"].(map[string]any)["additionalProperties"].(map[string]any)
	uses := gates["properties"].(map[string]any)["uses"].(map[string]any)
	if parsed := fmt.Sprint(uses["enum"]); parsed != fmt.Sprint(implemented) {
		t.Errorf("builtInGates in internal/run/recipe has %s, CheckGates %s", parsed, implemented)
	}
	page := string(testkit.Must(os.ReadFile("../../docs/recipes.md"))(t))
	_, list, _ := strings.Cut(page, "A gate is built in (`uses`: ")
	list, _, _ = strings.Cut(list, ";")
	if documented := sorted(strings.Split(list, ", ")); !slices.Equal(documented, implemented) {
		t.Errorf("docs/recipes.md names the gates %s, CheckGates has %s", documented, implemented)
	}
}

func TestLimits(t *testing.T) {
	s := treeCheck("a.md", "1\n2\n3", "b.md", "1\n2\n", "c.md", "")
	for _, c := range []struct {
		limits recipe.Limits
		want   []string
	}{
		{recipe.Limits{}, []string{}},
		{recipe.Limits{Files: 3, LinesPerFile: 3}, []string{}},
		{recipe.Limits{Files: 2}, []string{"LIMIT_FILES :0"}},
		{recipe.Limits{LinesPerFile: 2}, []string{"LIMIT_LINES a.md:0"}},
		{recipe.Limits{LinesPerFile: 1}, []string{"LIMIT_LINES a.md:0", "LIMIT_LINES b.md:0"}},
	} {
		s.Limits = c.limits
		found := CheckSize(s)
		sound(t, found)
		if got := toldCheck(found); !slices.Equal(got, c.want) {
			t.Error(c.limits, got)
		}
	}
}

func TestSecretsAreToldWithoutThem(t *testing.T) {
	s := treeCheck("a.md", "x\nkey hunter2\n", "b.md", "clean\n")
	s.Texts = map[string]string{"the body": "maybe"}
	s.Secrets = func(text string) []secret.Found {
		switch {
		case strings.Contains(text, "hunter2"):
			return []secret.Found{{Name: "password", Line: 2, Sure: true}}
		case text == "maybe":
			return []secret.Found{{Name: "generic", Line: 1}}
		}
		return nil
	}
	found := CheckSecrets(s)
	sound(t, found)
	if got := toldCheck(found); !slices.Equal(got, []string{"SECRET_MAYBE :1", "SECRET a.md:2"}) || found[0].Severity != Warn || found[1].Severity != Blocker {
		t.Error(found)
	}
	for _, f := range found {
		if strings.Contains(f.Message+f.Fix, "hunter2") {
			t.Error(f)
		}
	}
}
