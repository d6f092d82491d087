package kit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

func TestSkillsAreReadAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct{ data, name, allowed, remark, wrong string }{
		{"---\nname: pdf\ndescription: Reads PDF\nallowed-tools: Read, Bash(git:*), Grep\n---\n# PDF\nDo it.\n", "pdf", "Read|Bash(git:*)|Grep", "", ""},
		{"---\nname: pdf\ndescription: \"x\"\nallowed-tools:\n  - Read\n  - Bash(npm run test *)\n---\nb", "pdf", "Read|Bash(npm run test *)", "", ""},
		{"\ufeff---\r\nname: PDF Tool\r\ndescription: use: when asked: so\r\n---\r\nb\r\n", "PDF Tool", "", "is not of a-z", ""},
		{"---\ndescription: >\n  long\n  text\nmetadata:\n  a: b\n---\nb", "pdf", "", "no name", ""},
		{"---\nname: other\ndescription: d\n---\nb", "other", "", "its folder pdf", ""},
		{"---\nname: pdf\n---\nb", "", "", "", "no description"},
		{"---\nname: pdf\ndescription: d\n---\n \n", "", "", "", "no text"},
		{"---\nname: pdf\ndescription: d\nb", "", "", "", "does not end"},
		{"just text", "", "", "", "no description"},
		{"---\n- a\n- b\n---\nx", "", "", "", "not YAML"},
	} {
		s, err := ParseSkill("pdf", c.data)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q: %v", c.data, err)
			}
		case err != nil || s.Name != c.name || strings.Join(s.Allowed, "|") != c.allowed || !strings.Contains(strings.Join(s.Remarks, ";"), c.remark) || (c.remark == "") != (len(s.Remarks) == 0):
			t.Errorf("%q: %+v %v", c.data, s, err)
		}
	}
}

