package local

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var named = regexp.MustCompile(`all of it is in (\S+), for read and grep`)

// shelfDesk is a desk with a shelf for long answers.
func shelfDesk(t *testing.T, files ...string) *desk {
	t.Helper()
	d := newDesk(t, files...)
	o := d.local.o
	o.Outputs, o.Limits = filepath.Join(d.outside, "outputs"), Limits{}
	o.Clean = func(s string) string { return strings.ReplaceAll(s, "s3cr3t", "[secret]") }
	var err error
	if d.local, err = New(o); err != nil {
		t.Fatal(err)
	}
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
		f, err := d.local.shelve("x")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if left, err := os.ReadDir(d.local.o.Outputs); err != nil || len(left) > mostShelfs {
		t.Error(len(left), err)
	}
}
