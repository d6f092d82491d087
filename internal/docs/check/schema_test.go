package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ramet/internal/docs"
)

// recorded is a site with its artifacts.
func recorded(t *testing.T, change func(inv *docs.Inventory, s *Site, a *docs.Assignment)) *Site {
	t.Helper()
	s := documented()
	inv := docs.Inventory{Commit: "c", Files: []docs.File{{Path: "f.go", Size: 3, SHA256: sum("x"), Role: "source"}}}
	a := docs.Assignment{Project: "a", Section: s.Plan.Sections[0], Claims: map[string]docs.Claim{"go.f": s.Facts.Claims[0]}}
	a.Section.Pages = slices.Clone(a.Section.Pages)
	change(&inv, s, &a)
	fsys := fstest.MapFS{}
	for name, v := range map[string]any{"inventory.json": inv, "facts.json": s.Facts, "plan.json": s.Plan, "citations.json": s.Citations, "sections/use.json": a} {
		data, err := docs.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		fsys[name] = &fstest.MapFile{Data: data}
	}
	s.Artifacts, s.Patch = fsys, "docs.patch"
	return s
}

func TestSchema(t *testing.T) {
	type args = func(inv *docs.Inventory, s *Site, a *docs.Assignment)
	for name, c := range map[string]struct {
		change args
		want   string // code and what the message holds
	}{
		"in order": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {}, ""},
		"blob": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			s.Changes[0].Blob = blobs([]byte(written))[0][:12]
		}, ""},
		"long blob":     {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Changes[0].Blob = blobs([]byte(written))[1] }, ""},
		"other blob":    {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Changes[0].Blob = "123456789abc" }, "SCHEMA_DIFFERS docs.patch"},
		"commit":        {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { inv.Commit = "d" }, "SCHEMA_COMMIT facts.json"},
		"plan's commit": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Plan.Commit = "d" }, "SCHEMA_COMMIT plan.json"},
		"file's path": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			inv.Files = append(inv.Files, docs.File{Path: "/x", SHA256: sum("x")})
		}, "SCHEMA_ORDER inventory.json SCHEMA_VALUE inventory.json"},
		"claim's id":    {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Facts.Claims[1].ID = "x y" }, "SCHEMA_VALUE facts.json"},
		"claims twice":  {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Facts.Claims[1] = s.Facts.Claims[0] }, "SCHEMA_TWICE facts.json"},
		"claims' order": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { slices.Reverse(s.Facts.Claims) }, "SCHEMA_ORDER facts.json"},
		"no evidence":   {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Facts.Claims[1].Evidence = nil }, "SCHEMA_EVIDENCE facts.json"},
		"evidence":      {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Facts.Claims[1].Evidence[0].From = 0 }, "SCHEMA_EVIDENCE facts.json"},
		"foreign file":  {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Facts.Claims[1].Evidence[0].File = "g.go" }, "SCHEMA_EVIDENCE facts.json"},
		"unknown claim": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			s.Plan.Sections[0].Pages[0].Claims = []string{"go.f", "go.z"}
		}, "SCHEMA_DIFFERS sections/use.json SCHEMA_UNKNOWN plan.json"},
		"page's path": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			s.Plan.Sections[0].Pages = append(s.Plan.Sections[0].Pages, docs.Page{Path: "x.go"})
			a.Section = s.Plan.Sections[0]
		}, "SCHEMA_VALUE plan.json"},
		"page twice": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			s.Plan.Sections[0].Pages = append(s.Plan.Sections[0].Pages, docs.Page{Path: "docs/A.md"})
			a.Section = s.Plan.Sections[0]
		}, "SCHEMA_TWICE plan.json"},
		"related": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			s.Plan.Sections[0].Pages[0].Related = []string{"docs/b.md"}
			a.Section = s.Plan.Sections[0]
		}, "SCHEMA_UNKNOWN plan.json"},
		"section's name": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			s.Plan.Sections = append(s.Plan.Sections, docs.Section{Name: "../x"})
		}, "SCHEMA_VALUE plan.json"},
		"section twice": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			s.Plan.Sections = append(s.Plan.Sections, docs.Section{Name: "use"})
		}, "SCHEMA_DIFFERS sections/use.json SCHEMA_TWICE plan.json"},
		"no assignment": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			s.Plan.Sections = append(s.Plan.Sections, docs.Section{Name: "more"})
		}, "SCHEMA_MISSING sections/more.json"},
		"assignment":      {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { a.Section.Title = "Other" }, "SCHEMA_DIFFERS sections/use.json"},
		"assigned claim":  {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { delete(a.Claims, "go.f") }, "SCHEMA_DIFFERS sections/use.json"},
		"page of no plan": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Citations.Pages[0].Path = "docs/z.md" }, "SCHEMA_UNKNOWN citations.json"},
		"page's section":  {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Citations.Pages[0].Section = "x" }, "SCHEMA_DIFFERS citations.json"},
		"page's hash":     {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Citations.Pages[0].SHA256 = sum("x") }, "SCHEMA_DIFFERS citations.json"},
		"page's lines":    {func(inv *docs.Inventory, s *Site, a *docs.Assignment) { s.Citations.Pages[0].Claims[0].Line = 999 }, "SCHEMA_VALUE citations.json"},
		"cited twice": {func(inv *docs.Inventory, s *Site, a *docs.Assignment) {
			s.Citations.Pages = append(s.Citations.Pages, s.Citations.Pages[0])
		}, "SCHEMA_TWICE citations.json"},
	} {
		t.Run(name, func(t *testing.T) {
			found := Schema(recorded(t, c.change))
			sound(t, found)
			var got []string
			for _, f := range found {
				name, _, _ := strings.Cut(strings.TrimPrefix(f.Message, "artifacts/"), ":")
				got = append(got, f.Code+" "+name)
			}
			if s := strings.Join(slices.Compact(sorted(got)), " "); s != c.want {
				t.Errorf("%s\nwant %s\n%v", s, c.want, found)
			}
		})
	}
}

func TestSchemaOfFilesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"{": "SCHEMA_FORM", `{"commit":"c","files":[],"more":1}`: "SCHEMA_FORM", "[]": "SCHEMA_FORM", "": "SCHEMA_FORM", "{} {}": "SCHEMA_FORM",
		`{"commit":"c","files":[]}`: "SCHEMA_BYTES",
	} {
		s := recorded(t, func(*docs.Inventory, *Site, *docs.Assignment) {})
		s.Artifacts.(fstest.MapFS)["inventory.json"].Data = []byte(text)
		found := Schema(s)
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Code == want && strings.Contains(f.Message, "inventory.json") }) {
			t.Errorf("%q: %v", text, found)
		}
	}
	s := recorded(t, func(*docs.Inventory, *Site, *docs.Assignment) {})
	delete(s.Artifacts.(fstest.MapFS), "facts.json")
	if found := Schema(s); len(found) != 1 || found[0].Code != "SCHEMA_MISSING" {
		t.Error(found)
	}
	s.Facts = docs.Facts{}
	if err := s.Load(); err != nil || s.Plan.Title != "a" {
		t.Error(err)
	}
	s.Artifacts.(fstest.MapFS)["plan.json"].Data = []byte("{")
	if err := s.Load(); err == nil || !strings.Contains(err.Error(), "plan.json") {
		t.Error(err)
	}
}

func TestChanges(t *testing.T) {
	patch := `From 123 Mon Sep 17 00:00:00 2001
Subject: [PATCH] docs

---
 docs/a.md | 2 +-

diff --git a/docs/a.md b/docs/a.md
index 83db48f..bf269f4 100644
--- a/docs/a.md
+++ b/docs/a.md
@@ -1,3 +1,3 @@ heading
 one
--- a/etc/passwd
+++ b/etc/passwd
 diff --git a/x b/x
diff --git a/docs/new file.md b/docs/new file.md
new file mode 100644
index 0000000..e69de29
diff --git "a/docs/\303\244.md" "b/docs/\303\244.md"
new file mode 120000
index 0000000..bf269f4
--- /dev/null
+++ "b/docs/\303\244.md"
@@ -0,0 +1 @@
+/etc/passwd
\ No newline at end of file
diff --git a/old.md b/old.md
deleted file mode 100644
index bf269f4..0000000
--- a/old.md
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/a b/c b/docs/d
similarity index 100%
rename from a b/c
rename to docs/d
diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/img.png b/img.png
new file mode 100644
index 0000000..abc1234
GIT binary patch
literal 3
Kc-jqb&-e5=
--- a/x

diff --git a/z b/z
index 1..2 100644
Binary files a/z and b/z differ
`
	got, err := Changes([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{Path: "docs/a.md", OldMode: "100644", NewMode: "100644", Blob: "bf269f4"},
		{Path: "docs/new file.md", NewMode: "100644", Blob: "e69de29"},
		{Path: "docs/ä.md", NewMode: "120000", Blob: "bf269f4"},
		{Path: "old.md", OldMode: "100644", Deleted: true, Blob: "0000000"},
		{Path: "docs/d", From: "a b/c", OldMode: "100644", NewMode: "100644"},
		{Path: "run", OldMode: "100644", NewMode: "100755"},
		{Path: "img.png", NewMode: "100644", Blob: "abc1234"},
		{Path: "z", OldMode: "100644", NewMode: "100644", Blob: "2"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	for name, bad := range map[string]string{
		"no patch":    "hello\n",
		"two names":   "diff --git a/x b/x\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
		"short hunk":  "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\n",
		"no numbers":  "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,x +1,9 @@\n",
		"bad quoting": "diff --git a/x b/x\n--- a/x\n+++ \"b/\\q\"\n",
		"no prefix":   "diff --git a/x b/x\n--- a/x\n+++ x\n",
	} {
		if got, err := Changes([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, err := Changes(nil); err != nil || got != nil {
		t.Error(got, err)
	}
}

func FuzzChanges(f *testing.F) {
	f.Add([]byte("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n b\n"))
	f.Add([]byte("diff --git \"a/\\303\" \"b/\\303\"\nnew file mode 120000\n"))
	f.Fuzz(func(t *testing.T, patch []byte) {
		changes, err := Changes(patch)
		if err != nil {
			return
		}
		s := &Site{Tree: fstest.MapFS{}, Changes: changes, Allowed: []string{"docs/**"}}
		for _, c := range changes {
			found := Paths(s)
			if unsafe(c.Path) != "" && len(found) == 0 {
				t.Fatalf("%q: %+v", patch, c)
			}
		}
		_ = fmt.Sprint(changes)
	})
}
