package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadShowsLinesWithNumbers(t *testing.T) {
	d := newDesk(t, "a.txt", "one\ntwo\r\nthree", "empty", "", "bad", "a\xffb\x1b[31m\n", "bin", "a\x00b", "bom", "\uFEFFx\n",
		"long", strings.Repeat("é", 5000)+"\nnext\n", "many", strings.Repeat("line\n", 5000), "wide", strings.Repeat(strings.Repeat("x", 1999)+"\n", 300),
		"-dash", "d", "new\nline", "n", "sub/file", "s")
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"path": "a.txt"}, "     1\tone\n     2\ttwo\n     3\tthree\n"},
		{args{"path": filepath.Join(d.root, "a.txt")}, "     1\tone\n"},
		{args{"path": "./sub/../a.txt", "offset": 2, "limit": 1}, "     2\ttwo\n[lines 2 to 2 of 3; offset 3 goes on]\n"},
		{args{"path": "a.txt", "offset": 2.0, "limit": 1e0}, "     2\ttwo\n"},
		{args{"path": "a.txt", "offset": 4}, "The file has only 3 lines."},
		{args{"path": "empty"}, "The file is empty."},
		{args{"path": "bad"}, "     1\ta\uFFFDb\u241b[31m\n[bytes that are not UTF-8 are shown as \uFFFD]\n"},
		{args{"path": "bom"}, "     1\tx\n"},
		{args{"path": "long", "limit": 1}, strings.Repeat("é", 1000) + " […]\n[lines 1 to 1 of 2; offset 2 goes on; lines over 2000 bytes are cut]\n"},
		{args{"path": "long", "offset": 2}, "     2\tnext\n[lines 2 to 2 of 2]\n"},
		{args{"path": "many"}, "  2000\tline\n[lines 1 to 2000 of 5000; offset 2001 goes on]\n"},
		{args{"path": "many", "limit": 999999}, "[lines 1 to 2000 of 5000; offset 2001 goes on]\n"},
		{args{"path": "many", "offset": 4001}, "  5000\tline\n[lines 4001 to 5000 of 5000]\n"},
		{args{"path": "wide"}, " of 300; offset 1"},
		{args{"path": "-dash"}, "     1\td\n"},
		{args{"path": "new\nline"}, "     1\tn\n"},
	} {
		if got := d.works("read", c.a, c.want); len(got.Text) > mostBytes+100 {
			t.Errorf("%v: %d bytes", c.a, len(got.Text))
		}
	}
	d.fails("read", args{"path": "bin"}, "binary file of 3 bytes")
	d.put("paper.pdf", "%PDF-1.7\n%x\n")
	d.fails("read", args{"path": "paper.pdf"}, "is a PDF of 12 bytes, which the model that you are cannot be given. Make text of it")
	d.fails("read", args{"path": "missing"}, "There is no missing.")
	d.fails("read", args{"path": "missing/file"}, "There is no missing/file.")
	d.fails("read", args{"path": "sub"}, "is a folder")
	d.fails("read", args{"path": "a.txt/x"}, "is not a folder")
	d.fails("read", args{"path": "a\x00"}, "NUL")
	d.fails("read", args{"path": ""}, "must not be empty")
	d.fails("read", args{"path": "a.txt", "offset": 0}, "offset")
	d.fails("read", args{"path": "a.txt", "offset": 1.5}, "integer")
	d.works("read", args{"path": "a.txt", "size": 1, "offset": "3"}, "     3\tthree\n")
}

