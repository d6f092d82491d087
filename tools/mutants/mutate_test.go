package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryKindOfMutantIsFound(t *testing.T) {
	source := `package p

func f(a int, ok bool, err error) (bool, error) {
	if ok {
		a++
	}
	if err != nil {
		return false, err
	}
	a = a + 2
	_ = make([]int, a, a+3)
	return a < 7, err
}
`
	all, err := mutateFile("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, m := range all {
		_, after := m.lines()
		got[after] = true
		if after == "return true, err" {
			t.Error("what is next to an error is changed")
		}
		if strings.HasPrefix(after, "_ = make") {
			t.Errorf("a capacity is changed: %s", after)
		}
		if text := string(m.apply()); text == source || !strings.HasPrefix(text, "package p") {
			t.Errorf("%s makes %q", m, text)
		}
	}
	for _, want := range []string{"if !(ok) {", "", "a = a - 2", "a = a + (2 + 1)", "return a <= 7, err", "return a < (7 + 1), err", "return a < 7, nil"} {
		if !got[want] {
			t.Errorf("no mutant %q in %v", want, got)
		}
	}
}

// A mutant that a test sees is killed, one that no test sees survives, and the checkout stays as it is.
func TestJudge(t *testing.T) {
	root := t.TempDir()
	source := "package p\n\nfunc Less(a, b int) bool { return a < b }\n"
	for name, text := range map[string]string{
		"go.mod":               "module example\n\ngo 1.24\n",
		"internal/p/p.go":      source,
		"internal/p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestLess(t *testing.T) {\n\tif !Less(1, 2) {\n\t\tt.Fatal()\n\t}\n}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := strings.Index(source, "<")
	for after, want := range map[string]verdict{"<=": alive, ">": dead, "<<": invalid} {
		m := mutant{file: "internal/p/p.go", line: 3, start: at, end: at + 1, after: after, source: []byte(source)}
		if got, out, err := judge(root, m, nil); err != nil || got != want {
			t.Errorf("%s: verdict %v, %v\n%s", after, got, err, out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "internal/p/p.go")); err != nil || string(text) != source {
		t.Errorf("the checkout has %q, %v", text, err)
	}

	// Tests that fail anyway kill no mutant.
	fails := "package p\n\nimport \"testing\"\n\nfunc TestFails(t *testing.T) { t.Fatal() }\n"
	if err := os.WriteFile(filepath.Join(root, "internal/p/fails_test.go"), []byte(fails), 0o600); err != nil {
		t.Fatal(err)
	}
	clear(passing)
	m := mutant{file: "internal/p/p.go", line: 3, start: at, end: at + 1, after: ">", source: []byte(source)}
	if got, _, err := judge(root, m, nil); err == nil || !strings.Contains(err.Error(), "fails without a mutant") {
		t.Errorf("verdict %v, %v", got, err)
	}
}

// The lists name packages and mutants of this checkout: one that is moved or changed must not be forgotten there.
func TestListsNameWhatIsThere(t *testing.T) {
	judges, err := readJudges("judges.txt")
	if err != nil {
		t.Fatal(err)
	}
	equivalent, err := readEquivalents("equivalent.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range judges.names {
		found, err := findMutants("../..", filepath.Join("internal", name))
		if err != nil || len(found) == 0 {
			t.Errorf("%s has %d mutants: %v", name, len(found), err)
		}
		for _, m := range found {
			delete(equivalent, m.key())
		}
	}
	for key := range equivalent {
		t.Errorf("no such mutant: %s", key)
	}
}
