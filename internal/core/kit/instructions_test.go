package kit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

// stage is a user and a project made for one test.
type stage struct {
	t    *testing.T
	gate trust.Gate
	user UserInstructions
}

func newStage(t *testing.T) stage {
	return stage{t, trust.Gate{Home: t.TempDir(), Project: t.TempDir()}, UserInstructions{Dir: t.TempDir(), Home: t.TempDir()}}
}

func (s stage) write(dir, name, body string) {
	s.t.Helper()
	file := filepath.Join(dir, name)
	testkit.OK(s.t, os.MkdirAll(filepath.Dir(file), 0o700))
	testkit.OK(s.t, os.WriteFile(file, []byte(body), 0o600))
}

// project writes files of the project, name and body in turn.
func (s stage) project(pairs ...string) stage {
	s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		s.write(s.gate.Project, pairs[i], pairs[i+1])
	}
	return s
}

func (s stage) accept() stage {
	s.t.Helper()
	r, err := s.gate.Review()
	if err == nil {
		err = s.gate.Accept(s.t.Context(), r)
	}
	testkit.OK(s.t, err)
	return s
}

func (s stage) shelf() *trust.Shelf {
	s.t.Helper()
	shelf := testkit.Must(s.gate.Shelf())(s.t)
	s.t.Cleanup(func() { shelf.Close() })
	return shelf
}

func (s stage) before(dir string) InstructionWords {
	s.t.Helper()
	w := testkit.Must(InstructionsBefore(s.user, s.shelf(), dir))(s.t)
	return w
}

func (s stage) below(dir string, known map[string]int, files ...string) InstructionWords {
	s.t.Helper()
	w := testkit.Must(InstructionsBelow(s.shelf(), dir, files, func(p string) bool { _, ok := known[p]; return ok }, 0))(s.t)
	return w
}

func froms(w InstructionWords) string {
	var out []string
	for _, t := range w.Texts {
		out = append(out, t.From)
	}
	return strings.Join(out, " ")
}

func same(t *testing.T, w InstructionWords, want string) {
	t.Helper()
	if got := froms(w); got != want {
		t.Errorf("%s, want %s (notes %q)", got, want, w.Notes)
	}
}

func TestFromTheRootDownToTheAgent(t *testing.T) {
	s := newStage(t).project("AGENTS.md", "root", "CLAUDE.md", "no", "a/CLAUDE.md", "a", "a/b/AGENTS.md", "b", "a/b/AGENTS.override.md", "b!", "c/AGENTS.md", "c")
	same(t, s.before("a/b"), "")
	s.accept()
	s.write(s.user.Dir, "AGENTS.md", "user")
	w := s.before("a/b")
	same(t, w, filepath.Join(s.user.Dir, "AGENTS.md")+" AGENTS.md a/CLAUDE.md a/b/AGENTS.override.md")
	if len(w.Notes) > 0 {
		t.Errorf("notes %q", w.Notes)
	}
	if said := w.String(); !strings.Contains(said, "Instructions of the user, from ") || !strings.Contains(said, "Instructions of this project, from a/CLAUDE.md:\n\na\n") {
		t.Errorf("said %q", said)
	}
}

func TestNothingActsThatNobodyAccepted(t *testing.T) {
	s := newStage(t).project("AGENTS.md", "root").accept()
	s.project("x/AGENTS.md", "new", "y/z.md", "plain")
	w := s.below(".", nil, "x/file.go", "y/z.md")
	same(t, w, "")
	if len(w.Notes) != 1 || !strings.Contains(w.Notes[0], "x/AGENTS.md is not used: it has not been accepted") {
		t.Errorf("notes %q", w.Notes)
	}
	s.accept()
	s.project("x/AGENTS.md", "evil")
	if w := s.below(".", nil, "x/file.go"); len(w.Texts) != 1 || w.Texts[0].Body != "new" || len(w.Notes) != 1 {
		t.Errorf("%+v", w)
	}
}

func TestWhatIsBelowJoinsOnce(t *testing.T) {
	s := newStage(t).project("AGENTS.md", "root", "a/AGENTS.md", "a @more.md", "a/more.md", "more", "a/b/CLAUDE.md", "b", "node_modules/AGENTS.md", "evil").accept()
	first := s.below(".", nil, "a/b/c/x.go", "a/y.go", "../out", "/etc/x", "node_modules/x.js")
	same(t, first, "a/AGENTS.md a/more.md a/b/CLAUDE.md")
	d, ok, err := first.Entry()
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	known := KnownInstructions(slices.Values([]json.RawMessage{json.RawMessage(`{"read": [1]}`), d.Parts[0].Memo}))
	if known["a/more.md"] != 4 || len(known) != 3 {
		t.Errorf("known %v", known)
	}
	same(t, s.below(".", known, "a/b/x.go"), "")
	same(t, s.below("a", nil, "a/b/x.go"), "a/b/CLAUDE.md")
	same(t, s.below("a/b", nil, "a/x.go", "x.go"), "")
}

func TestImports(t *testing.T) {
	s := newStage(t).project("AGENTS.md", "@a.md @b/c.md @nobody @b @../out.md @~/mine.md", "a.md", "@AGENTS.md @b/c.md", "b/c.md", "@d.md", "b/d.md", "d").accept()
	w := s.before(".")
	same(t, w, "AGENTS.md a.md b/c.md b/d.md")
	if len(w.Notes) != 2 || !strings.Contains(w.Notes[0], "@../out.md, which leads out of the project") {
		t.Errorf("notes %q", w.Notes)
	}
	if w.Texts[3].By != "b/c.md" {
		t.Errorf("by %q", w.Texts[3].By)
	}
	s.write(s.user.Dir, "AGENTS.md", "@~/mine.md @rel.md @nobody")
	s.write(s.user.Home, "mine.md", "mine")
	s.write(s.user.Dir, "rel.md", "rel")
	if got := froms(s.before(".")); !strings.HasPrefix(got, s.user.File()+" "+filepath.Join(s.user.Home, "mine.md")+" "+filepath.Join(s.user.Dir, "rel.md")+" AGENTS.md") {
		t.Error(got)
	}
}

func TestAllOfItIsBounded(t *testing.T) {
	long := strings.Repeat("é", 50<<10)
	s := newStage(t).project("AGENTS.md", long, "a/AGENTS.md", long, "a/b/AGENTS.md", "late").accept()
	w := s.before("a/b")
	same(t, w, "AGENTS.md a/AGENTS.md")
	if w.Size != MostInstructions || len(w.Notes) != 2 || !strings.Contains(w.Notes[0], "a/AGENTS.md is cut") || !strings.Contains(w.Notes[1], "a/b/AGENTS.md is left out") {
		t.Errorf("%d bytes, %q", w.Size, w.Notes)
	}
	if said := w.String(); len(said) > MostInstructions+1000 || !strings.Contains(said, "bytes are left out here") || strings.ToValidUTF8(said, "?") != said {
		t.Errorf("%d bytes are said", len(said))
	}
}
