package runner

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

var printed = Output{Path: "artifacts/out", Answer: true}

func (s *crewStage) command(line string, outputs ...Output) Attempt {
	it := s.item("", outputs...)
	it.Task.Command, it.Task.Key = line, "r1-push"
	return it
}

func TestACommandIsConfined(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	s := newStageCrew(t, ``)
	it := s.command(fmt.Sprintf(`echo "$RAMET_KEY $RAMET_SCOPE $level"; echo noise >&2; echo in >made.txt; touch %s; bash -c 'exec 3<>/dev/tcp/%s' && echo connected; env | grep -c KEY`,
		outside, strings.Replace(l.Addr().String(), ":", "/", 1)), printed, Output{Path: "made.txt"})
	it.Task.With = map[string]string{"level": "deep"}
	t.Setenv("ANTHROPIC_API_KEY", "k")
	res := testkit.Must(s.do(it))(t)
	if got := string(res.Files[0].Data); got != "r1-push intro deep\n1\n" {
		t.Errorf("%q", got)
	}
	if got := string(res.Files[1].Data); got != "in\n" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it wrote outside its folder")
	}
	s.clean()
}

// What a command puts in place of the file with its complaints is not read: it could be a link to what
// is hidden from it, or a pipe.
func TestACommandReplacesTheFileOfItsComplaints(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	testkit.OK(t, os.WriteFile(secret, []byte("hunter2"), 0o600))
	s := newStageCrew(t, ``)
	s.crew.Hide = []string{secret}
	for _, replace := range []string{"ln -s " + secret, "mkfifo"} {
		_, err := s.do(s.command(fmt.Sprintf(`echo hello >&2; f=$(echo ../aside*/stderr); rm $f; %s $f; cat %s; exit 3`, replace, secret), printed))
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "exit code 3: hello") {
			t.Errorf("%s: %v", replace, err)
		}
	}
	s.clean()
}

func TestACommandInAWorktree(t *testing.T) {
	s := newStageCrew(t, ``)
	it := s.rooted("", patch)
	it.Task.Prompt, it.Task.Command = "", "sed -i s/old/new/ README.md; rm .git; git config user.name x; git rev-parse --is-inside-work-tree >&2"
	res, err := s.do(it)
	if err != nil || !strings.Contains(string(res.Files[0].Data), "-old\n+new") {
		t.Fatalf("%s %v", res.Files, err)
	}
	s.clean()
}

// An output may be a folder: all files below it, which are in no patch.
func TestACommandMakesAFolder(t *testing.T) {
	s := newStageCrew(t, ``)
	it := s.rooted("", patch, Output{Path: "artifacts/pages/**", Schema: "page"})
	it.Task.Prompt, it.Task.Command = "", `mkdir -p artifacts/pages/sub; echo '{}' > artifacts/pages/sub/b.json; echo '{"a":1}' > artifacts/pages/a.json; ln -s a.json artifacts/pages/c.json; echo x >> README.md`
	res, err := s.do(it)
	if err != nil || len(res.Files) != 4 || strings.Contains(string(res.Files[0].Data), "pages") {
		t.Fatalf("%s %v", res.Files, err)
	}
	if a, b := res.Files[1], res.Files[3]; a.Path != "artifacts/pages/a.json" || string(a.Data) != "{\"a\":1}\n" || b.Path != "artifacts/pages/sub/b.json" {
		t.Errorf("%s", res.Files)
	}
	for command, want := range map[string]string{
		"true": "there is no file below artifacts/pages", "mkdir -p artifacts/pages": "there is no file below",
		"mkdir -p artifacts/pages; ln -s /etc/passwd artifacts/pages/p.json": "escapes",
		"mkdir -p artifacts/pages; echo x > artifacts/pages/x.json":          "artifacts/pages/x.json: ",
	} {
		it = s.command(command, Output{Path: "artifacts/pages/**", Schema: "page"})
		_, err = s.do(it)
		s.fails(err, fault.OutputInvalid, want)
	}
	s.clean()
}

// Its inputs are beside its folder, and in no patch.
func TestACommandFindsItsInputs(t *testing.T) {
	s := newStageCrew(t, ``)
	it := s.command(`cat "$RAMET_INPUTS/drafts/a/page.md" && ! touch "$RAMET_INPUTS/x" && ls`, printed)
	s.input(&it, "drafts/a/page.md", []byte("a page"))
	res, err := s.do(it)
	if err != nil || string(res.Files[0].Data) != "a page" {
		t.Fatalf("%s %v", res.Files, err)
	}
	it = s.rooted("", patch)
	s.input(&it, "artifacts/x", []byte("x"))
	it.Task.Prompt, it.Task.Command = "", `cp "$RAMET_INPUTS/artifacts/x" README.md; ls -R "$RAMET_INPUTS" | grep -c bundle >README.md; true`
	res, err = s.do(it)
	if err != nil || !strings.Contains(string(res.Files[0].Data), "+0") || strings.Count(string(res.Files[0].Data), "diff --git") != 1 {
		t.Fatalf("%s %v", res.Files, err)
	}
	s.clean()
}

