package local

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
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
		{args{"path": "./sub/../a.txt", "offset": 2, "limit": 1}, "     2\ttwo\n[lines 2 to 2 of 3; offset 3 continues]\n"},
		{args{"path": "a.txt", "offset": 2.0, "limit": 1e0}, "     2\ttwo\n"},
		{args{"path": "a.txt", "offset": 4}, "The file has only 3 lines."},
		{args{"path": "empty"}, "The file is empty."},
		{args{"path": "bad"}, "     1\ta\uFFFDb\u241b[31m\n[bytes that are not UTF-8 are shown as \uFFFD]\n"},
		{args{"path": "bom"}, "     1\tx\n"},
		{args{"path": "long", "limit": 1}, strings.Repeat("é", 1000) + " […]\n[lines 1 to 1 of 2; offset 2 continues; lines over 2000 bytes are cut]\n"},
		{args{"path": "long", "offset": 2}, "     2\tnext\n[lines 2 to 2 of 2]\n"},
		{args{"path": "many"}, "  2000\tline\n[lines 1 to 2000 of 5000; offset 2001 continues]\n"},
		{args{"path": "many", "limit": 999999}, "[lines 1 to 2000 of 5000; offset 2001 continues]\n"},
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
	testkit.OK(t, os.Chmod(file, 0o751))
	hard := filepath.Join(d.outside, "hard")
	testkit.OK(t, os.Link(file, hard))
	d.works("read", args{"path": "script"}, "sh")
	d.works("write", args{"path": "script", "content": "echo\n"}, "Replaced")
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o751 {
		t.Error(info, err)
	}
	if text, err := os.ReadFile(hard); err != nil || string(text) != "#!/bin/sh\n" {
		t.Errorf("the other name of the file was written: %q %v", text, err)
	}
	testkit.OK(t, os.Chmod(filepath.Join(d.root, "locked"), 0o444))
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
		{"glob", args{"pattern": "**/config"}, "No file matches (10 checked)."},
		{"glob", args{"pattern": "x.*"}, "No file matches (10 checked). In folders below 2 would: **/x.* finds them."},
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
		if again := d.call(c.name, c.a); !reflect.DeepEqual(again, got) {
			t.Errorf("%s %v: another time %+v", c.name, c.a, again)
		}
		if strings.Contains(got.Text, "git") {
			t.Errorf("%s %v looked at git: %q", c.name, c.a, got.Text)
		}
	}
	d.fails("glob", args{"pattern": "{a"}, "not a valid pattern")
	d.fails("glob", args{"pattern": strings.Repeat("{a,aa}", 40) + "b"}, "too many braces")
	d.fails("grep", args{"pattern": "x", "include": strings.Repeat("{a,{b,c}}", 40) + "b"}, "too many braces")
	d.fails("glob", args{"pattern": "*", "path": "missing"}, "There is no missing.")
	d.fails("grep", args{"pattern": "(a"}, "regular expression")
	d.fails("grep", args{"pattern": "a", "include": "[a"}, "not a valid pattern")
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
	hide := []string{filepath.Join(d.root, "data/ramet"), filepath.Join(d.root, "config.toml")}
	d.local = testkit.Must(New(Options{Root: d.root, Hide: hide}))(t)
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

func TestReadShowsImagesAndDocuments(t *testing.T) {
	root := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	l := testkit.Must(New(Options{Root: root}))(t)
	var small, large bytes.Buffer
	for out, size := range map[*bytes.Buffer]int{&small: 20, &large: 3000} {
		testkit.OK(t, png.Encode(out, image.NewGray(image.Rect(0, 0, size, size/2))))
	}
	for name, body := range map[string][]byte{
		"a.png": small.Bytes(), "big.png": large.Bytes(), "cut.png": small.Bytes()[:40], "odd.txt": small.Bytes(),
		"a.pdf": []byte("%PDF-1.7\n1 0 obj\n%%EOF\n"), "locked.pdf": []byte("%PDF-1.7\n/Encrypt 2 0 R\n%%EOF\n"), "cut.pdf": []byte("%PDF-1.7\n1 0 obj\n"),
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(root, name), body, 0o600))
	}
	sees, blind, stranger := llm.Model{Known: true, Images: true, PDF: true}, llm.Model{Known: true}, llm.Model{}
	for _, c := range []struct {
		path  string
		to    llm.Model
		want  string
		shown string // the media type
	}{
		{"a.png", sees, "a.png: PNG, 20×10 pixels. It is shown below.", "image/png"},
		{"a.png", stranger, "a.png: PNG, 20×10 pixels", "image/png"},
		{"odd.txt", sees, "PNG, 20×10", "image/png"},
		{"big.png", sees, "2000×1000 pixels, made smaller from 3000×1500", "image/png"},
		{"a.png", blind, "cannot see images", ""},
		{"cut.png", sees, "cut.png is damaged", ""},
		{"a.pdf", sees, "a.pdf: PDF, 23 bytes. It is shown below.", "application/pdf"},
		{"a.pdf", blind, "which the model that you are cannot be given", ""},
		{"locked.pdf", sees, "password", ""},
		{"cut.pdf", sees, "end is missing", ""},
	} {
		args := testkit.Must(json.Marshal(map[string]any{"path": c.path}))(t)
		a, err := l.read().Run(t.Context(), tool.Call{Args: args, Model: c.to, Output: func([]byte) {}})
		if err != nil || !strings.Contains(a.Text, c.want) || a.IsError != (c.shown == "") || (a.File != nil) != (c.shown != "") {
			t.Errorf("%s: %+v %v", c.path, a, err)
			continue
		}
		if a.File != nil && (a.File.MediaType != c.shown || a.File.Name != c.path || len(a.File.Data) == 0) {
			t.Errorf("%s: %s %s", c.path, a.File.MediaType, a.File.Name)
		}
		if a.Memo != "" {
			t.Errorf("%s: what was only looked at may not be edited: %s", c.path, a.Memo)
		}
	}
}

