package facts_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"ramet/internal/docs"
	"ramet/internal/docs/facts"
	"ramet/internal/fault"
)

var update = flag.Bool("update", false, "write the golden facts")

// project reads a fixture.
func project(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, f := range a.Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
	}
	return fsys
}

func extract(t testing.TB, fsys fs.FS, name string) (docs.Inventory, docs.Facts) {
	t.Helper()
	inv, err := facts.Inventory(fsys, "0123abc")
	if err != nil {
		t.Fatal(err)
	}
	f, err := facts.Extract(fsys, inv, name)
	if err != nil {
		t.Fatal(err)
	}
	return inv, f
}

var fixtures = []string{"go", "python", "javascript", "rust", "monorepo"}

func TestGoldenFacts(t *testing.T) {
	for _, name := range fixtures {
		t.Run(name, func(t *testing.T) {
			fsys := project(t, name)
			inv, f := extract(t, fsys, "")
			holds(t, fsys, f)
			for what, v := range map[string]any{"facts": f, "inventory": inv} {
				got, err := docs.Encode(v)
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join("testdata", name+"."+what+".json")
				if *update {
					if err := os.WriteFile(file, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != string(want) {
					t.Errorf("%s differs; run with -update and read the difference", file)
				}
			}
		})
	}
}

var idForm = regexp.MustCompile(`^[a-z0-9._-]+$`)

// holds checks what is promised about all facts.
func holds(t testing.TB, fsys fs.FS, f docs.Facts) {
	t.Helper()
	seen := map[string]bool{}
	for i, c := range f.Claims {
		if !idForm.MatchString(c.ID) || seen[c.ID] || len(c.ID) > 200 {
			t.Errorf("id %q is malformed or taken", c.ID)
		}
		if i > 0 && f.Claims[i-1].ID > c.ID {
			t.Errorf("%s is out of order", c.ID)
		}
		seen[c.ID] = true
		if c.Name == "" || c.Kind == "" || len(c.Evidence) == 0 {
			t.Errorf("%s: name, kind or evidence is missing: %+v", c.ID, c)
		}
		if len(c.Signature) > 2_000 || len(c.Text) > 4_000 || strings.Contains(c.Text+c.Signature, "<!-- claim") {
			t.Errorf("%s: signature or text is too long, or cites", c.ID)
		}
		for _, e := range c.Evidence {
			data, err := fs.ReadFile(fsys, e.File)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(data), "\n")
			if lines[len(lines)-1] == "" {
				lines = lines[:len(lines)-1]
			}
			if e.From < 1 || e.To < e.From || e.To > len(lines) {
				t.Fatalf("%s: lines %d to %d of %s, which has %d", c.ID, e.From, e.To, e.File, len(lines))
			}
			sum := sha256.Sum256([]byte(strings.Join(lines[e.From-1:e.To], "")))
			if hex.EncodeToString(sum[:]) != e.SHA256 {
				t.Errorf("%s: the hash is not that of its lines", c.ID)
			}
			if err := facts.Check(fsys, e); err != nil {
				t.Errorf("%s: %v", c.ID, err)
			}
		}
	}
}

func TestChangingAnyLineOfTheEvidenceIsNoticed(t *testing.T) {
	for _, name := range fixtures {
		fsys := project(t, name)
		_, f := extract(t, fsys, "")
		for _, c := range f.Claims {
			for _, e := range c.Evidence {
				old := fsys[e.File]
				lines := strings.SplitAfter(string(old.Data), "\n")
				for _, n := range []int{e.From, e.To} {
					changed := append([]string{}, lines...)
					changed[n-1] = "x" + changed[n-1]
					fsys[e.File] = &fstest.MapFile{Data: []byte(strings.Join(changed, ""))}
					if err := facts.Check(fsys, e); !fault.Is(err, fault.Conflict) {
						t.Errorf("%s: line %d of %s changed: %v", c.ID, n, e.File, err)
					}
				}
				fsys[e.File] = old
			}
		}
	}
}

func TestAChangedBodyLeavesTheClaim(t *testing.T) {
	fsys := project(t, "go")
	_, f := extract(t, fsys, "")
	body := strings.Replace(string(fsys["kite.go"].Data), "return &Kite{Line: line}, nil", "return nil, ErrCalm", 1)
	fsys["kite.go"] = &fstest.MapFile{Data: []byte(body)}
	for _, c := range f.Claims {
		if c.ID == "go.function.kite.fly" {
			if err := facts.Check(fsys, c.Evidence[0]); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Fatal("Fly is not claimed")
}

func TestCheckRefusesWhatIsNoEvidence(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a/x.txt", "one\ntwo\n")
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a/x.txt", filepath.Join(dir, "x.txt")); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("one\n"))
	good := docs.Evidence{File: "a/x.txt", From: 1, To: 1, SHA256: hex.EncodeToString(sum[:])}
	if err := facts.Check(os.DirFS(dir), good); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*docs.Evidence){
		"line 0":         func(e *docs.Evidence) { e.From = 0 },
		"line 3":         func(e *docs.Evidence) { e.From, e.To = 3, 3 },
		"backwards":      func(e *docs.Evidence) { e.From, e.To = 2, 1 },
		"other hash":     func(e *docs.Evidence) { e.To = 2 },
		"no hash":        func(e *docs.Evidence) { e.SHA256 = "" },
		"missing":        func(e *docs.Evidence) { e.File = "b" },
		"a folder":       func(e *docs.Evidence) { e.File = "a" },
		"the root":       func(e *docs.Evidence) { e.File = "." },
		"outside":        func(e *docs.Evidence) { e.File = "../x.txt" },
		"absolute":       func(e *docs.Evidence) { e.File = "/etc/passwd" },
		"a link":         func(e *docs.Evidence) { e.File = "x.txt" },
		"through a link": func(e *docs.Evidence) { e.File = "link/x.txt" },
	} {
		bad := good
		change(&bad)
		if err := facts.Check(os.DirFS(dir), bad); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