func TestCommandsThatFail(t *testing.T) {
	s := newStageCrew(t, ``)
	for _, c := range []struct {
		line  string
		code  fault.Code
		words string
		again bool
	}{
		{"echo broken >&2; exit 3", fault.Failed, "exit code 3: broken", true},
		{"kill -9 $$", fault.Failed, "", true},
		{"true", fault.OutputInvalid, "printed nothing", true},
		{"head -c 9000000 /dev/zero", fault.OutputInvalid, "more than 8 MiB", true},
	} {
		_, err := s.do(s.command(c.line, printed))
		s.fails(err, c.code, c.words)
		if Retryable(err) != c.again {
			t.Errorf("%s: retryable is %v", c.line, !c.again)
		}
	}
	it := s.command("touch begun; sleep 1000 & sleep 1000", printed)
	it.Task.Timeout = time.Hour
	fire := s.replaceTimer()
	late := make(chan error)
	go func() {
		_, err := s.do(it)
		late <- err
	}()
	testkit.WaitUntil(t, "the command has begun", func() bool {
		found := false
		_ = filepath.WalkDir(s.dir, func(path string, _ fs.DirEntry, _ error) error {
			found = found || filepath.Base(path) == "begun"
			return nil
		})
		return found
	})
	fire()
	s.fails(<-late, fault.TimedOut)
	it = s.command("true")
	it.Task.With = map[string]string{"a b": "x"}
	_, err := s.do(it)
	s.fails(err, fault.InvalidRecipe, "not a name of a variable")
	it = s.command("true")
	it.Task.With = map[string]string{"RAMET_KEY": "mine", "PATH": ""}
	_, err = s.do(it)
	s.fails(err, fault.NotFound)
	s.clean()
}

// crewOutside is a place that external commands act on.
type crewOutside struct {
	*crewStage
	dir string
}

func (o crewOutside) count(name string) int {
	data, _ := os.ReadFile(filepath.Join(o.dir, name))
	return strings.Count(string(data), "\n")
}

func (o crewOutside) item(command, lookup string) Attempt {
	it := o.command("cd "+o.dir+"; "+command, printed)
	it.Task.External = true
	if lookup != "" {
		it.Task.Lookup = "cd " + o.dir + "; echo x >>looked; " + lookup
	}
	return it
}

func TestAnExternalEffectHappensOnce(t *testing.T) {
	o := crewOutside{newStageCrew(t, ``), t.TempDir()}
	const push = `echo "$RAMET_KEY" >>pushed; echo done`
	const lookup = `grep -q "$RAMET_KEY" pushed 2>/dev/null || exit 1; echo found`
	for i, want := range []string{"done\n", "found\n", "found\n"} {
		res, err := o.do(o.item(push, lookup))
		if err != nil || string(res.Files[0].Data) != want {
			t.Fatalf("%d: %q %v", i, res.Files, err)
		}
	}
	if o.count("pushed") != 1 || o.count("looked") != 3 {
		t.Errorf("pushed %d times, looked %d times", o.count("pushed"), o.count("looked"))
	}
	o.clean()
}

func TestAnExternalEffectThatFails(t *testing.T) {
	o := crewOutside{newStageCrew(t, ``), t.TempDir()}
	_, err := o.do(o.item("exit 2", ""))
	o.fails(err, fault.Failed, "exit code 2")
	if Retryable(err) {
		t.Error("nobody may repeat it unasked")
	}
	_, err = o.do(o.item("echo x >>pushed", "exit 7"))
	o.fails(err, fault.UnknownOutcome, "exit code 7", "key r1-push", "--redo")
	if Retryable(err) || o.count("pushed") != 0 {
		t.Errorf("%v, pushed %d times", err, o.count("pushed"))
	}
	o.clean()
}

func TestAnExternalEffectThatIsStopped(t *testing.T) {
	const slow = `echo x >>pushed; echo now >begun; sleep 1000`
	for _, c := range []struct {
		name, lookup string
		code         fault.Code
		again        bool
	}{
		{"nobody can say", "", fault.UnknownOutcome, false},
		{"it happened", `test -s pushed || exit 1; echo found`, "", false},
		{"it did not", `exit 1`, fault.Cancelled, false},
		{"the lookup fails", `test -s pushed || exit 1; exit 9`, fault.UnknownOutcome, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := crewOutside{newStageCrew(t, ``), t.TempDir()}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pipe := filepath.Join(o.dir, "begun")
			begun := make(chan struct{})
			mkfifo(t, pipe)
			go func() {
				os.ReadFile(pipe)
				close(begun)
			}()
			type end struct {
				res Result
				err error
			}
			done := make(chan end, 1)
			go func() {
				res, err := o.crew.Do(ctx, o.item(slow, c.lookup), o.orchestrator)
				done <- end{res, err}
			}()
			select {
			case <-begun:
			case e := <-done:
				t.Fatalf("%+v", e)
			}
			cancel()
			e := <-done
			if c.code == "" {
				if e.err != nil || string(e.res.Files[0].Data) != "found\n" {
					t.Fatalf("%+v", e)
				}
			} else {
				o.fails(e.err, c.code)
			}
			if o.count("pushed") != 1 {
				t.Errorf("pushed %d times", o.count("pushed"))
			}
			o.clean()
		})
	}
}