var named = regexp.MustCompile(`all of it is in (\S+), for read and grep`)

// shelfDesk is a desk with a shelf for long answers.
func shelfDesk(t *testing.T, files ...string) *desk {
	t.Helper()
	d := newDesk(t, files...)
	o := d.local.o
	o.Outputs, o.Limits = filepath.Join(d.outside, "outputs"), Limits{}
	o.Clean = func(s string) string { return strings.ReplaceAll(s, "s3cr3t", "[secret]") }
	d.local = testkit.Must(New(o))(t)
	return d
}

func TestLongOutputLiesInAFile(t *testing.T) {
	d := shelfDesk(t)
	if got := d.works("bash", args{"command": "seq 1000"}, "500\n"); strings.Contains(got.Text, "left out") {
		t.Errorf("%q", got.Text)
	}
	if _, err := os.Stat(d.local.o.Outputs); err == nil {
		t.Error("a short output made a file")
	}
	got := d.works("bash", args{"command": "seq 20000; echo s3cr3t"}, "1\n2\n3\n")
	where := named.FindStringSubmatch(got.Text)
	if len(got.Text) > longest+300 || where == nil || !strings.Contains(got.Text, "20000\n") || !filepath.IsAbs(where[1]) {
		t.Fatalf("%d bytes: %q", len(got.Text), got.Text)
	}
	d.works("read", args{"path": where[1], "offset": 12345, "limit": 1}, " 12345\t12345\n")
	d.works("grep", args{"path": where[1], "pattern": "^1234.$"}, "12340: 12340")
	if got := d.works("read", args{"path": where[1], "offset": 20001}, "[secret]"); got.Memo != "" {
		t.Errorf("%+v", got)
	}
	if info, err := os.Stat(where[1]); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	d.fails("write", args{"path": where[1], "content": "x"}, "outside the workspace")
	d.fails("edit", args{"path": where[1], "old_string": "1234\n", "new_string": "x"}, "outside the workspace")
	d.fails("read", args{"path": filepath.Join(d.local.o.Outputs, "../secret")}, "outside the workspace")
	d.fails("read", args{"path": filepath.Join(filepath.Dir(where[1]), "none")}, "There is no")
}

func TestLongAnswersLieInAFile(t *testing.T) {
	d := shelfDesk(t)
	for i := range 300 {
		d.put(strings.Repeat("long", 20)+"/"+strings.Repeat("name", 10)+string(rune('a'+i%26))+strings.Repeat("x", i/26), "needle in this file\n")
	}
	for name, a := range map[string]args{"grep": {"pattern": "needle"}, "glob": {"pattern": "**"}} {
		got := d.works(name, a, "left out here")
		where := named.FindStringSubmatch(got.Text)
		if len(got.Text) > longest+300 || where == nil {
			t.Fatalf("%s: %d bytes: %q", name, len(got.Text), got.Text)
		}
		d.works("read", args{"path": where[1], "limit": 1}, "long")
	}
}

func TestTheShelfHasAnEnd(t *testing.T) {
	d := shelfDesk(t)
	for range mostShelfs + 5 {
		f := testkit.Must(d.local.shelve("x"))(t)
		f.Close()
	}
	if left, err := os.ReadDir(d.local.o.Outputs); err != nil || len(left) > mostShelfs {
		t.Error(len(left), err)
	}
}