func TestRolesAndCommands(t *testing.T) {
	r, err := ParseRole("reviewer.md", "---\ndescription: Reviews\ntools: Read, Grep\nmodel: sonnet\nworktree: true\n---\nYou review.\n")
	if err != nil || r.Name != "reviewer" || len(r.Tools) != 2 || !r.Worktree || r.Prompt != "You review." {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := ParseRole("x.md", "---\nname: all\n---\nYou."); err != nil || r.Tools != nil {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := ParseRole("x.md", "---\ncontext: some\n---\nYou."); err == nil {
		t.Error("some context is taken")
	}
	c, err := ParseCommand("git/commit.md", "# Commit it\n\nwith $ARGUMENTS")
	if err != nil || c.Name != "git:commit" || c.Description != "Commit it" {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := ParseCommand("a b.md", "x"); err == nil {
		t.Error("a name with a space is taken")
	}
}

func TestOfAProjectOnlyWhatWasAcceptedIsRead(t *testing.T) {
	g := trust.Gate{Home: t.TempDir(), Project: t.TempDir(), Sources: Sources()}
	user := t.TempDir()
	write := func(dir, name, body string) {
		t.Helper()
		file := filepath.Join(dir, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
		testkit.OK(t, os.WriteFile(file, []byte(body), 0o600))
	}
	read := func() Kit {
		t.Helper()
		s := testkit.Must(g.Shelf())(t)
		defer s.Close()
		k := testkit.Must(Read(s, g.Project, user))(t)
		return k
	}
	const skill = "---\nname: s\ndescription: d\n---\n"
	write(g.Project, ".claude/skills/s/SKILL.md", skill+"theirs")
	write(g.Project, ".claude/skills/s/run.sh", "echo")
	write(g.Project, ".agents/agents/r.md", "You are r.")
	write(g.Project, ".claude/commands/deep/c.md", "Do $1")
	write(g.Project, ".claude/agents/bad.md", "---\nopen")
	write(user, "skills/s/SKILL.md", skill+"mine")
	write(user, "skills/u/SKILL.md", strings.Replace(skill, "name: s", "name: u", 1)+"mine")
	k := read()
	if len(k.Skills) != 2 || k.Skills[0].Body != "mine" || len(k.Roles)+len(k.Commands) > 0 || len(k.Notes) != 4 {
		t.Fatalf("%+v", k)
	}
	r, err := g.Review()
	if err == nil {
		err = g.Accept(t.Context(), r)
	}
	if err != nil || len(r.Items) != 5 {
		t.Fatal(len(r.Items), err)
	}
	write(g.Project, ".claude/skills/s/SKILL.md", skill+"evil")
	k = read()
	if s, _ := k.Skill("s"); s.Body != "theirs" || !s.Project {
		t.Errorf("%+v", s)
	}
	if want := []Flaw{{filepath.Join(user, "skills/s/SKILL.md"), "the skill s of .claude/skills/s/SKILL.md is used instead"}}; !slices.Equal(k.Hidden, want) {
		t.Errorf("%+v", k.Hidden)
	}
	if _, ok := k.Command("deep:c"); !ok || len(k.Roles) != 1 || len(k.Flaws) != 1 || k.Flaws[0].Path != ".claude/agents/bad.md" || len(k.Notes) != 1 || !strings.Contains(k.Notes[0], "changed since") {
		t.Errorf("%+v", k)
	}
}

// People keep such folders elsewhere and link to them; what cannot be read is told.
func TestOfAUserLinksAreFollowedAndNothingIsLost(t *testing.T) {
	user, away := t.TempDir(), t.TempDir()
	write := func(file string) {
		t.Helper()
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("---\ndescription: d\n---\nDo it."), 0o600)))
	}
	link := func(to, at string) {
		t.Helper()
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Symlink(to, at)))
	}
	write(filepath.Join(away, "one", "SKILL.md"))
	write(filepath.Join(away, "agents", "r.md"))
	link(filepath.Join(away, "one"), filepath.Join(user, "skills", "one"))
	link(filepath.Join(away, "agents"), filepath.Join(user, "agents"))
	link("nowhere.md", filepath.Join(user, "commands", "gone.md"))
	link(user, filepath.Join(user, "commands", "round"))
	testkit.OK(t, os.MkdirAll(filepath.Join(user, "commands", "folder.md"), 0o700))
	write(filepath.Join(user, "commands", "folder.md", "x.md"))
	k := testkit.Must(Read(noShelf{}, "", user))(t)
	if _, ok := k.Skill("one"); !ok || len(k.Skills) != 1 || len(k.Roles) != 1 {
		t.Errorf("%+v", k)
	}
	if _, ok := k.Command("folder.md:x"); !ok {
		t.Errorf("%+v", k.Commands)
	}
	if len(k.Flaws) != 2 || !strings.HasSuffix(k.Flaws[0].Path, "round") || !strings.HasSuffix(k.Flaws[1].Path, "gone.md") || !strings.Contains(k.Flaws[1].Why, "no such file") {
		t.Errorf("%+v", k.Flaws)
	}
}

// noShelf is a project in which nothing was accepted.
type noShelf struct{}

func (noShelf) Paths(trust.Kind) []string { return nil }

func (noShelf) Text(trust.Kind, string) (trust.Text, bool, error) { return trust.Text{}, false, nil }

func FuzzNothingBreaksTheParsers(f *testing.F) {
	f.Add("---\nname: &a [*a]\n---\nx")
	f.Add("---\n? a\n: b\n---\n")
	f.Fuzz(func(t *testing.T, s string) {
		ParseSkill("x", s)
		ParseRole("x.md", s)
		ParseCommand("x.md", s)
	})
}

func TestArgumentsArePutIn(t *testing.T) {
	for _, c := range []struct{ body, args, want string }{
		{"Fix $ARGUMENTS now", " a b ", "Fix a b now"},
		{"$1 then $2, not $3", `"one two" three`, "one two then three, not "},
		{"Do it", "with care", "Do it\n\nwith care"},
		{"Do it", " ", "Do it"},
		{"$10 costs", "x", "x0 costs"},
		{"$1", "$ARGUMENTS", "$ARGUMENTS"},
	} {
		if got := (Command{Body: c.body}).Fill(c.args); got != c.want {
			t.Errorf("%q with %q: %q", c.body, c.args, got)
		}
	}
	if s := Shells("a !`git status` b `no` !``\n!`x\ny`"); len(s) != 1 || s[0].Line != "git status" {
		t.Errorf("%+v", s)
	}
}