func TestWriteMakesAndReplaces(t *testing.T) {
	d := newDesk(t, "old", "one\ntwo\n", "script", "#!/bin/sh\n", "locked", "x")
	if got := d.works("write", args{"path": "a/b/c.txt", "content": "new\n"}, "Made a/b/c.txt (1 line, 4 bytes)"); !strings.Contains(got.Show, "+new") || !strings.Contains(got.Show, "b/a/b/c.txt") {
		t.Errorf("%q", got.Show)
	}
	if d.get("a/b/c.txt") != "new\n" {
		t.Error(d.get("a/b/c.txt"))
	}
	d.works("write", args{"path": "a/b/c.txt", "content": "again\n"}, "Replaced") // we know what we wrote
	d.works("write", args{"path": "a/b/c.txt", "content": "again\n"}, "already")
	d.fails("write", args{"path": "old", "content": ""}, "was not read yet")
	d.works("read", args{"path": "old", "limit": 1}, "one")
	d.put("old", "three\n")
	d.fails("write", args{"path": "old", "content": ""}, "has changed since")
	d.works("read", args{"path": "old"}, "three")
	if got := d.works("write", args{"path": "old", "content": "four\n"}, "Replaced old"); !strings.Contains(got.Show, "-three\n+four\n") {
		t.Errorf("%q", got.Show)
	}
	d.fails("write", args{"path": "a", "content": ""}, "is a folder")
	d.fails("write", args{"path": ".", "content": ""}, "is a folder")
	d.fails("write", args{"path": "new/", "content": ""}, "names a folder")
	d.fails("write", args{"path": "old/x", "content": ""}, "not a folder")
	d.works("write", args{"path": "-rf", "content": "dash"}, "Made -rf")
	d.works("write", args{"path": "two\nlines", "content": "x"}, "Made two lines")

	file := filepath.Join(d.root, "script")
	if err := os.Chmod(file, 0o751); err != nil {
		t.Fatal(err)
	}
	hard := filepath.Join(d.outside, "hard")
	if err := os.Link(file, hard); err != nil {
		t.Fatal(err)
	}
	d.works("read", args{"path": "script"}, "sh")
	d.works("write", args{"path": "script", "content": "echo\n"}, "Replaced")
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o751 {
		t.Error(info, err)
	}
	if text, err := os.ReadFile(hard); err != nil || string(text) != "#!/bin/sh\n" {
		t.Errorf("the other name of the file was written: %q %v", text, err)
	}
	if err := os.Chmod(filepath.Join(d.root, "locked"), 0o444); err != nil {
		t.Fatal(err)
	}
	d.works("read", args{"path": "locked"}, "x")
	d.fails("write", args{"path": "locked", "content": "y"}, "read-only")
	if left, err := filepath.Glob(filepath.Join(d.root, ".ramet-*")); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

func TestEditReplacesOneText(t *testing.T) {
	d := newDesk(t, "a.go", "func a() {\n\treturn 1\n}\nfunc b() {\n\treturn 1\n}\n", "dos", "\uFEFFone\r\ntwo\r\nthree\r\n", "mixed", "one\r\ntwo\n")
	d.fails("edit", args{"path": "a.go", "old_string": "1", "new_string": "2"}, "was not read yet")
	for _, file := range []string{"a.go", "dos", "mixed"} {
		d.works("read", args{"path": file}, "")
	}
	d.fails("edit", args{"path": "a.go", "old_string": "return 1", "new_string": "return 2"}, "2 times, in lines 2, 5.")
	d.fails("edit", args{"path": "a.go", "old_string": "return 7", "new_string": "x"}, `Most like its first line is line 2: "\treturn 1"`)
	d.fails("edit", args{"path": "a.go", "old_string": "    return 1\n}\nfunc c", "new_string": "x"}, "Nearest, with differences in lines 2 to 4:\n     2\t\treturn 1\n     3\t}\n     4\tfunc b() {\n")
	d.fails("edit", args{"path": "a.go", "old_string": "completely different", "new_string": "x"}, "Read the file again")
	d.fails("edit", args{"path": "a.go", "old_string": " \n ", "new_string": "x"}, "spaces and line ends only")
	d.fails("edit", args{"path": "a.go", "old_string": "a()", "new_string": "a()"}, "the same")
	d.fails("edit", args{"path": "a.go", "old_string": "", "new_string": "a()"}, "must not be empty")
	d.fails("edit", args{"path": "missing", "old_string": "x", "new_string": "y"}, "There is no missing")
	if got := d.works("edit", args{"path": "a.go", "old_string": "func b() {\n\treturn 1", "new_string": "func b() {\n\treturn 2"}, "Edited a.go."); !strings.Contains(got.Show, "-\treturn 1\n+\treturn 2\n") {
		t.Errorf("%q", got.Show)
	}
	d.works("edit", args{"path": "a.go", "old_string": "return", "new_string": "panic", "replace_all": true}, "in 2 places")
	if want := "func a() {\n\tpanic 1\n}\nfunc b() {\n\tpanic 2\n}\n"; d.get("a.go") != want {
		t.Errorf("%q", d.get("a.go"))
	}
	d.works("edit", args{"path": "dos", "old_string": "one\ntwo", "new_string": "1\n2\n2b"}, "Edited")
	if want := "\uFEFF1\r\n2\r\n2b\r\nthree\r\n"; d.get("dos") != want {
		t.Errorf("%q", d.get("dos"))
	}
	d.works("edit", args{"path": "mixed", "old_string": "two\n", "new_string": "2\n"}, "Edited")
	if want := "one\r\n2\n"; d.get("mixed") != want {
		t.Errorf("%q", d.get("mixed"))
	}
}

func TestSearchesAreSortedAndBounded(t *testing.T) {
	d := newDesk(t, "b.go", "package b\nfunc B() {}\n", "a/x.go", "package a\n", "a-b/x.txt", "PACKAGE\n", "bin.go", "package\x00", ".git/config", "package git",
		"a/.git", "gitdir: package", ".ramet/config.toml", "package = 1", "many", strings.Repeat("match here\n", 300), "wide", strings.Repeat("w", 1000)+"needle",
		"new\nline.go", "package n\n")
	d.link("../outside", "out")
	d.link("a", "inner")
	for _, c := range []struct {
		name string
		a    args
		want string
	}{
		{"glob", args{"pattern": "**/*.go"}, "a/x.go\nb.go\nbin.go\n\"new\\nline.go\""},
		{"glob", args{"pattern": "*.go", "path": "a"}, "a/x.go"},
		{"glob", args{"pattern": d.root + "/a/*"}, "a/x.go"},
		{"glob", args{"pattern": "./*.{go,txt}"}, "b.go\nbin.go\n\"new\\nline.go\""},
		{"glob", args{"pattern": "**/config"}, "No file fits (10 looked at)."},
		{"glob", args{"pattern": "x.*"}, "No file fits (10 looked at). In folders below 2 would: **/x.* finds them."},
		{"glob", args{"pattern": "**/*.go", "exclude": "b*, a/"}, "\"new\\nline.go\""},
		{"glob", args{"pattern": "out/**"}, "out"}, // the link itself; what it leads to is not looked at
		{"grep", args{"pattern": "^package [a-z]"}, "a/x.go\n1: package a\nb.go\n1: package b\n\"new\\nline.go\"\n1: package n"},
		{"grep", args{"pattern": "func", "path": "b.go"}, "b.go\n2: func B() {}"},
		{"grep", args{"pattern": "package", "path": "inner"}, "a/x.go\n1: package a"},
		{"grep", args{"pattern": "package", "include": "*.txt"}, "No line fits (1 files searched, 7 left out by include and exclude)."},
		{"grep", args{"pattern": "package", "include": "*.txt", "ignore_case": true}, "a-b/x.txt\n1: PACKAGE"},
		{"grep", args{"pattern": "package", "include": "a/**"}, "a/x.go\n1: package a"},
		{"grep", args{"pattern": "match"}, "\n200: match here\n[the first 200 of 300 lines in 1 file: use a narrower pattern, path or include, or mode files]"},
		{"grep", args{"pattern": "needle"}, "wide\n1: " + strings.Repeat("w", 300) + " […]"},
		{"grep", args{"pattern": "theirs"}, "No line fits (7 files searched)."},
		{"list", args{}, ".ramet/\na/\na-b/\nb.go 22\nbin.go 8\ninner -> a\nmany 3300\n\"new\\nline.go\" 10\nout -> ../outside\nwide 1006\n"},
		{"list", args{"path": "a"}, "x.go 10\n"},
	} {
		got := d.works(c.name, c.a, c.want)
		if c.name != "grep" && got.Text != c.want {
			t.Errorf("%s %v: %q, want %q", c.name, c.a, got.Text, c.want)
		}
		if again := d.call(c.name, c.a); again != got {
			t.Errorf("%s %v: another time %+v", c.name, c.a, again)
		}
		if strings.Contains(got.Text, "git") {
			t.Errorf("%s %v looked at git: %q", c.name, c.a, got.Text)
		}
	}
	d.fails("glob", args{"pattern": "{a"}, "no valid pattern")
	d.fails("glob", args{"pattern": strings.Repeat("{a,aa}", 40) + "b"}, "too many braces")
	d.fails("grep", args{"pattern": "x", "include": strings.Repeat("{a,{b,c}}", 40) + "b"}, "too many braces")
	d.fails("glob", args{"pattern": "*", "path": "missing"}, "There is no missing.")
	d.fails("grep", args{"pattern": "(a"}, "regular expression")
	d.fails("grep", args{"pattern": "a", "include": "[a"}, "no valid pattern")
	d.fails("list", args{"path": "b.go"}, "not a folder")
}

// The trash may be made while the tools are in use.
func TestTheTrashIsNotForTools(t *testing.T) {
	d := newDesk(t, "other.txt", "marker", ".ramet/config.toml", "")
	d.put(".ramet/trash/act/1", "marker")
	d.link(".ramet/trash", "link")
	for _, path := range []string{".ramet/trash/act/1", ".ramet/Trash/act/1", "link/act/1", ".ramet/x/../trash/act/1"} {
		d.fails("read", args{"path": path}, "")
	}
	d.fails("list", args{"path": ".ramet/trash"}, "ramet's own")
	d.fails("grep", args{"path": ".ramet/trash/act", "pattern": "marker"}, "ramet's own")
	if got := d.works("list", args{"path": ".ramet"}, "config.toml"); strings.Contains(got.Text, "trash") {
		t.Error(got.Text)
	}
	for name, a := range map[string]args{"grep": {"pattern": "marker"}, "glob": {"pattern": "**/*"}} {
		if got := d.works(name, a, "other.txt"); strings.Contains(got.Text, "act") {
			t.Errorf("%s: %s", name, got.Text)
		}
	}
	if got := d.call("glob", args{"pattern": "**/*", "path": ".ramet"}); strings.Contains(got.Text, "act") {
		t.Error(got.Text)
	}
}

func TestWhatIsRametsOwnIsNotForTools(t *testing.T) {
	d := newDesk(t, "data/ramet/credentials.toml", "marker", "config.toml", "marker", "other.toml", "marker")
	d.link("data/ramet", "link")
	var err error
	hide := []string{filepath.Join(d.root, "data/ramet"), filepath.Join(d.root, "config.toml")}
	if d.local, err = New(Options{Root: d.root, Hide: hide}); err != nil {
		t.Fatal(err)
	}
	d.fails("read", args{"path": "data/ramet/credentials.toml"}, "ramet's own")
	d.fails("read", args{"path": "link/credentials.toml"}, "ramet's own")
	d.fails("read", args{"path": "config.toml"}, "ramet's own")
	d.fails("list", args{"path": "data/ramet"}, "ramet's own")
	d.fails("write", args{"path": "data/ramet/new.txt", "content": "x"}, "ramet's own")
	d.fails("write", args{"path": "config.toml", "content": "x"}, "ramet's own")
	for name, a := range map[string]args{"grep": {"pattern": "marker"}, "glob": {"pattern": "**/*.toml"}} {
		if got := d.works(name, a, "other.toml"); strings.Contains(got.Text, "credentials") || strings.Contains(got.Text, "config") {
			t.Errorf("%s: %s", name, got.Text)
		}
	}
}