func TestSearchesPassOverWhatIsIgnored(t *testing.T) {
	d := newDesk(t, ".gitignore", "node_modules\n*.log\n", ".ignore", "vendored/\n", "node_modules/a/index.js", "needle", "src/node_modules/b.js", "needle",
		"x.log", "needle", "vendored/v.go", "needle", "src/a.go", "needle\n", "bin", "needle\x00")
	for _, c := range []struct {
		name string
		a    args
		want string
	}{
		{"grep", args{"pattern": "needle"}, "src/a.go\n1: needle"},
		{"glob", args{"pattern": "**/*.{js,log,go}"}, "src/a.go"},
		// What is named is searched.
		{"grep", args{"pattern": "needle", "path": "node_modules"}, "node_modules/a/index.js\n1: needle"},
		{"grep", args{"pattern": "needle", "path": "src/node_modules"}, "src/node_modules/b.js\n1: needle"},
		{"grep", args{"pattern": "needle", "path": "x.log"}, "x.log\n1: needle"},
		{"grep", args{"pattern": "needle", "path": "bin"}, "No line fits (0 files searched)."},
		{"grep", args{"pattern": "nowhere"}, "No line fits (3 files searched; ignored ones are not: name one, or its folder, as path)."},
		{"glob", args{"pattern": "*.nothing"}, "No file matches (4 checked, without ignored ones; name an ignored folder as path to search it)."},
	} {
		if got := d.works(c.name, c.a, c.want); got.Text != c.want {
			t.Errorf("%s %v: %q, want %q", c.name, c.a, got.Text, c.want)
		}
	}
}

func TestWhatWasChangedLastComesFirst(t *testing.T) {
	d := newDesk(t, "a", "x\n", "b", "x\n", "c", "x\n", "d/e", "x\n")
	d.age("c", time.Minute)
	d.age("d/e", time.Second)
	for mode, want := range map[string]string{"files": "d/e\nc\na\nb", "count": "d/e: 1\nc: 1\na: 1\nb: 1\n[4 lines in 4 files]", "lines": "d/e\n1: x\nc\n1: x\na\n1: x\nb\n1: x"} {
		if got := d.works("grep", args{"pattern": "x", "mode": mode}, ""); got.Text != want {
			t.Errorf("%s: %q, want %q", mode, got.Text, want)
		}
	}
	if got := d.works("glob", args{"pattern": "**"}, ""); got.Text != "d/e\nc\na\nb" {
		t.Errorf("%q", got.Text)
	}
}

func TestGrepShowsWhatIsAround(t *testing.T) {
	d := newDesk(t, "a.go", "1\n2\nhit 3\n4\n5\n6\n7\nhit 8\r\nhit 9\n", "b_test.go", "hit\n", "c.md", "one\ntwo {\n  three\n}\n")
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"pattern": "hit", "context": 1, "exclude": "*_test.go"}, "a.go\n2- 2\n3: hit 3\n4- 4\n--\n7- 7\n8: hit 8\n9: hit 9"},
		{args{"pattern": "hit", "include": "!*_test.go"}, "a.go\n3: hit 3\n8: hit 8\n9: hit 9"},
		{args{"pattern": "hit$", "include": "*_test.go,*.md"}, "b_test.go\n1: hit"},
		{args{"pattern": `two \{.*\}`, "multiline": true}, "c.md\n2: two {\n3:   three\n4: }"},
		{args{"pattern": `two \{\n\s+three`}, "c.md\n2: two {\n3:   three"},
		{args{"pattern": `two.*three`}, "No line fits (3 files searched)."},
		{args{"pattern": `two\|three`}, `No line fits (3 files searched). In RE2 \| is a plain |.`},
		{args{"pattern": `^$`}, "No line fits (3 files searched)."},
		{args{"pattern": `t[^\n]*o`}, "c.md\n2: two {"},
	} {
		if got := d.works("grep", c.a, c.want); got.Text != c.want {
			t.Errorf("%v: %q, want %q", c.a, got.Text, c.want)
		}
	}
	d.fails("grep", args{"pattern": "a(?=b)"}, "no look-around")
	d.fails("read", args{"path": "c.mdd"}, "There is no c.mdd. Did you mean c.md?")
}

// What a matcher knows beforehand never hides a line.
func FuzzRequired(f *testing.F) {
	for _, p := range []string{"abc", "a+bc*", "(ab|ac)d", "x{2,3}yz", "(?i)ab", "a|", `\babc\b`, "a.c", "(abc)?d", "[a]bc"} {
		f.Add(p, "abc\nxxyz\nabd d\n")
	}
	f.Fuzz(func(t *testing.T, pattern, body string) {
		m, err := newMatcher(pattern, false, false)
		if err != nil || m.multi || len(m.must) == 0 {
			return
		}
		bare := *m
		bare.must = nil
		var with, without []string
		for from, to := range m.lines([]byte(body)) {
			with = append(with, body[from:to])
		}
		for from, to := range bare.lines([]byte(body)) {
			without = append(without, body[from:to])
		}
		if strings.Join(with, "\n") != strings.Join(without, "\n") {
			t.Errorf("%q (needs %q) in %q: %q, without %q", pattern, m.must, body, with, without)
		}
	})
}
